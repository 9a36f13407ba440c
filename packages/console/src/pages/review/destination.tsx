/** Destinations: the list, and one with its decision. Reading one shows full account numbers to those who may decide. */
import { call } from '../../base/api.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet, useList } from '../../base/resource.ts'
import { can } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer, CustomerFilter } from '../../ui/customer.tsx'
import { filterOf, SelectFilter } from '../../ui/filters.tsx'
import { Badge, Card, Empty, Facts, Id, NotLoaded, PageHead, ProblemNote, Status, Time } from '../../ui/parts.tsx'
import { Exact, type Place, PlaceFacts } from '../../ui/place.tsx'
import { ListTable } from '../../ui/table.tsx'
import { AuditCard } from '../audit.tsx'
import { PendingRequests } from '../pending-requests.tsx'
import { ReviewFrame } from './lists.tsx'

const BACK = { path: '/review/destinations', label: 'Destinations' }

type Destination = Schema<'Destination'>

export function DestinationsPage() {
  const list = useList('/destinations', {
    status: filterOf('status'),
    kind: filterOf('kind'),
    customer_id: filterOf('customer'),
    unverified: filterOf('unverified'),
    order: 'DESC',
  })
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PENDING', 'ACTIVE', 'REJECTED', 'DELETED']} />
        <SelectFilter
          name="kind"
          label="Kind"
          options={[
            ['CRYPTO', 'Address'],
            ['FIAT', 'Bank account'],
          ]}
        />
        <SelectFilter name="unverified" label="Verified" options={[['true', 'Not verified']]} />
        <CustomerFilter />
      </div>
      <Card flush>
        <ListTable
          caption="Destinations"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/review/destinations/${id}`}
          columns={[
            { name: 'Destination', isWide: true, show: (each) => <PlaceFacts of={placeOf(each)} /> },
            { name: 'Status', show: (each) => <DestinationStatus of={each} /> },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Reference', show: ({ nickname, ref_id }) => nickname || ref_id },
            { name: 'Usable from', show: ({ usable_at }) => <Time at={usable_at} exact /> },
          ]}
          empty={
            <Empty icon="review" title="No destination matches">
              Customers register where their money may go. New ones can be paid after the cooling time, and with{' '}
              <code>destinations.approval: required</code> after a decision here.
            </Empty>
          }
        />
      </Card>
    </ReviewFrame>
  )
}

/** With every character, and who gets the money first. */
export function placeOf({
  kind,
  address,
  crypto_network,
  fiat_network,
  owner,
  account,
  memo,
  memos,
}: Destination): Place {
  if (kind === 'CRYPTO') return { crypto: { address, memo, network: crypto_network } }
  const { name, type, address: place } = owner ?? {}
  const allowed = memos?.map((each) => (each === '' ? 'none' : each)).join(', ')
  return {
    fiat: {
      owner: name,
      owner_type: type,
      owner_address: place,
      ...account,
      memo: memo ?? allowed,
      network: fiat_network,
    },
  }
}

function DestinationStatus({ of: { status, unverified } }: { readonly of: Destination }) {
  return (
    <>
      <Status of={status} /> {unverified && <Badge tone="warn">Not verified</Badge>}
    </>
  )
}

export function DestinationPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/destinations/${id}`)
  if (document === undefined) return <NotLoaded title="Destination" back={BACK} problem={problem} retry={reload} />
  return (
    <>
      <PageHead
        title={document.nickname || document.ref_id}
        back={BACK}
        lead={
          <>
            {document.kind === 'CRYPTO' ? 'Address' : 'Bank account'} of <Customer id={document.customer_id} />
          </>
        }
      >
        <DestinationActions destination={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <Card title="Where the money would go">
          <PlaceFacts of={placeOf(document)} />
        </Card>
        <Card>
          <Facts
            rows={[
              ['Status', <DestinationStatus key="s" of={document} />],
              ['Reason for the rejection', document.reject_reason],
              ['Usable from', <Time key="u" at={document.usable_at} exact />],
              ['Id', <Id key="i" of={document.id} />],
              ["Customer's reference", <Exact key="r" of={document.ref_id} />],
              ['Registered', <Time key="c" at={document.created_at} exact />],
            ]}
          />
        </Card>
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function askApproval(destination: Destination, done: () => void): void {
  ask({
    title: `Approve ${destination.nickname || destination.ref_id}?`,
    consequence: (
      <>
        <p>
          From then on, and not before the time it is usable, this customer's money can be paid there. Compare every
          character with what the customer has confirmed outside this service:
        </p>
        <PlaceFacts of={placeOf(destination)} />
      </>
    ),
    confirm: 'Approve',
    fields: [
      {
        name: 'usable_at',
        label: 'Usable from',
        hint: 'another time, such as 2026-11-28T12:00:00Z: always needs a second person, and a reason',
        isOptional: true,
      },
      { name: 'reason', label: 'Reason', kind: 'long', isOptional: true, hint: 'kept in the audit trail' },
    ],
    fourEyes: 'approvals',
    run: ({ usable_at, reason }) =>
      call('POST', `/destinations/${destination.id}/approve`, {
        ...(usable_at === '' ? {} : { usable_at }),
        ...(reason === '' ? {} : { reason }),
      }),
    done: () => {
      done()
      return 'The destination is active'
    },
  })
}

function askRejection(destination: Destination, done: () => void): void {
  ask({
    title: `Reject ${destination.nickname || destination.ref_id}?`,
    consequence: (
      <>
        <p>Nothing is ever paid there. The customer sees the reason, and can register it again.</p>
        <PlaceFacts of={placeOf(destination)} />
      </>
    ),
    confirm: 'Reject',
    isDangerous: true,
    fourEyes: 'approvals',
    fields: [{ name: 'reason', label: 'Reason', kind: 'long' }],
    run: ({ reason }) => call('POST', `/destinations/${destination.id}/reject`, { reason }),
    done: () => {
      done()
      return 'The destination was rejected'
    },
  })
}

function DestinationActions({
  destination,
  reload,
}: {
  readonly destination: Destination
  readonly reload: () => void
}) {
  const { status, unverified } = destination
  return (
    <>
      {(status === 'PENDING' || status === 'ACTIVE') && can('POST /destinations/:id/reject') && (
        <button type="button" onClick={() => askRejection(destination, reload)}>
          Reject
        </button>
      )}
      {(status === 'PENDING' || unverified) && can('POST /destinations/:id/approve') && (
        <button type="button" class="primary" onClick={() => askApproval(destination, reload)}>
          Approve
        </button>
      )}
    </>
  )
}
