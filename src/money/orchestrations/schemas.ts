/**
 * The request and response schemas for orchestrations, and their list filters. `money/rules/terms` checks assets,
 * networks and addresses, because a schema cannot.
 */
import { type Static, Type } from 'typebox'
import { choices, texts, times, uuids } from '../../platform/http/list-query.ts'
import { NextPageCursor, pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { ClosedGates, RecordVersion } from '../gates/release.ts'
import { Destination, RequestedDestination, Source } from '../rules/schemas.ts'
import { Parties } from '../screening/parties.ts'
import { ORCHESTRATION_STATUSES, WAITING_REASONS } from './model.ts'

const strict = { additionalProperties: false }
const Id = Type.String({ minLength: 1, maxLength: 200 })
const Uuid = Type.String({ format: 'uuid' })
const AssetSymbol = Type.String({ minLength: 1, maxLength: 200, description: 'A configured asset’s symbol' })

const METADATA_MEMBERS_MAX = 6
const METADATA_CHARACTERS_MAX = 100

export const NewOrchestrationBody = Type.Object(
  {
    ref_id: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Your own id. 409 when an orchestration with this id exists',
    }),
    source: Type.Object(
      { profile: Type.Object({ profile_id: Id }, strict) },
      { ...strict, description: 'The profile whose available balance is debited' },
    ),
    source_asset: AssetSymbol,
    source_amount: Type.String({ minLength: 1, maxLength: 100, description: 'Decimal text above zero, such as 12.5' }),
    destination_asset: AssetSymbol,
    destination: Type.Optional(RequestedDestination),
    parties: Type.Optional(Parties),
    metadata: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        maxProperties: METADATA_MEMBERS_MAX,
        propertyNames: { maxLength: METADATA_CHARACTERS_MAX },
        additionalProperties: { type: 'string', maxLength: METADATA_CHARACTERS_MAX },
      }),
    ),
  },
  strict,
)

export type RequestedOrchestration = Static<typeof NewOrchestrationBody>

const Amount = Type.String({ description: 'Decimal text without trailing zeros' })
const LinkedTransfer = Type.Object({ transfer_id: Uuid, status: textChoice(['PENDING', 'COMPLETED', 'FAILED']) })

const MEMBERS = {
  id: Uuid,
  parties: Type.Optional(Parties),
  customer_id: Uuid,
  profile_id: Uuid,
  identity_id: Type.Optional(Type.String()),
  account_id: Type.Optional(Uuid),
  ref_id: Type.Optional(Type.String({ description: 'Your own id, when you requested the orchestration' })),
  orchestration_rule_id: Type.Optional(Uuid),
  deposit_id: Type.Optional(Uuid),
  retry_of: Type.Optional(Type.String({ format: 'uuid', description: 'The failed orchestration retried by this one' })),
  source_asset: Type.String(),
  source_amount: Amount,
  destination_asset: Type.String(),
  destination_amount: Type.Optional(
    Type.String({ description: 'The delivered or credited amount. Present after the conversion' }),
  ),
  price: Type.Optional(Type.String({ description: 'Destination-asset amount for 1 of the source asset' })),
  price_source: Type.Optional(Type.String({ description: '`par`, or the market’s symbol' })),
  receipt: Type.Optional(
    Type.Object(
      {
        initial_amount: Amount,
        fee_amount: Amount,
        converted_amount: Amount,
        rate: Type.String(),
        outgoing_amount: Amount,
      },
      {
        description: 'Present after the conversion. Any part that is neither fee nor converted stays available',
      },
    ),
  ),
  status: textChoice(ORCHESTRATION_STATUSES),
  waiting_for: Type.Optional(textChoice(WAITING_REASONS)),
  expires_at: Type.String({
    format: 'date-time',
    description: 'The orchestration fails when it is not converted by then. Time at closed gates extends it',
  }),
  fail_reason: Type.Optional(
    Type.Object({ code: Type.String(), detail: Type.String() }, { description: 'Present when the status is FAILED' }),
  ),
  source: Source,
  destination: Destination,
  source_transfer: Type.Optional(LinkedTransfer),
  destination_transfer: Type.Optional(LinkedTransfer),
  metadata: Type.Record(Type.String(), Type.Unknown()),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
}

export const Orchestration = Type.Object(MEMBERS, { title: 'Orchestration' })

export const OrchestrationList = Type.Object({
  orchestrations: Type.Array(Orchestration, { deprecated: true, description: 'The same as `items`. Use that' }),
  items: Type.Array(Orchestration),
  next_page_cursor: Type.Optional(NextPageCursor),
})

export const OperatorOrchestration = Type.Object(
  {
    ...MEMBERS,
    step: Type.Optional(textChoice(['convert', 'deliver'])),
    waiting_detail: Type.Optional(Type.String()),
    waiting_since: Type.Optional(Type.String({ format: 'date-time' })),
    gates: Type.Optional(ClosedGates),
    version: RecordVersion,
  },
  { title: 'OperatorOrchestration' },
)

export const OperatorOrchestrationPage = pageOf(OperatorOrchestration)

export const RejectBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict)

/** The query parameters of a customer's list. A filter with two names matches the values of both. */
export const ORCHESTRATION_FILTERS = {
  ids: uuids('Filter by orchestration UUIDs'),
  orchestration_id: texts('Filter by orchestrations'),
  orchestration_rule_id: texts('Filter by rules'),
  orchestration_rule_ids: texts('The same as orchestration_rule_id'),
  profile_id: texts('Filter by profiles'),
  profile_ids: texts('The same as profile_id'),
  ref_id: texts('Filter by your own ids'),
  source_asset: texts('Filter by source assets'),
  destination_asset: texts('Filter by destination assets'),
  status: choices(ORCHESTRATION_STATUSES, 'Filter by statuses'),
  created_at: times('Created'),
  updated_at: times('Last updated'),
}

/** The query parameters of the operator's list. */
export const OPERATOR_ORCHESTRATION_FILTERS = {
  status: choices(ORCHESTRATION_STATUSES, 'Filter by statuses'),
  waiting_for: choices(WAITING_REASONS, 'Filter by reasons to wait'),
  customer_id: texts('Filter by customers'),
  profile_id: texts('Filter by profiles'),
  orchestration_rule_id: texts('Filter by rules'),
  deposit_id: texts('Filter by deposits'),
}
