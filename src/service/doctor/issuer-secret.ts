/**
 * Examines the file in `operator.oidc.client_secret_file`, for a start, `check-config` and `doctor`. Without an issuer
 * there is nothing to examine.
 */
import { statSync } from 'node:fs'
import { readClientSecret } from '../../access/operators/openid-issuer.ts'
import type { Check } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { modeText, OTHERS } from '../process/data-folder.ts'
import { checkFindings, type Finding, ok } from './finding.ts'

const KEY = 'operator.oidc.client_secret_file'

/** @param origins where each value comes from: flag, variable, file or default */
export function checkIssuerSecret(config: Config, origins: Origins): Check {
  if (config['operator.oidc.issuer'] === '') return { problems: [], warnings: [] }
  const path = config[KEY]
  try {
    readClientSecret(path)
  } catch (error) {
    const message = `names ${(error as Error).message}`
    return { problems: [{ key: KEY, origin: origins[KEY], message }], warnings: [] }
  }
  const stats = statSync(path)
  const isOpen = (stats.mode & OTHERS) !== 0
  const warning = `${path}: other users can read the client secret (mode ${modeText(stats)})`
  return { problems: [], warnings: isOpen ? [warning] : [] }
}

export function examineIssuerSecret(config: Config, origins: Origins): Finding[] {
  if (config['operator.oidc.issuer'] === '') return []
  const name = 'issuer secret'
  const path = config[KEY]
  const check = checkIssuerSecret(config, origins)
  const next =
    check.problems.length > 0
      ? "correct the file, and run this as the service's user"
      : `chmod 600 ${path}. If others may have read it, replace it at the issuer`
  const findings = checkFindings(name, check, next)
  return findings.length > 0 ? findings : [ok(name, `${path}, mode ${modeText(statSync(path))}`)]
}
