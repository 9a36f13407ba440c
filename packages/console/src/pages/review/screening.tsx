/** Screenings of deposits and payments: the list, and one with its answers and the person's decision. */
import { call } from '../../base/api.ts'
import { words } from '../../base/format.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet, useList } from '../../base/resource.ts'
import { can } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer, CustomerFilter } from '../../ui/customer.tsx'
import { filterOf, SelectFilter } from '../../ui/filters.tsx'
import { Amount, Card, Empty, Facts, Id, NotLoaded, PageHead, ProblemNote, Status, Time } from '../../ui/parts.tsx'
import { type Place, PlaceFacts } from '../../ui/place.tsx'
import { ListTable, Table } from '../../ui/table.tsx'
import { AuditCard } from '../audit.tsx'
import { PendingRequests } from '../pending-requests.tsx'
import { ReviewFrame } from './lists.tsx'

const BACK = { path: '/review/screening', label: 'Screening' }

type Screening = Schema<'Screening'>

export function ScreeningsPage() {
  const list = useList('/screening', {
    status: filterOf('status'),
    customer_id: filterOf('customer'),
    order: 'DESC',
  })
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PENDING', 'ALLOWED', 'HELD', 'REJECTED', 'CLOSED']} />
        <CustomerFilter />
      </div>
      <Card flush>
        <ListTable
          caption="Screenings"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/review/screening/${id}`}
          columns={[
            { name: 'Movement', show: ({ kind }) => words(kind.toUpperCase()) },
            { name: 'Status', show: ({ status }) => <Status of={status} /> },
            { name: 'Amount', isNumber: true, show: ({ amount, asset }) => <Amount of={amount} asset={asset} /> },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Reason', isWide: true, show: ({ reason, fault }) => reason ?? fault ?? '' },
            { name: 'Asked', show: ({ asked_at }) => <Time at={asked_at} /> },
          ]}
          empty={
            <Empty icon="review" title="No screening matches">
              With <code>screening.url</code> each deposit and payment waits for an answer, or for a decision here.
            </Empty>
          }
        />
      </Card>
    </ReviewFrame>
  )
}

export function ScreeningPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/screening/${id}`)
  if (document === undefined) return <NotLoaded title="Screening" back={BACK} problem={problem} retry={reload} />
  const { kind, status, amount, asset, customer_id, destination, deposit_id, orchestration_id } = document
  return (
    <>
      <PageHead
        title={`Screening: ${kind}`}
        back={BACK}
        lead={
          <>
            <Amount of={amount} asset={asset} /> of <Customer id={customer_id} />
          </>
        }
      >
        <ScreeningActions screening={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <Card>
          <Facts
            rows={[
              ['Status', <Status key="s" of={status} />],
              ['Reason', document.reason],
              ['Last request', document.fault],
              [
                'Deposit',
                deposit_id && !orchestration_id && <Id key="d" of={deposit_id} to={`/money/deposits/${deposit_id}`} />,
              ],
              [
                'Orchestration',
                orchestration_id && (
                  <Id key="o" of={orchestration_id} to={`/money/orchestrations/${orchestration_id}`} />
                ),
              ],
              ['Asked', <Time key="a" at={document.asked_at} exact />],
              ['Requests', String(document.attempts)],
            ]}
          />
        </Card>
        {destination !== undefined && (
          <Card title="Payment to">
            <PlaceFacts of={destination as Place} />
          </Card>
        )}
        <DecisionsCard decisions={document.decisions} />
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function DecisionsCard({ decisions }: Pick<Screening, 'decisions'>) {
  if (decisions.length === 0) return null
  return (
    <Card title="Decisions" flush>
      <Table
        caption="Decisions, the latest last"
        items={decisions}
        keyOf={({ at, revision }) => `${at} ${revision}`}
        columns={[
          { name: 'Decision', show: ({ decision }) => words(decision) },
          { name: 'By', show: ({ by }) => by.replace('operator:', '') },
          { name: 'Reason', isWide: true, show: ({ reason }) => reason ?? '' },
          { name: 'Terms', isNumber: true, show: ({ revision }) => String(revision) },
          { name: 'At', show: ({ at }) => <Time at={at} exact /> },
        ]}
      />
    </Card>
  )
}

const CONSEQUENCES = {
  deposit: {
    ALLOW: 'The deposit is credited as if it had just arrived: its rule runs.',
    REJECT: 'The deposit stays held with an alarm. Whether it may be returned is another decision.',
  },
  payment: {
    ALLOW: 'The payment leaves when its other gates are open.',
    REJECT: 'The orchestration fails, and the money returns to the balance.',
  },
} as const

function ScreeningActions({ screening, reload }: { readonly screening: Screening; readonly reload: () => void }) {
  const { id, kind, status, amount, asset, destination, revision } = screening
  if (status === 'CLOSED' || !can('POST /screening/:id/decide')) return null
  const decide = (decision: 'ALLOW' | 'REJECT') =>
    ask({
      title: `${words(decision)} this ${kind}?`,
      consequence: (
        <>
          <p>{CONSEQUENCES[kind][decision]}</p>
          <p>
            <Amount of={amount} asset={asset} />
          </p>
          {destination !== undefined && <PlaceFacts of={destination as Place} />}
        </>
      ),
      confirm: words(decision),
      isDangerous: decision === 'REJECT',
      fourEyes: 'approvals',
      fields: [
        { name: 'note', label: 'Note', kind: 'long', hint: 'kept with the screening, never shown to the customer' },
      ],
      run: ({ note }) => call('POST', `/screening/${id}/decide`, { decision, note, revision }),
      done: () => {
        reload()
        return decision === 'ALLOW' ? 'It is allowed' : 'It was rejected'
      },
    })
  return (
    <>
      {status !== 'REJECTED' && (
        <button type="button" onClick={() => decide('REJECT')}>
          Reject
        </button>
      )}
      {status !== 'ALLOWED' && (
        <button type="button" class="primary" onClick={() => decide('ALLOW')}>
          Allow
        </button>
      )}
    </>
  )
}
