/** Schemas for the delivery calls. */
import { Type } from 'typebox'
import { FIAT_NETWORKS } from '../../contract/assets.ts'
import { CRYPTO_NETWORK_NAMES } from '../../contract/crypto-networks.ts'
import { PageQuery, pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { GATE_WAITS } from '../gates/model.ts'
import { ClosedGates } from '../gates/release.ts'
import { Parties } from '../screening/parties.ts'
import { DELIVERY_CHANNELS, DELIVERY_STATUSES } from './model.ts'
import { ATTEMPT_OUTCOMES } from './tables.ts'

/** The most deliveries in one claim. One transaction claims all of them. */
const CLAIM_MAX = 100
const LEASE_SECONDS_MAX = 86_400

const strict = { additionalProperties: false }
const Id = Type.String({ minLength: 1, maxLength: 200 })
const Executor = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\0]*$' })
const Attempt = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })

const LeaseSeconds = Type.Integer({ minimum: 1, maximum: LEASE_SECONDS_MAX })

export const ClaimBody = Type.Object(
  { executor: Executor, limit: Type.Integer({ minimum: 1, maximum: CLAIM_MAX }), lease_seconds: LeaseSeconds },
  strict,
)

export const ClaimOneBody = Type.Object({ lease_seconds: LeaseSeconds }, strict)

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
  {
    reason: Type.String({ minLength: 1, maxLength: 1_000, pattern: '^[^\\0]*$' }),
    attempt: Attempt,
    earlier_attempts: Type.Optional(
      Type.Enum(['not_paid'], {
        type: 'string',
        description: 'Declares every attempt without a result unpaid, now and later. Required when there is one',
      }),
    ),
  },
  strict,
)

export const DeliveriesQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(textChoice(DELIVERY_STATUSES)),
  profile_id: Type.Optional(Id),
  orchestration_id: Type.Optional(Id),
  executor: Type.Optional(Executor),
})

const Uuid = Type.String({ format: 'uuid' })
const Time = Type.String({ format: 'date-time' })

const Destination = Type.Object(
  {
    crypto: Type.Optional(
      Type.Object({
        address: Type.String(),
        network: textChoice(CRYPTO_NETWORK_NAMES),
        memo: Type.Optional(Type.String()),
      }),
    ),
    fiat: Type.Optional(
      Type.Object({
        fiat_account_id: Type.String(),
        memo: Type.Optional(Type.String()),
        network: Type.Optional(textChoice(FIAT_NETWORKS)),
      }),
    ),
  },
  { description: 'Exactly one of crypto, fiat' },
)

const deliveryMembers = {
  parties: Type.Optional(Parties),
  id: Uuid,
  status: textChoice(DELIVERY_STATUSES),
  attempt: Type.Integer({ minimum: 0, description: 'Its present attempt’s fencing token' }),
  asset: Type.String(),
  amount: Type.String({ description: 'Decimal text without trailing zeros' }),
  fee: Type.Optional(Type.String()),
  destination: Destination,
  customer_id: Uuid,
  profile_id: Uuid,
  account_id: Type.Optional(Uuid),
  orchestration_id: Type.Optional(Uuid),
  deposit_id: Type.Optional(Type.String({ format: 'uuid', description: 'The returned deposit' })),
  channel: Type.Optional(
    Type.Enum([...DELIVERY_CHANNELS], { type: 'string', description: 'How it was handed out. Absent before' }),
  ),
  executor: Type.Optional(Type.String()),
  lease_until: Type.Optional(Time),
  next_attempt_at: Type.Optional(Time),
  waiting_for: Type.Optional(textChoice(GATE_WAITS)),
  waiting_detail: Type.Optional(Type.String()),
  gates: Type.Optional(ClosedGates),
  reference: Type.Optional(Type.String({ description: 'The executor’s name for the payment' })),
  late: Type.Optional(Type.Boolean({ description: 'Settled after it had failed' })),
  fail_reason: Type.Optional(Type.Object({ code: Type.String(), detail: Type.Optional(Type.String()) })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  first_attempt_at: Type.Optional(Time),
  created_at: Time,
  updated_at: Time,
}

/** In a list. */
const Delivery = Type.Object(deliveryMembers, { title: 'Delivery' })

export const DeliveryPage = pageOf(Delivery)

export const DeliveryWithAttempts = Type.Object(
  {
    ...deliveryMembers,
    first_to_destination: Type.Optional(
      Type.Boolean({ description: 'True until one of this customer’s payments to the same destination was settled' }),
    ),
    attempts: Type.Array(
      Type.Object(
        {
          attempt: Type.Integer({ minimum: 0 }),
          executor: Type.String(),
          outcome: textChoice(ATTEMPT_OUTCOMES),
          detail: Type.Optional(Type.String()),
          started_at: Time,
          ended_at: Type.Optional(Time),
        },
        { title: 'DeliveryAttempt' },
      ),
    ),
  },
  { title: 'DeliveryWithAttempts' },
)

export const Claimed = Type.Object({ items: Type.Array(Delivery) })
