/** What `tidegate doctor` makes of `/readyz`: whether the node gets customers, and what its markets are without. Pure. */
import type { Readiness, ReadinessCheck } from '../app/readiness.ts'
import { bad, type Finding, ok, warn } from './doctor-finding.ts'

const NEXT_STEP = 'see its source, and the log of the service'

export function judgeReadiness({ ready, checks }: Readiness): Finding[] {
  const markets = checks.filter(({ name }) => /^market \S+$/.test(name))
  // Of several sources of a market each has a row of its own.
  const sources = checks.filter(({ name }) => /^market \S+ source /.test(name))
  const gates = checks.filter((check) => !check.ok && !markets.includes(check) && !sources.includes(check))
  const live = markets.filter(({ ok: isLive }) => isLive).length
  const summary = gates.map(({ name, detail }) => `${name}: ${detail}`).join(', ') || 'markets are starting'
  return [
    ready
      ? ok('readiness', `ready, ${live} markets live`)
      : bad('readiness', `not ready (${summary})`, 'it goes on by itself when that is put right; see its log'),
    ...markets.flatMap((check) => judgeRow(check, 'not live')),
    ...sources.flatMap((check) => judgeRow(check, 'not in the book')),
  ]
}

/** Nothing of a row without anything to tell. */
function judgeRow({ name, ok: isLive, detail }: ReadinessCheck, whenLost: string): Finding[] {
  if (!isLive) return [warn(name, `${whenLost}: ${detail}`, NEXT_STEP)]
  return detail === 'ok' ? [] : [warn(name, `live, and: ${detail}`, NEXT_STEP)]
}
