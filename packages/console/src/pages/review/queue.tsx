/**
 * One queue of everything that waits for a person, the oldest first, with its reason and its full destination. It is
 * read from the lists that the person may see, and opens each record, where the decision is made.
 */
import { Problem, type Query } from '../../base/api.ts'
import { plural, words } from '../../base/format.ts'
import type { ItemOf, ListPath } from '../../base/operator-api.ts'
import { type Resource, useGet } from '../../base/resource.ts'
import { can } from '../../base/session.ts'
import { Customer } from '../../ui/customer.tsx'
import { filterOf, SelectFilter } from '../../ui/filters.tsx'
import { Amount, Card, Empty, Loading, ProblemNote, Time } from '../../ui/parts.tsx'
import { type Place, PlaceFacts } from '../../ui/place.tsx'
import { Table } from '../../ui/table.tsx'
import { placeOf } from './destination.tsx'
import { ReviewFrame } from './lists.tsx'

/** A record that waits for a person. */
interface Waiting {
  readonly kind: string
  readonly path: string
  readonly since: string
  readonly reason: string
  readonly customerId?: string | undefined
  readonly amount?: string | undefined
  readonly asset?: string | undefined
  readonly destination?: Place | undefined
}

interface Source {
  readonly resource: Resource<unknown>
  readonly waiting: readonly Waiting[]
  readonly hasMore: boolean
}

const REFRESH_MILLISECONDS = 15_000
/** Per list. Older ones come first, so the rest appears when these are decided. */
export const WAITING_MAX = 100

export function QueuePage() {
  const sources = useSources()
  const kind = filterOf('kind')
  const all = sources.flatMap(({ waiting }) => waiting)
  const shown = all
    .filter((each) => kind === '' || each.kind === kind)
    .sort((left, right) => left.since.localeCompare(right.since))
  const hasMore = sources.some((source) => source.hasMore)
  const isLoading = sources.some(
    ({ resource: { document, problem } }) => document === undefined && problem === undefined,
  )
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter name="kind" label="Kind" options={[...new Set(all.map((each) => each.kind))].sort()} />
      </div>
      {sources.map(
        ({ resource: { problem, reload } }, index) =>
          problem instanceof Problem && <ProblemNote key={index} problem={problem} retry={reload} />,
      )}
      <Card flush>
        {isLoading && <Loading />}
        {!isLoading && shown.length === 0 && (
          <Empty
            icon="check"
            title={hasMore ? `Nothing among ${WAITING_MAX} of each list` : 'Nothing waits for a person'}
          >
            Accounts, destinations, rules, held money and requests for a second person appear here.
          </Empty>
        )}
        {shown.length > 0 && <QueueTable items={shown} />}
        {shown.length > 0 && (
          <footer class="pager">
            <span class="quiet num">
              {plural(shown.length, 'record')}
              {hasMore ? `, at most ${WAITING_MAX} of each list` : ', all of them'}
            </span>
          </footer>
        )}
      </Card>
    </ReviewFrame>
  )
}

function QueueTable({ items }: { readonly items: readonly Waiting[] }) {
  return (
    <Table
      caption="Everything that waits for a person"
      items={items}
      keyOf={({ path, kind }) => `${kind} ${path}`}
      pathOf={({ path }) => path}
      columns={[
        { name: 'Kind', show: ({ kind }) => kind },
        { name: 'Since', show: ({ since }) => <Time at={since} /> },
        { name: 'Reason', isWide: true, show: ({ reason }) => reason },
        { name: 'Customer', show: ({ customerId }) => <Customer id={customerId} /> },
        { name: 'Amount', isNumber: true, show: ({ amount, asset }) => <Amount of={amount} asset={asset} /> },
        {
          name: 'Destination',
          show: ({ destination }) => (destination === undefined ? '' : <PlaceFacts of={destination} />),
        },
      ]}
    />
  )
}

/** The lists, of which a page shows all or counts some. */
export function useSources(): readonly Source[] {
  return [
    useSource('/accounts', { summary_status: 'PENDING' }, ({ id, created_at, customer_id, identity_id }) => ({
      kind: 'Account',
      path: `/review/accounts/${id}`,
      since: created_at,
      reason: `${identity_id} has to be approved`,
      customerId: customer_id,
    })),
    useSource('/rules', { status: 'PENDING' }, (rule) => ({
      kind: 'Rule',
      path: `/review/rules/${rule.id}`,
      since: rule.created_at,
      reason: `${rule.nickname ?? rule.ref_id}: ${rule.source_asset} becomes ${rule.destination_asset}`,
      customerId: rule.customer_id,
      destination: rule.destination,
    })),
    useSource('/destinations', { status: 'PENDING' }, (destination) => ({
      kind: 'Destination',
      path: `/review/destinations/${destination.id}`,
      since: destination.created_at,
      reason: `${destination.nickname || destination.ref_id} has to be approved`,
      customerId: destination.customer_id,
      destination: placeOf(destination),
    })),
    useSource('/screening', { status: 'HELD' }, (screening) => ({
      kind: 'Screening',
      path: `/review/screening/${screening.id}`,
      since: screening.decided_at ?? screening.asked_at,
      reason: screening.reason ?? `the ${screening.kind} was ${words(screening.status).toLowerCase()}`,
      customerId: screening.customer_id,
      amount: screening.amount,
      asset: screening.asset,
      destination: screening.destination as Place | undefined,
    })),
    useSource('/deposits', { secondary_status: 'HELD' }, heldDepositWaiting),
    // The newest first: reversed deposits without a profile stay in this list for ever.
    useSource('/deposits', { unattributed: 'true', status: 'COMPLETED', order: 'DESC' }, unattributedDepositWaiting),
    useSource('/orchestrations', { waiting_for: 'HOLD' }, orchestrationWaiting),
    useSource('/orchestrations', { waiting_for: 'OPERATOR' }, orchestrationWaiting),
    useSource('/deliveries', { status: 'NEEDS_OPERATOR' }, returnWaiting),
    useSource('/change-requests', { status: 'PENDING' }, (request) => ({
      kind: 'Second person',
      path: `/review/requests/${request.id}`,
      since: request.created_at,
      reason: `${request.requested_by.replace('operator:', '')}: ${request.summary}`,
    })),
  ]
}

/** One list, when the person may read it. Records for which `waitingOf` returns undefined need no person. */
function useSource<Path extends ListPath>(
  path: Path,
  query: Query,
  waitingOf: (item: ItemOf<Path>) => Waiting | undefined,
): Source {
  const first = { order: 'ASC', ...query, limit: WAITING_MAX }
  const resource = useGet(can(`GET ${path}`) ? path : undefined, first, REFRESH_MILLISECONDS)
  const page = resource.document as { items: readonly ItemOf<Path>[]; next_page_cursor?: string } | undefined
  return {
    // Without the permission nothing is loaded, so there is nothing to wait for.
    resource: can(`GET ${path}`) ? resource : { ...resource, document: { items: [] } },
    waiting: page?.items.flatMap((item) => waitingOf(item) ?? []) ?? [],
    hasMore: page?.next_page_cursor !== undefined,
  }
}

/** A deposit that waits for the answer of the screening hook needs no person. One that was rejected does. */
function isAnsweredByHook({ gates = [] }: ItemOf<'/deposits'>): boolean {
  return gates.length > 0 && gates.every(({ code, detail }) => code === 'SCREENING' && !detail.includes('REJECT'))
}

/** A held one is in another list, a reversed one needs nothing more. */
function unattributedDepositWaiting(deposit: ItemOf<'/deposits'>): Waiting | undefined {
  return deposit.secondary_status === undefined ? depositWaiting(deposit) : undefined
}

function heldDepositWaiting(deposit: ItemOf<'/deposits'>): Waiting | undefined {
  return isAnsweredByHook(deposit) ? undefined : depositWaiting(deposit)
}

function depositWaiting({
  id,
  secondary_status,
  reason,
  gates,
  customer_id,
  amount,
  asset,
  occurred_at,
}: ItemOf<'/deposits'>): Waiting {
  const isHeld = secondary_status === 'HELD'
  const cause = gates?.map(({ detail }) => detail).join(', ') || reason
  return {
    kind: isHeld ? 'Held deposit' : 'Unattributed deposit',
    path: `/money/deposits/${id}`,
    since: occurred_at,
    reason: isHeld ? (cause ?? 'held') : 'no profile has its address or memo',
    customerId: customer_id,
    amount,
    asset,
  }
}

/** An orchestration's payment is in the orchestrations' lists. */
function returnWaiting({
  id,
  orchestration_id,
  updated_at,
  customer_id,
  amount,
  asset,
  destination,
}: ItemOf<'/deliveries'>): Waiting | undefined {
  if (orchestration_id !== undefined) return undefined
  return {
    kind: 'Return',
    path: `/money/deliveries/${id}`,
    since: updated_at,
    reason: 'it is not known whether the return was paid',
    customerId: customer_id,
    amount,
    asset,
    destination,
  }
}

function orchestrationWaiting({
  id,
  step,
  waiting_for,
  waiting_detail,
  gates,
  waiting_since,
  created_at,
  customer_id,
  source_amount,
  source_asset,
  destination_amount,
  destination_asset,
  destination,
}: ItemOf<'/orchestrations'>): Waiting {
  return {
    kind: step === 'deliver' ? 'Payment' : 'Conversion',
    path: `/money/orchestrations/${id}`,
    since: waiting_since ?? created_at,
    reason: gates?.map(({ detail }) => detail).join(', ') ?? waiting_detail ?? words(waiting_for ?? ''),
    customerId: customer_id,
    amount: destination_amount ?? source_amount,
    asset: destination_amount === undefined ? source_asset : destination_asset,
    destination,
  }
}
