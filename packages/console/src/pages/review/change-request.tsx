/**
 * One request that needs a second person: the change, the record as the first person saw it, and the differences since
 * then. A confirmation names the version shown on this page.
 */
import { type Answer, call, type Problem } from '../../base/api.ts'
import { visible, words } from '../../base/format.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet } from '../../base/resource.ts'
import { href } from '../../base/router.ts'
import { can, session } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer } from '../../ui/customer.tsx'
import {
  Amount,
  Badge,
  Card,
  Facts,
  Id,
  Json,
  NotLoaded,
  PageHead,
  ProblemNote,
  Status,
  timeFact,
} from '../../ui/parts.tsx'
import { Exact, type Place, PlaceFacts } from '../../ui/place.tsx'
import { Table } from '../../ui/table.tsx'

type Request = Schema<'ChangeRequestWithRecord'>
type FieldChange = Schema<'FieldChange'>

/** The pages for the requests' records. */
const PAGES: Readonly<Record<string, string>> = {
  accounts: '/review/accounts',
  rules: '/review/rules',
  destinations: '/review/destinations',
  screening: '/review/screening',
  limits: '/customers',
  orchestrations: '/money/orchestrations',
  deliveries: '/money/deliveries',
  deposits: '/money/deposits',
  operators: '/operators',
  plans: '/plans',
  customers: '/customers',
  clients: '/clients',
}

const BACK = { path: '/review/requests', label: 'Four eyes' }

const nameOf = (actor: string | undefined) => actor?.replace('operator:', '')

export function ChangeRequestPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/change-requests/${id}`)
  if (document === undefined) return <NotLoaded title="Request" back={BACK} problem={problem} retry={reload} />
  const { summary, status, requested_by, version } = document
  const isOwn = nameOf(requested_by) === session.value?.operator.name
  const isOpen = status === 'PENDING'
  return (
    <>
      <PageHead title={summary} back={BACK} lead={`Requested by ${nameOf(requested_by)}`}>
        {isOpen && can('POST /change-requests/:id/decline') && (
          <button type="button" onClick={() => askRefusal(document, isOwn, reload)}>
            {isOwn ? 'Withdraw' : 'Decline'}
          </button>
        )}
        {version !== undefined && !isOwn && can('POST /change-requests/:id/confirm') && (
          <button type="button" class="primary" onClick={() => askConfirmation(document, version, reload)}>
            Confirm
          </button>
        )}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        {isOwn && isOpen && <p class="notice">You requested this: another person has to confirm it.</p>}
        <RequestFacts request={document} />
        {document.comment !== '' && (
          <Card title={`Comment by ${nameOf(requested_by)}`}>
            <p class="break">{document.comment}</p>
          </Card>
        )}
        <Card title="The change">
          <Decided request={document} />
          <Members of={document.body} />
        </Card>
        {document.changes !== undefined && document.record !== undefined && <ChangesCard changes={document.changes} />}
        {document.record !== undefined && (
          <Card title={`The record as ${nameOf(requested_by)} saw it`}>
            <Members of={document.record} />
          </Card>
        )}
        <p>
          <a href={href(`/audit?subject=${document.subject}`)}>The record's audit</a>
        </p>
      </div>
    </>
  )
}

function RequestFacts({ request }: { readonly request: Request }) {
  const { status, call: operation, subject, record } = request
  const page = PAGES[operation.split('/')[1] ?? '']
  // A record that does not exist yet has no page.
  const link = page === undefined || record === undefined ? undefined : `${page}/${subject}`
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <Status key="s" of={status} />],
          ['Record', <Id key="r" of={subject} to={link} />],
          ['Call', <code key="c">{operation}</code>],
          ['Requested', timeFact(request.created_at)],
          ['Expires', timeFact(request.expires_at)],
          ['Decided by', nameOf(request.decided_by)],
          ['Decided', timeFact(request.decided_at)],
          ['Result', request.detail],
        ]}
      />
    </Card>
  )
}

/** The money being decided about, and its whole destination. */
function Decided({ request: { record = {}, body } }: { readonly request: Request }) {
  const { amount, source_amount, asset, source_asset, first_to_destination } = record
  const money = amount ?? source_amount
  const requested = placeOf(body)
  const place = requested ?? placeOf(record)
  return (
    <>
      {money !== undefined && (
        <p>
          The record's amount:{' '}
          <strong>
            <Amount of={String(money)} asset={String(asset ?? source_asset)} />
          </strong>
        </p>
      )}
      {place !== undefined && (
        <PlaceFacts of={place} isFirst={requested === undefined && first_to_destination === true} />
      )}
    </>
  )
}

type Document = Readonly<Record<string, unknown>>

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Where money goes to or came from. Undefined when the document is about no payment. */
function placeOf({ destination, crypto, fiat }: Document): Place | undefined {
  if (isDocument(destination)) return destination as Place
  if (isDocument(crypto)) return { crypto }
  return isDocument(fiat) ? { fiat } : undefined
}

/** All members of a document: texts in full, and objects and lists as JSON. */
function Members({ of }: { readonly of: Document }) {
  const rows = Object.entries(of).map(([name, value]) => {
    if (name === 'customer_id') return ['Customer', <Customer key={name} id={String(value)} />] as const
    return [words(name), <Value key={name} of={value} />] as const
  })
  return rows.length === 0 ? <p class="quiet">There are no further values.</p> : <Facts rows={rows} />
}

function Value({ of }: { readonly of: unknown }) {
  if (typeof of === 'object' && of !== null) return <Json value={of} />
  const text = String(of)
  return text.length > 14 || visible(text) !== text ? <Exact of={text} /> : <span>{text}</span>
}

function ChangesCard({ changes }: { readonly changes: readonly FieldChange[] }) {
  return (
    <Card
      title="Changed since"
      flush={changes.length > 0}
      actions={<Badge tone={changes.length === 0 ? 'good' : 'warn'}>{changes.length === 0 ? 'No' : 'Yes'}</Badge>}
    >
      {changes.length === 0 ? (
        <p class="quiet">The record has not changed since the request.</p>
      ) : (
        <ChangesTable changes={changes} />
      )}
    </Card>
  )
}

function ChangesTable({ changes }: { readonly changes: readonly FieldChange[] }) {
  const shown = (value: unknown) => (value === undefined ? <span class="quiet">none</span> : <Value of={value} />)
  return (
    <Table
      caption="Changes to the record since the request"
      items={changes}
      keyOf={({ field }) => field}
      columns={[
        { name: 'Field', show: ({ field }) => <code>{field}</code> },
        { name: 'Before', show: ({ before }) => shown(before) },
        { name: 'Now', show: ({ now }) => shown(now) },
      ]}
    />
  )
}

function askConfirmation(request: Request, version: string, reload: () => void): void {
  const { id, summary, comment, changes = [], requested_by } = request
  ask({
    title: `Confirm: ${summary.toLowerCase()}?`,
    consequence: (
      <>
        <p>It is carried out at once, in your name, with the values you see.</p>
        <Decided request={request} />
        {comment !== '' && (
          <p class="break">
            {nameOf(requested_by)}: {comment}
          </p>
        )}
        {changes.length > 0 && (
          <>
            <p>
              <strong>The record has changed since it was requested:</strong>
            </p>
            <ChangesTable changes={changes} />
          </>
        )}
      </>
    ),
    confirm: 'Confirm',
    run: (): Promise<Answer<unknown>> => call('POST', `/change-requests/${id}/confirm`, { version }),
    refused: ({ code }: Problem) => {
      if (code !== 'record_changed') return undefined
      reload()
      return 'The record has changed: read the differences, then decide again.'
    },
    done: () => {
      reload()
      return 'Confirmed and carried out'
    },
  })
}

function askRefusal({ id, summary }: Request, isOwn: boolean, reload: () => void): void {
  const name = isOwn ? 'Withdraw' : 'Decline'
  ask({
    title: isOwn ? 'Withdraw this request?' : `Decline: ${summary.toLowerCase()}?`,
    consequence: <p>Nothing is changed.</p>,
    confirm: name,
    isDangerous: true,
    run: () => call('POST', `/change-requests/${id}/decline`, {}),
    done: () => {
      reload()
      return isOwn ? 'Withdrawn' : 'Declined'
    },
  })
}
