/**
 * The file of `operator.oidc.client_secret_file`, as a start, `check-config` and `doctor` examine it. Without an issuer
 * there is nothing to examine.
 */
import { statSync } from 'node:fs'
import { readClientSecret } from '../../access/operators/openid-issuer.ts'
import { describeProblem } from '../config/load.ts'
import type { ConfigProblem } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { modeText, OTHERS } from '../process/data-folder.ts'
import { bad, type Finding, ok } from './finding.ts'

const KEY = 'operator.oidc.client_secret_file'

/** @param origins the origin of each value: flag, variable, file or default */
export function checkIssuerSecret(
  config: Config,
  origins: Origins,
): { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly string[] } {
  if (config['operator.oidc.issuer'] === '') return { problems: [], warnings: [] }
  const path = config[KEY]
  try {
    readClientSecret(path)
  } catch (error) {
    return {
      problems: [{ key: KEY, origin: origins[KEY], message: `names ${(error as Error).message}` }],
      warnings: [],
    }
  }
  const { mode, isOpen } = modeOf(path)
  return { problems: [], warnings: isOpen ? [`${path}: other users can read the client secret (mode ${mode})`] : [] }
}

export function examineIssuerSecret(config: Config, origins: Origins): Finding[] {
  if (config['operator.oidc.issuer'] === '') return []
  const name = 'issuer secret'
  const path = config[KEY]
  const [problem] = checkIssuerSecret(config, origins).problems
  if (problem !== undefined) {
    return [bad(name, describeProblem(problem), "correct the file, and run this as the service's user")]
  }
  const { mode, isOpen } = modeOf(path)
  if (!isOpen) return [ok(name, `${path}, mode ${mode}`)]
  const next = `chmod 600 ${path}; if others may have read it, replace it at the issuer`
  return [bad(name, `${path} is open to others (mode ${mode})`, next)]
}

function modeOf(path: string): { readonly mode: string; readonly isOpen: boolean } {
  const stats = statSync(path)
  return { mode: modeText(stats), isOpen: (stats.mode & OTHERS) !== 0 }
}
