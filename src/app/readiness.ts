/**
 * What `/readyz` reports: whether this node should get customers, and if not, every reason why. A market is one of the
 * checks by its own name, and so is each source of a market with several, so that a lost one can be seen from outside.
 * A node without markets is ready, because a deployment may serve REST alone, and reports that it has none.
 */

import type { SchemaState } from './store-wait.ts'

export interface ReadinessCheck {
  readonly name: string
  readonly ok: boolean
  /** Why not, when it is not ok; else what there is to know. */
  readonly detail: string
}

export interface Readiness {
  readonly ready: boolean
  readonly checks: readonly ReadinessCheck[]
}

interface ObservedSource {
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
  readonly reason: string
  readonly notices: readonly string[]
}

export interface ReadinessInput {
  readonly draining: boolean
  /** Whether the process can open another file or connection. */
  readonly hasDescriptor: boolean
  /** Why the store is not available; undefined while it is. */
  readonly storeProblem: string | undefined
  /** What is known of the schema; absent until the store has been asked. */
  readonly schema: SchemaState | undefined
  /** Whether who may come in is known. */
  readonly directoryLoaded: boolean
  readonly markets: readonly {
    readonly market: { readonly symbol: string }
    readonly live: boolean
    readonly reason: string
  }[]
  /** The sources of a market. */
  readonly sourcesOf: (symbol: string) => readonly ObservedSource[]
  /** Symbols of the markets without a book of which a source has sent no message yet. */
  readonly starting: ReadonlySet<string>
  /** Networks that no deposit address can be given of. */
  readonly withoutAddresses: readonly string[]
}

/**
 * A market whose source is lost or refused is named, and does not make the node unready: the others go on, and all
 * nodes would be unready at the same moment. One whose sources have not all spoken yet does, until it has a book.
 */
export function readinessOf(input: ReadinessInput): Readiness {
  const gates: ReadinessCheck[] = [
    check('draining', !input.draining, 'the node is shutting down'),
    check('descriptors', input.hasDescriptor, 'the limit of open files is reached'),
    check('store', input.storeProblem === undefined, `the store cannot be reached: ${input.storeProblem}`),
    check('migrations', input.schema === 'current', schemaProblem(input.schema)),
    check('directory', input.directoryLoaded, 'customers and clients are not loaded yet'),
  ]
  const addresses = addressCheck(input.withoutAddresses)
  const markets = input.markets.flatMap((market) => marketChecks(market, input.sourcesOf(market.market.symbol)))
  const checks = [...gates, addresses, ...(markets.length === 0 ? [NO_MARKETS] : markets)]
  return { ready: gates.every(({ ok }) => ok) && input.starting.size === 0, checks }
}

const NO_MARKETS: ReadinessCheck = { name: 'markets', ok: true, detail: 'no market is configured' }

/** Whoever only streams needs none, so it is never wrong; it is told. */
function addressCheck(without: readonly string[]): ReadinessCheck {
  const detail = without.length === 0 ? 'ok' : `no key in custody.* for ${without.join(', ')}`
  return { name: 'deposit addresses', ok: true, detail }
}

/** The market, and of several sources each by its own name. What is to be known of a source stands where it is named. */
function marketChecks(
  { market, live, reason }: ReadinessInput['markets'][number],
  sources: readonly ObservedSource[],
): ReadinessCheck[] {
  const name = `market ${market.symbol}`
  const [only] = sources
  if (sources.length < 2 || only === undefined) return [check(name, live, reason, only?.notices)]
  return [
    check(name, live, reason),
    ...sources.map((source) =>
      check(`${name} source ${source.source}`, source.state === 'live', source.reason, source.notices),
    ),
  ]
}

function check(name: string, ok: boolean, problem: string, notices: readonly string[] = []): ReadinessCheck {
  return { name, ok, detail: ok ? notices.join('; ') || 'ok' : problem }
}

function schemaProblem(schema: SchemaState | undefined): string {
  if (schema === undefined || schema === 'current') return 'not known yet'
  return `missing: ${schema.missing.join(', ')}`
}
