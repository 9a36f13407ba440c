/** The schemas of requests about deposits. Assets, amounts and addresses, which a schema cannot check, `report` checks. */
import { type Static, Type } from 'typebox'
import { FIAT_NETWORKS } from '../contract/assets.ts'
import { REQUESTED_NETWORK_NAMES } from '../contract/crypto-networks.ts'
import { PageQuery } from '../http/page-query.ts'
import { textChoice } from '../http/text-choice.ts'
import { DISPOSITIONS, type Disposition } from './dispositions.ts'
import { DEPOSIT_SECONDARY_STATUSES, DEPOSIT_STATUSES } from './transitions.ts'

/** Reports in one request, and in one group commit, at most. */
const REPORTS_MAX = 100
/** The largest value of an integer column. */
const INTEGER_MAX = 2_147_483_647

const strict = { additionalProperties: false }
const Name = Type.String({ minLength: 1, maxLength: 200 })

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
  },
  strict,
)

export type DepositReportBody = Static<typeof DepositReport>

export const SandboxDeposit = Type.Object(
  {
    asset: Name,
    amount: Type.String({ minLength: 1, maxLength: 100 }),
    crypto_network: Type.Optional(textChoice(REQUESTED_NETWORK_NAMES)),
    crypto_address: Type.Optional(Name),
    memo_id: Type.Optional(Name),
  },
  strict,
)

export type SandboxDepositBody = Static<typeof SandboxDeposit>

/** Each entry is validated on its own, so an invalid one does not prevent the others from being recorded. */
export const DepositReports = Type.Object(
  { deposits: Type.Array(Type.Unknown(), { minItems: 1, maxItems: REPORTS_MAX }) },
  strict,
)

export const Nothing = Type.Object({}, strict)

export const AssignBody = Type.Object({ profile_id: Name, run_rules: Type.Optional(Type.Boolean()) }, strict)

const Reason = Type.String({ minLength: 1, maxLength: 1_000 })

export const ReasonBody = Type.Object({ reason: Reason }, strict)

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
  disposition: Type.Optional(textChoice(Object.keys(DISPOSITIONS) as Disposition[])),
  customer_id: Type.Optional(Name),
  profile_id: Type.Optional(Name),
  asset: Type.Optional(Name),
  unattributed: Type.Optional(textChoice(['true', 'false'])),
})
