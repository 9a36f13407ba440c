/** The schemas of screenings in the operator API, and their list's filters. */
import { Type } from 'typebox'
import { choices, orderBy, uuids } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { SCREENING_DECISIONS, SCREENING_KINDS, SCREENING_STATUSES } from './model.ts'

const Time = Type.String({ format: 'date-time' })
const Uuid = Type.String({ format: 'uuid' })
const Reason = Type.String({ description: 'The provider’s reason, or the operator’s note' })

export const DecideBody = Type.Object(
  {
    decision: textChoice(['ALLOW', 'REJECT']),
    note: Type.String({ minLength: 1, maxLength: 1_000, description: 'Why' }),
    revision: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The `revision` that was seen: 409 `record_changed` for other terms' }),
    ),
  },
  { additionalProperties: false },
)

export const Screening = Type.Object(
  {
    id: Uuid,
    kind: textChoice(SCREENING_KINDS),
    status: textChoice(SCREENING_STATUSES),
    deposit_id: Type.Optional(Uuid),
    orchestration_id: Type.Optional(Type.String({ format: 'uuid', description: 'The payment’s' })),
    customer_id: Uuid,
    profile_id: Uuid,
    asset: Type.String(),
    amount: Type.String({ description: 'Decimal text without trailing zeros' }),
    destination: Type.Optional(Type.Unknown({ description: 'The payment’s' })),
    revision: Type.Integer({ description: 'Raised by every change of the terms' }),
    asked_at: Type.String({ format: 'date-time', description: 'When the present question was asked first' }),
    attempts: Type.Integer({ description: 'Requests for the present question' }),
    fault: Type.Optional(Type.String({ description: 'Why the last request has no answer' })),
    decided_by: Type.Optional(Type.String({ description: '`hook`, or who decided' })),
    decided_at: Type.Optional(Time),
    reason: Type.Optional(Reason),
    decisions: Type.Array(
      Type.Object({
        at: Time,
        by: Type.String(),
        decision: textChoice(SCREENING_DECISIONS),
        revision: Type.Integer(),
        reason: Type.Optional(Reason),
      }),
      { description: 'All decisions, the oldest first' },
    ),
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The facts sent to the hook' })),
    created_at: Time,
  },
  { title: 'Screening' },
)

export const ScreeningPage = pageOf(Screening)

export const SCREENING_FILTERS = {
  status: choices(SCREENING_STATUSES, 'Filter by statuses'),
  customer_id: uuids('Filter by customers'),
  movement_id: uuids('Filter by deposits or orchestrations'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}
