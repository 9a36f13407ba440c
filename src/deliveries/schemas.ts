/** The schemas of the calls for deliveries. */
import { Type } from 'typebox'
import { PageQuery } from '../http/page-query.ts'
import { textChoice } from '../http/text-choice.ts'
import { DELIVERY_STATUSES } from './model.ts'

/** Deliveries in one claim, at most; one transaction claims all of them. */
const CLAIM_MAX = 100
const LEASE_SECONDS_MAX = 86_400

const strict = { additionalProperties: false }
const Id = Type.String({ minLength: 1, maxLength: 200 })
const Executor = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\0]*$' })
const Attempt = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })

export const ClaimBody = Type.Object(
  {
    executor: Executor,
    limit: Type.Integer({ minimum: 1, maximum: CLAIM_MAX }),
    lease_seconds: Type.Integer({ minimum: 1, maximum: LEASE_SECONDS_MAX }),
  },
  strict,
)

export const SettleBody = Type.Object(
  {
    reference: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\0]*$' }),
    attempt: Attempt,
    fee: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    late: Type.Optional(Type.Boolean()),
  },
  strict,
)

export const FailBody = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 1_000, pattern: '^[^\\0]*$' }), attempt: Attempt },
  strict,
)

export const DeliveriesQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(textChoice(DELIVERY_STATUSES)),
  profile_id: Type.Optional(Id),
  orchestration_id: Type.Optional(Id),
  executor: Type.Optional(Executor),
})

export const Claimed = Type.Object({ items: Type.Array(Type.Unknown()) })
