/** The doctor's findings from `/readyz`: whether the node is ready, and which markets are not live. Pure. */
import { SIMULATED_NOTICE } from '../../streaming/sources/source.ts'
import type { Readiness, ReadinessCheck } from '../health/readiness.ts'
import { bad, type Finding, ok, warn } from './finding.ts'

const NEXT_STEP = 'see its source, and the service’s log'

export function readinessFindings({ ready, checks }: Readiness): Finding[] {
  const markets = checks.filter(({ name }) => /^market \S+$/.test(name))
  // A market with several sources has a row for each.
  const sources = checks.filter(({ name }) => /^market \S+ source /.test(name))
  const gates = checks.filter((check) => !check.ok && !markets.includes(check) && !sources.includes(check))
  const live = markets.filter(({ ok: isLive }) => isLive).length
  const summary = gates.map(({ name, detail }) => `${name}: ${detail}`).join(', ')
  return [
    ready
      ? ok('readiness', `ready, ${live} markets live`)
      : bad('readiness', `not ready (${summary})`, 'it becomes ready when that is corrected. See its log'),
    ...markets.flatMap((check) => findingsOfRow(check, 'not live')),
    ...sources.flatMap((check) => findingsOfRow(check, 'not in the book')),
  ]
}

/** No finding for a row without a problem. A simulated market runs only where the configuration permits it. */
function findingsOfRow({ name, ok: isLive, detail }: ReadinessCheck, whenLost: string): Finding[] {
  if (!isLive) return [warn(name, `${whenLost}: ${detail}`, NEXT_STEP)]
  if (detail === 'ok') return []
  const isPermitted = detail === SIMULATED_NOTICE
  return [isPermitted ? ok(name, `live; ${detail}`) : warn(name, `live; ${detail}`, NEXT_STEP)]
}
