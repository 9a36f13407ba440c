/** Schemas for limits and their use, for both APIs. */
import { Type } from 'typebox'
import { textChoice } from '../../platform/http/text-choice.ts'
import { LIMIT_SCOPES, LIMIT_WINDOWS } from './model.ts'

const LIMITS_MAX = 400
const Amount = Type.String({ description: 'Decimal text without trailing zeros, such as 12.5' })

const Destination = Type.Object(
  {
    crypto: Type.Optional(Type.Object({ address: Type.String(), network: Type.String() })),
    fiat: Type.Optional(Type.Object({ fiat_account_id: Type.String() })),
    profile: Type.Optional(Type.Object({ profile_id: Type.String() })),
  },
  { description: 'The destination whose use is counted. Absent: any other destination' },
)

const kind = {
  scope: textChoice(LIMIT_SCOPES),
  asset: Type.String({ minLength: 1, maxLength: 20 }),
  window: textChoice(LIMIT_WINDOWS),
}

const LimitUse = Type.Object(
  {
    scope: kind.scope,
    destination_id: Type.Optional(
      Type.String({ description: 'The id of the profile, fiat account or registered address' }),
    ),
    destination: Type.Optional(Destination),
    asset: kind.asset,
    window: kind.window,
    limit: Amount,
    used: Type.String({ description: 'The amount counted in the window' }),
    available: Type.String({ description: 'The largest amount that passes now' }),
    next_release_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the next part of the used amount is released' }),
    ),
  },
  { title: 'LimitUse' },
)

export const LimitUses = Type.Object({ items: Type.Array(LimitUse) })

export const LimitsQuery = Type.Object({ customer_id: Type.String({ minLength: 1, maxLength: 200 }) })

const strict = { additionalProperties: false }

export const LimitsBody = Type.Object(
  {
    customer_id: Type.String({ minLength: 1, maxLength: 200 }),
    limits: Type.Array(
      Type.Object({ ...kind, amount: Type.String({ minLength: 1, maxLength: 100, description: 'From 0' }) }, strict),
      { maxItems: LIMITS_MAX, description: 'All the customer’s own limits. Empty: only the defaults apply' },
    ),
  },
  strict,
)

export const CustomerLimits = Type.Object(
  {
    customer_id: Type.String(),
    limits: Type.Array(Type.Object({ ...kind, amount: Amount }), {
      description: 'The customer’s own limits, in place of limits.defaults where scope, asset and window are equal',
    }),
    use: Type.Array(LimitUse, { description: 'The limits in force, with their use' }),
  },
  { title: 'CustomerLimits' },
)
