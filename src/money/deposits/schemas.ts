/**
 * Request and response schemas for deposits. `report` checks assets, amounts and addresses, because a schema cannot.
 */
import { type Static, Type } from 'typebox'
import { FIAT_NETWORKS } from '../../contract/assets.ts'
import { CRYPTO_NETWORK_NAMES, REQUESTED_NETWORK_NAMES } from '../../contract/crypto-networks.ts'
import { PageQuery, pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { ClosedGates, RecordVersion } from '../gates/release.ts'
import { Parties } from '../screening/parties.ts'
import { DISPOSITIONS, type Disposition } from './dispositions.ts'
import { TRACE_KINDS } from './trace-text.ts'
import { DEPOSIT_SECONDARY_STATUSES, DEPOSIT_STATUSES } from './transitions.ts'

/** The most reports in one request. */
const REPORTS_MAX = 100
/** The largest value in an integer column. */
const INTEGER_MAX = 2_147_483_647

const strict = { additionalProperties: false }
const Name = Type.String({ minLength: 1, maxLength: 200 })
const Dispositions = textChoice(Object.keys(DISPOSITIONS) as Disposition[])

export const DepositReport = Type.Object(
  {
    source: Name,
    external_id: Name,
    asset: Name,
    amount: Type.String({ minLength: 1, maxLength: 100 }),
    crypto: Type.Optional(
      Type.Object(
        {
          network: textChoice(REQUESTED_NETWORK_NAMES),
          address: Name,
          tx_hash: Name,
          tx_index: Type.Integer({ minimum: -1, maximum: INTEGER_MAX }),
        },
        strict,
      ),
    ),
    fiat: Type.Optional(
      Type.Object(
        {
          network: textChoice(FIAT_NETWORKS),
          memo_id: Type.Optional(Name),
          remittance: Type.Optional(Type.String({ maxLength: 500 })),
          bank_reference: Type.Optional(Name),
          sender: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
        },
        strict,
      ),
    ),
    status: Type.Optional(textChoice(DEPOSIT_STATUSES)),
    confirmations: Type.Optional(Type.Integer({ minimum: 0, maximum: INTEGER_MAX })),
    occurred_at: Type.String({ minLength: 1, maxLength: 100 }),
    parties: Type.Optional(Parties),
  },
  strict,
)

export type DepositReportBody = Static<typeof DepositReport>

export const SandboxDeposit = Type.Object(
  {
    asset: Name,
    amount: Type.String({ minLength: 1, maxLength: 100 }),
    ref_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Your own id: a repeated one creates nothing' }),
    ),
    crypto_network: Type.Optional(textChoice(REQUESTED_NETWORK_NAMES)),
    crypto_address: Type.Optional(Name),
    memo_id: Type.Optional(Name),
  },
  strict,
)

export type SandboxDepositBody = Static<typeof SandboxDeposit>

/** Each entry is validated separately, so an invalid one does not prevent the others from being recorded. */
export const DepositReports = Type.Object(
  { deposits: Type.Array(Type.Unknown(), { minItems: 1, maxItems: REPORTS_MAX }) },
  strict,
)

export const AssignBody = Type.Object({ profile_id: Name, run_rules: Type.Optional(Type.Boolean()) }, strict)

const Reason = Type.String({ minLength: 1, maxLength: 1_000 })

export const ReasonBody = Type.Object({ reason: Reason }, strict)

export const CorrectBody = Type.Object(
  {
    amount: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'Default: as it is, in the asset' }),
    ),
    asset: Type.Optional(Name),
    profile_id: Type.Optional(Name),
    run_rules: Type.Optional(Type.Boolean({ description: 'Whether rules apply to the new credit. Default: false' })),
    reason: Reason,
  },
  strict,
)

export const ReturnBody = Type.Object(
  {
    reason: Reason,
    crypto: Type.Optional(Type.Object({ address: Name, network: textChoice(REQUESTED_NETWORK_NAMES) }, strict)),
    fiat: Type.Optional(
      Type.Object(
        { fiat_account_id: Name, memo: Type.Optional(Name), network: Type.Optional(textChoice(FIAT_NETWORKS)) },
        strict,
      ),
    ),
  },
  strict,
)

export const DepositsQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(textChoice(DEPOSIT_STATUSES)),
  secondary_status: Type.Optional(textChoice(DEPOSIT_SECONDARY_STATUSES)),
  disposition: Type.Optional(Dispositions),
  customer_id: Type.Optional(Name),
  profile_id: Type.Optional(Name),
  asset: Type.Optional(Name),
  unattributed: Type.Optional(textChoice(['true', 'false'])),
})

const Time = Type.String({ format: 'date-time' })
const Uuid = Type.String({ format: 'uuid' })

const DepositCorrection = Type.Object(
  {
    at: Time,
    before: Type.Object(
      {
        asset: Type.String(),
        amount: Type.String(),
        profile_id: Type.Optional(Uuid),
        secondary_status: Type.Optional(textChoice(DEPOSIT_SECONDARY_STATUSES)),
        orchestration_id: Type.Optional(Uuid),
      },
      { description: 'What it was before' },
    ),
    reason: Type.String(),
  },
  { title: 'DepositCorrection' },
)

export const Deposit = Type.Object(
  {
    id: Uuid,
    customer_id: Type.Optional(Uuid),
    profile_id: Type.Optional(Type.String({ format: 'uuid', description: 'Absent: it is unattributed' })),
    account_id: Type.Optional(Uuid),
    asset: Type.String(),
    amount: Type.String({ description: 'Decimal text without trailing zeros' }),
    status: textChoice(DEPOSIT_STATUSES),
    secondary_status: Type.Optional(textChoice(DEPOSIT_SECONDARY_STATUSES)),
    disposition: Type.Optional(Type.Object({ code: Dispositions }, { description: 'Why it was or was not converted' })),
    gates: Type.Optional(ClosedGates),
    parties: Type.Optional(Parties),
    reason: Type.Optional(Type.String({ description: 'The operator’s, for the last action' })),
    crypto: Type.Optional(
      Type.Object({
        network: textChoice(CRYPTO_NETWORK_NAMES),
        address: Type.String(),
        tx_hash: Type.String(),
        tx_index: Type.Integer(),
      }),
    ),
    fiat: Type.Optional(
      Type.Object({
        network: textChoice(FIAT_NETWORKS),
        memo_id: Type.Optional(Type.String()),
        remittance: Type.Optional(Type.String()),
        bank_reference: Type.Optional(Type.String()),
        sender: Type.Optional(Type.String()),
      }),
    ),
    deposit_address_id: Type.Optional(Uuid),
    deposit_instructions_id: Type.Optional(Uuid),
    orchestration_rule_id: Type.Optional(Uuid),
    orchestration_id: Type.Optional(Uuid),
    delivery_id: Type.Optional(Type.String({ format: 'uuid', description: 'Of its return' })),
    confirmations: Type.Optional(Type.Integer({ minimum: 0 })),
    corrections: Type.Optional(Type.Array(DepositCorrection, { description: 'The oldest first. Absent: none' })),
    occurred_at: Time,
    completed_at: Type.Optional(Time),
    created_at: Time,
    updated_at: Time,
    version: RecordVersion,
  },
  { title: 'Deposit' },
)

export const DepositPage = pageOf(Deposit)

export const DepositTrace = Type.Object(
  {
    deposit: Deposit,
    names: Type.Object(
      {
        customer: Type.Optional(Type.String()),
        profile: Type.Optional(Type.String()),
        rule: Type.Optional(Type.String()),
      },
      { description: 'The names of the deposit’s customer, profile and rule, where these have one' },
    ),
    entries: Type.Array(
      Type.Object(
        {
          at: Time,
          kind: textChoice(TRACE_KINDS),
          text: Type.String(),
          detail: Type.Record(Type.String(), Type.Unknown()),
        },
        { title: 'TraceEntry' },
      ),
    ),
  },
  { title: 'DepositTrace' },
)

const ReportResult = Type.Object({
  status: Type.Optional({
    ...textChoice(['created', 'changed', 'known']),
    description: 'What the report did. Absent when it has a problem',
  }),
  deposit: Type.Optional(Deposit),
  problem: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'Why this report was not recorded, as in an error' }),
  ),
})

/** A single report's deposit, or a batch's results in the same order. */
export const ReportAnswer = Type.Union([
  Deposit,
  Type.Object({
    failed: Type.Integer({ minimum: 0, description: 'Number of results with a problem' }),
    results: Type.Array(ReportResult),
  }),
])
