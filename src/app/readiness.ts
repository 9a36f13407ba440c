/**
 * The result of `/readyz`: whether this node should receive traffic, and if not, every reason. Each market is a check of
 * its own, and so is each source of a market that has several. A node without markets is ready, because a deployment may
 * serve REST alone; the check `markets` then reports that none is configured.
 */
import type { SchemaState } from './store-wait.ts'

export interface ReadinessCheck {
  readonly name: string
  readonly ok: boolean
  /** The problem when the check fails; otherwise `ok`, or notices for the operator. */
  readonly detail: string
}

export interface Readiness {
  readonly ready: boolean
  readonly checks: readonly ReadinessCheck[]
}

interface ObservedLease {
  readonly feedGroup: string
  readonly role: 'leader' | 'paused' | 'standby' | 'stopped'
  readonly epoch: number
  readonly holderName: string | undefined
  /** Questions to the store that failed in a row. */
  readonly failures: number
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
  /** State of the schema; undefined until it has been read. */
  readonly schema: SchemaState | undefined
  /** Whether customers and clients have been loaded. */
  readonly directoryLoaded: boolean
  /** How many gateway processes take connections; undefined where this process serves the stream. */
  readonly gatewayProcesses?: number | undefined
  readonly markets: readonly {
    readonly market: { readonly symbol: string }
    readonly live: boolean
    readonly reason: string
  }[]
  /** The sources of a market. */
  readonly sourcesOf: (symbol: string) => readonly ObservedSource[]
  /** Symbols of the markets that have no book yet because a source has sent no message. */
  readonly starting: ReadonlySet<string>
  /** The connection to NATS; absent without one. `problem` is undefined while it is open. */
  readonly bus?: { readonly problem: string | undefined } | undefined
  /** Present nodes whose market definitions are not those of this node; absent without a bus. */
  readonly differingNodes?: readonly { readonly name: string }[] | undefined
  /** The feed groups that this process may lead; absent where no other process can. */
  readonly feedLeases?: readonly ObservedLease[] | undefined
  /** Networks for which no deposit address can be created. */
  readonly withoutAddresses: readonly string[]
}

/**
 * A market whose source is lost or refused fails its check without making the node unready: the other markets continue, and
 * all nodes would become unready at the same moment. A market in `starting` does make the node unready.
 */
export function readinessOf(input: ReadinessInput): Readiness {
  const gates: ReadinessCheck[] = [
    check('draining', !input.draining, 'the node is shutting down'),
    check('descriptors', input.hasDescriptor, 'the limit of open files is reached'),
    check('store', input.storeProblem === undefined, `the store cannot be reached: ${input.storeProblem}`),
    check('migrations', input.schema === 'current', schemaProblem(input.schema)),
    check('directory', input.directoryLoaded, 'customers and clients are not loaded yet'),
    ...(input.gatewayProcesses === undefined
      ? []
      : [check('gateway processes', input.gatewayProcesses > 0, 'no gateway process is ready')]),
  ]
  // Not a gate: a feed streams its own books without NATS, and all nodes would become unready at the same moment.
  const bus = input.bus === undefined ? [] : [check('bus', input.bus.problem === undefined, busProblem(input.bus))]
  // Nor is this: nodes are configured one after the other.
  const nodes = input.differingNodes === undefined ? [] : [nodesCheck(input.differingNodes)]
  // Nor these: a leader continues without the store, and markets that nothing leads are stale on every node.
  const leases = (input.feedLeases ?? []).map(leaseCheck)
  const addresses = addressCheck(input.withoutAddresses)
  const markets = input.markets.flatMap((market) => marketChecks(market, input.sourcesOf(market.market.symbol)))
  const all = markets.length === 0 ? [NO_MARKETS] : markets
  const checks = [...gates, ...bus, ...nodes, ...leases, addresses, ...all]
  return { ready: gates.every(({ ok }) => ok) && input.starting.size === 0, checks }
}

const NO_MARKETS: ReadinessCheck = { name: 'markets', ok: true, detail: 'no market is configured' }

/** Always ok, because a deployment that only streams needs no address keys; the detail names the networks without one. */
function addressCheck(without: readonly string[]): ReadinessCheck {
  const detail = without.length === 0 ? 'ok' : `no key in custody.* for ${without.join(', ')}`
  return { name: 'deposit addresses', ok: true, detail }
}

/** One check for the market, and one per source when it has several. Notices of a single source are shown on the market. */
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

function leaseCheck({ feedGroup, role, epoch, holderName, failures }: ObservedLease): ReadinessCheck {
  const name = `feed group ${feedGroup}`
  if (role === 'paused') return { name, ok: false, detail: 'this process was stopped and waits for its lease' }
  if (failures > 0) return { name, ok: false, detail: `the lease cannot be ${role === 'leader' ? 'renewed' : 'read'}` }
  if (role === 'leader') return { name, ok: true, detail: `led by this process, epoch ${epoch}` }
  return { name, ok: true, detail: holderName === undefined ? 'standby' : `standby: ${holderName} leads` }
}

function busProblem({ problem }: NonNullable<ReadinessInput['bus']>): string {
  return `NATS cannot be reached: ${problem}`
}

/** Nodes that a detail names. */
const NODES_NAMED_MAX = 5

function nodesCheck(differing: readonly { readonly name: string }[]): ReadinessCheck {
  const names = differing.slice(0, NODES_NAMED_MAX).map(({ name }) => name)
  const more = differing.length > names.length ? ` and ${differing.length - names.length} more` : ''
  return check('nodes', differing.length === 0, `other market definitions: ${names.join(', ')}${more}`)
}

function schemaProblem(schema: SchemaState | undefined): string {
  if (schema === undefined || schema === 'current') return 'not known yet'
  return `missing: ${schema.missing.join(', ')}`
}
