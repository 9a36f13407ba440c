/**
 * The checks in `/readyz`, and which of them decide whether this node should receive traffic. The decision depends on
 * the roles: a gate is something without which a role cannot work on this node alone. Anything missing on all nodes at
 * the same moment is named and gates nothing: a market, its sources, a lease, the store for a gateway or a feed.
 */

import { CORRUPT_STORE_PAGE } from '../../platform/store/corruption.ts'
import { hasRole, movesMoney } from '../config/roles.ts'
import type { SchemaState } from '../process/store-wait.ts'

export interface ReadinessCheck {
  readonly name: string
  readonly ok: boolean
  /** The problem when the check fails, otherwise `ok` or notices for the operator. */
  readonly detail: string
}

/**
 * `immediate`: the node is not ready as soon as the check fails. `steady`: `readiness-watch` applies its hysteresis.
 */
export interface ReadinessRow extends ReadinessCheck {
  readonly gate: 'none' | 'steady' | 'immediate'
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
  /** Consecutive failed questions to the store. */
  readonly failures: number
}

interface ObservedSource {
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
  readonly reason: string
  readonly notices: readonly string[]
}

export interface ReadinessInput {
  readonly roles: readonly string[]
  readonly draining: boolean
  /** Whether the start has completed. */
  readonly started: boolean
  /** Whether the process can open another file or connection. */
  readonly hasDescriptor: boolean
  /** Why the store is unavailable. Undefined while it is available. */
  readonly storeProblem: string | undefined
  /** The corruption that the store has found in itself, if any. */
  readonly storeCorruption?: string | undefined
  /** The schema's state. Undefined until it has been read. */
  readonly schema: SchemaState | undefined
  /** Whether customers and clients have been loaded. */
  readonly directoryLoaded: boolean
  /** Whether they have not been current for too long. */
  readonly directoryStale: boolean
  /** Whether a feed was heard since the start, or none is needed: this process is one, or no market was configured. */
  readonly feedHeard: boolean
  /** How many gateway processes take connections. Undefined where this process serves the stream. */
  readonly gatewayProcesses?: number | undefined
  readonly markets: readonly {
    readonly market: { readonly symbol: string }
    readonly live: boolean
    readonly reason: string
  }[]
  /** A market's sources. */
  readonly sourcesOf: (symbol: string) => readonly ObservedSource[]
  /** The connection to NATS, absent without one. `problem` is undefined while it is open. */
  readonly bus?: { readonly problem: string | undefined } | undefined
  /** Whether other nodes report an open one. */
  readonly otherNodesHaveBus?: boolean
  /** Present nodes whose market definitions differ from this node's. Absent without a bus. */
  readonly differingNodes?: readonly { readonly name: string }[] | undefined
  /** The feed groups that this process may lead. Absent where no other process can. */
  readonly feedLeases?: readonly ObservedLease[] | undefined
  /** Networks for which no deposit address can be created. */
  readonly withoutAddresses: readonly string[]
}

export function readinessRows(input: ReadinessInput): readonly ReadinessRow[] {
  const { roles, bus } = input
  const isGateway = hasRole({ roles }, 'gateway')
  const needsStore = movesMoney({ roles })
  const steady = (row: ReadinessCheck, isGate = true): ReadinessRow => ({ ...row, gate: isGate ? 'steady' : 'none' })
  const gates: ReadinessRow[] = [
    { ...check('draining', !input.draining, 'the node is shutting down'), gate: 'immediate' },
    steady(check('start', input.started, 'the start has not completed')),
    steady(check('descriptors', input.hasDescriptor, 'the open-file limit is reached')),
    steady(storeCheck(input), needsStore),
    steady(check('migrations', input.schema === 'current', schemaProblem(input.schema)), needsStore),
    steady(directoryCheck(input), isGateway),
    ...(input.gatewayProcesses === undefined
      ? []
      : [steady(check('gateway processes', input.gatewayProcesses > 0, 'no gateway process is ready'))]),
    ...(isGateway ? [steady(check('feed', input.feedHeard, 'no feed was heard since the start'))] : []),
    // While no node reaches NATS, gateways keep their connections, and all would become unready at the same moment.
    ...(bus === undefined ? [] : [steady(busCheck(input, bus), isGateway && input.otherNodesHaveBus === true)]),
  ]
  // Nodes are configured one after the other.
  const nodes = input.differingNodes === undefined ? [] : [nodesCheck(input.differingNodes)]
  // A leader continues without the store, and markets without a leader are stale on every node.
  const leases = (input.feedLeases ?? []).map(leaseCheck)
  const addresses = addressCheck(input.withoutAddresses)
  const markets = input.markets.flatMap((market) => marketChecks(market, input.sourcesOf(market.market.symbol)))
  const all = markets.length === 0 ? [NO_MARKETS] : markets
  return [...gates, ...[...nodes, ...leases, addresses, ...all].map((row) => steady(row, false))]
}

const NO_MARKETS: ReadinessCheck = { name: 'markets', ok: true, detail: 'no market is configured' }

/** Always ok, because a streaming deployment needs no address keys. The detail names the networks without one. */
function addressCheck(without: readonly string[]): ReadinessCheck {
  const detail = without.length === 0 ? 'ok' : `no key in custody.* for ${without.join(', ')}`
  return { name: 'deposit addresses', ok: true, detail }
}

/**
 * One check for the market, and one per source when it has several. A single source's notices are shown on the market.
 */
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

function directoryCheck({ directoryLoaded, directoryStale }: ReadinessInput): ReadinessCheck {
  const problem = directoryLoaded
    ? 'customers and clients are not current: this node reaches neither the store nor NATS, or another node reports newer ones'
    : 'customers and clients are not loaded yet'
  return check('directory', directoryLoaded && !directoryStale, problem)
}

function busCheck(input: ReadinessInput, { problem }: NonNullable<ReadinessInput['bus']>): ReadinessCheck {
  const others = input.otherNodesHaveBus === true ? '; other nodes reach it' : ''
  return check('bus', problem === undefined, `NATS cannot be reached: ${problem}${others}`)
}

/** The number of nodes in a detail. */
const NODES_NAMED_MAX = 5

function nodesCheck(differing: readonly { readonly name: string }[]): ReadinessCheck {
  const names = differing.slice(0, NODES_NAMED_MAX).map(({ name }) => name)
  const more = differing.length > names.length ? ` and ${differing.length - names.length} more` : ''
  return check('nodes', differing.length === 0, `other market definitions: ${names.join(', ')}${more}`)
}

function storeCheck({ storeProblem, storeCorruption }: ReadinessInput): ReadinessCheck {
  const isWell = storeProblem === undefined && storeCorruption === undefined
  if (storeCorruption === undefined) return check('store', isWell, `the store is unavailable: ${storeProblem}`)
  return check('store', isWell, `the store is corrupt: ${storeCorruption}; see ${CORRUPT_STORE_PAGE}`)
}

function schemaProblem(schema: SchemaState | undefined): string {
  if (schema === undefined || schema === 'current') return 'not known yet'
  return `missing: ${schema.missing.join(', ')}`
}
