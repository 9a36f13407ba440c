/**
 * The gates' model: their codes, the movements for which they are read, and what customers see of them. Pure.
 *
 * A movement waits for all its closed gates. The operator sees their codes and details, the customer one reason.
 */
import type { FiatNetwork } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { ProblemCode } from '../../platform/http/problem.ts'
import type { MinorUnits } from '../ledger/posting.ts'

/** In the order in which findings are listed. */
export const GATE_CODES = [
  'CUSTOMER_DISABLED',
  'ACCOUNT_BLOCKED',
  'ACCOUNT_NOT_APPROVED',
  'RECEIVABLE',
  'DESTINATION',
  'LIMIT',
  'REVIEW',
  'OPERATOR_HOLD',
  'SCREENING',
  'PAUSED',
] as const

export type GateCode = (typeof GATE_CODES)[number]

/** A closed gate. */
export interface GateFinding {
  readonly code: GateCode
  /** For the operator, without an amount. */
  readonly detail: string
  /** Seconds until it may be open. Absent: not known. */
  readonly retrySeconds?: number
  /** How a customer's request is refused. Absent: the request is accepted, and its movement waits. */
  readonly refusal?: {
    readonly code: ProblemCode
    readonly detail: string
    readonly meta?: Readonly<Record<string, unknown>>
  }
}

/** Where a movement's money goes: exactly one member. */
export type MovementDestination =
  | { readonly crypto: { readonly address: string; readonly network: CryptoNetwork; readonly memo?: string } }
  | {
      readonly fiat: {
        readonly fiat_account_id: string
        readonly memo?: string
        /** Absent: WIRE. */
        readonly network?: FiatNetwork
      }
    }
  | { readonly profile: { readonly profile_id: string } }

/** A closed gate, as stored and shown to the operator. */
export type StoredGate = Pick<GateFinding, 'code' | 'detail'>

/** A movement of a profile's money, for which gates are read. */
export interface GateSubject {
  /** The record that moves the money: the orchestration, or the deposit that is returned. */
  readonly owner: { readonly orchestrationId: string } | { readonly depositId: string }
  readonly customerId: string
  readonly profileId: string
  readonly sourceAsset: string
  /** The asset that leaves. Without a conversion, it is the source asset. */
  readonly asset: string
  /** Crypto and fiat networks on which the money arrived or leaves. */
  readonly networks: readonly string[]
  /** Undefined: none. */
  readonly destination: MovementDestination | undefined
  /** The amount that leaves, in `asset`. Undefined until it is known. */
  readonly amount: MinorUnits | undefined
  /** Whether it is a payment that leaves the service. */
  readonly isDelivery: boolean
  /** The gates that a release has opened for it. They close nothing. */
  readonly openedGates: readonly GateCode[]
  /** Whether the customer has limits of its own. Absent: not known. */
  readonly hasLimits?: boolean | undefined
}

/** The gates that a release may open. */
export const RELEASABLE_GATES = [
  'ACCOUNT_BLOCKED',
  'RECEIVABLE',
  'LIMIT',
  'REVIEW',
  'OPERATOR_HOLD',
] as const satisfies readonly GateCode[]

/** The reasons to wait that stand for gates, in order of precedence. */
export const GATE_WAITS = ['HOLD', 'APPROVAL', 'DESTINATION', 'LIMIT', 'SCREENING', 'PAUSED'] as const

export type GateWait = (typeof GATE_WAITS)[number]

/** Whether a movement waits for a gate, and not for a price or an answer. */
export function isGateWait(reason: string): reason is GateWait {
  return GATE_WAITS.some((wait) => wait === reason)
}

const WAITS: Readonly<Record<GateCode, GateWait>> = {
  CUSTOMER_DISABLED: 'HOLD',
  ACCOUNT_BLOCKED: 'HOLD',
  ACCOUNT_NOT_APPROVED: 'APPROVAL',
  RECEIVABLE: 'HOLD',
  DESTINATION: 'DESTINATION',
  LIMIT: 'LIMIT',
  REVIEW: 'HOLD',
  OPERATOR_HOLD: 'HOLD',
  SCREENING: 'SCREENING',
  PAUSED: 'PAUSED',
}

/** A wait at closed gates. */
export interface GatesWait {
  readonly waitingFor: GateWait
  /** The first shown gate's detail, for the operator. */
  readonly detail: string
  /** All closed gates. */
  readonly gates: readonly GateFinding[]
}

/** The closed gates, as stored and shown to the operator. */
export function gatesText({ gates }: { readonly gates: readonly StoredGate[] }): string {
  return JSON.stringify(gates.map(({ code, detail }) => ({ code, detail })))
}

/**
 * The customer's one reason for these closed gates. Undefined when none is closed.
 *
 * @param among the reasons considered
 */
export function waitingForOf(
  findings: readonly GateFinding[],
  among: readonly GateWait[] = GATE_WAITS,
): GatesWait | undefined {
  for (const waitingFor of among) {
    const finding = findings.find(({ code }) => WAITS[code] === waitingFor)
    if (finding !== undefined) return { waitingFor, detail: finding.detail, gates: findings }
  }
  return undefined
}

/** The findings that no release has opened, in the order of GATE_CODES. */
export function closedGates(
  { openedGates }: Pick<GateSubject, 'openedGates'>,
  findings: readonly GateFinding[],
): readonly GateFinding[] {
  if (findings.length === 0) return findings
  const closed = findings.filter(({ code }) => !openedGates.includes(code))
  return closed.sort((one, other) => GATE_CODES.indexOf(one.code) - GATE_CODES.indexOf(other.code))
}
