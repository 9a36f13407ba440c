/** The operator's calls about notices: customers' security contacts, a test, and what was sent or still waits. */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { PageQuery, pageOf, readPageQuery } from '../../../platform/http/page-query.ts'
import { answered } from '../../../platform/http/raw-json.ts'
import { textChoice } from '../../../platform/http/text-choice.ts'
import { writeAudit } from '../../../platform/store/audit.ts'
import type { Db, Transaction } from '../../../platform/store/db.ts'
import { getNotice, listNotices, SEND_STATUSES } from '../../notices/lists.ts'
import { NOTICE_TYPES, queueNotice } from '../../notices/queue.ts'
import { lockCustomer } from '../customers.ts'
import { Customer } from '../operator-answers.ts'
import { idOf, operatorActor, operatorOf, requireSeen } from '../operator-calls.ts'
import type { AuthTables } from '../tables.ts'
import { replaceContacts } from './contacts.ts'

const strict = { additionalProperties: false }
const Uuid = Type.String({ format: 'uuid' })
const Time = Type.String({ format: 'date-time' })

/** Contacts of one customer. */
const CONTACTS_MAX = 10
const Contact = Type.String({
  maxLength: 254,
  // One plain address: no name, comment, list or line break, which would change a mail's head.
  pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
  description: 'A mail address',
})
const ContactsBody = Type.Object(
  { security_contacts: Type.Array(Contact, { uniqueItems: true, maxItems: CONTACTS_MAX }) },
  strict,
)
const Nothing = Type.Object({}, strict)

const Send = Type.Object({
  channel: textChoice(['mail', 'webhook']),
  recipient: Type.Optional(Type.String({ description: 'The mail address' })),
  status: textChoice(SEND_STATUSES),
  attempts: Type.Integer({ minimum: 0 }),
  last_error: Type.Optional(Type.String()),
  next_attempt_at: Type.Optional(Time),
  sent_at: Type.Optional(Time),
})

const Notice = Type.Object(
  {
    id: Uuid,
    customer_id: Uuid,
    type: textChoice(NOTICE_TYPES),
    subject: Type.String({ description: 'The id of the record that it is about' }),
    facts: Type.Record(Type.String(), Type.String()),
    sends: Type.Array(Send),
    created_at: Time,
  },
  { title: 'Notice' },
)
const NoticePage = pageOf(Notice)

const NoticesQuery = Type.Object({
  ...PageQuery.properties,
  customer_id: Type.Optional(Uuid),
  status: Type.Optional(textChoice(SEND_STATUSES)),
})

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, relative to the prefix in `app`. */
export function registerNoticeRoutes(app: FastifyInstance, db: Db): void {
  app.put<ById & { Body: Static<typeof ContactsBody> }>(
    '/customers/:id/security-contacts',
    answered(Customer, { body: ContactsBody }),
    (request) =>
      db.transaction(async (transaction: Transaction<AuthTables>) => {
        const id = idOf(request.params.id)
        const { security_contacts } = request.body
        const customer = await lockCustomer(transaction, id)
        await requireSeen(request, async () => customer)
        await replaceContacts(transaction, operatorActor(request), id, security_contacts)
        return { ...customer, security_contacts }
      }),
  )
  app.post<ById>('/customers/:id/security-contacts/test', answered(Notice, { body: Nothing }), async (request) => {
    const customerId = idOf(request.params.id)
    const id = await db.transaction(async (transaction: Transaction<AuthTables>) => {
      await lockCustomer(transaction, customerId)
      const facts = { requested_by: operatorOf(request).name }
      const noticeId = await queueNotice(transaction, { customerId, type: 'test', subject: customerId, facts })
      const entry = { actor: operatorActor(request), action: 'notice.test', subject: customerId }
      await writeAudit(transaction, { ...entry, detail: { notice_id: noticeId } })
      return noticeId
    })
    return await getNotice(db, id)
  })
  app.get<{ Querystring: Static<typeof NoticesQuery> }>(
    '/notices',
    answered(NoticePage, { querystring: NoticesQuery }),
    ({ query }) => {
      const customerId = query.customer_id === undefined ? undefined : idOf(query.customer_id)
      return listNotices(db, readPageQuery(query), { customerId, status: query.status })
    },
  )
  app.get<ById>('/notices/:id', answered(Notice), ({ params }) => getNotice(db, idOf(params.id)))
}
