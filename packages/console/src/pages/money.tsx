/** Money: deposits, orchestrations and deliveries in lists, each as CSV. */
import type { ComponentChildren } from 'preact'
import { call } from '../base/api.ts'
import { plural, wholeNumber, words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useList } from '../base/resource.ts'
import { location } from '../base/router.ts'
import { can, session } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { CsvButton } from '../ui/csv-button.tsx'
import { Customer, CustomerFilter } from '../ui/customer.tsx'
import { filterOf, SelectFilter, TextFilter } from '../ui/filters.tsx'
import { Amount, Badge, Card, Empty, Id, PageHead, Status, Tabs, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'
import { DELIVERY_CSV, DEPOSIT_CSV, ORCHESTRATION_CSV } from './money-csv.ts'
import { destinationText } from './rule-text.ts'

const TABS = [
  { path: '/money/deposits', label: 'Deposits', needs: 'GET /deposits' },
  { path: '/money/orchestrations', label: 'Orchestrations', needs: 'GET /orchestrations' },
  { path: '/money/deliveries', label: 'Deliveries', needs: 'GET /deliveries' },
  { path: '/money/balances', label: 'Balances', needs: 'GET /profiles/:id/balances' },
  { path: '/money/desk', label: 'Desk', needs: 'GET /desk' },
  { path: '/money/entries', label: 'Entries', needs: 'GET /ledger/entries' },
  { path: '/money/controls', label: 'Pause', needs: 'GET /controls' },
] as const

export function MoneyFrame({
  actions,
  children,
}: {
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <>
      <PageHead title="Money" lead="What arrived, what became of it, and what leaves.">
        {actions}
      </PageHead>
      <Tabs
        label="Money"
        items={TABS.filter(({ needs }) => can(needs))}
        current={location.value.path === '/money' ? '/money/deposits' : location.value.path}
      />
      {children}
    </>
  )
}

export function DepositsPage() {
  const query = {
    status: filterOf('status'),
    secondary_status: filterOf('secondary'),
    customer_id: filterOf('customer'),
    profile_id: filterOf('profile'),
    asset: filterOf('asset'),
    unattributed: filterOf('unattributed'),
  }
  const list = useList('/deposits', query)
  return (
    <MoneyFrame actions={<CsvButton path="/deposits" query={query} name="deposits" columns={DEPOSIT_CSV} />}>
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PENDING', 'COMPLETED', 'FAILED']} />
        <SelectFilter name="secondary" label="Further status" options={['HELD', 'REJECTED', 'REVERSED', 'RETURNED']} />
        <SelectFilter
          name="unattributed"
          label="Owner"
          options={[
            ['true', 'Unattributed'],
            ['false', 'Attributed'],
          ]}
        />
        <CustomerFilter />
        <TextFilter name="profile" label="Profile" />
        <TextFilter name="asset" label="Asset" placeholder="such as USDC" />
      </div>
      <Card flush>
        <ListTable
          caption="Deposits"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/money/deposits/${id}`}
          columns={[
            { name: 'Amount', isNumber: true, show: ({ amount, asset }) => <Amount of={amount} asset={asset} /> },
            { name: 'Status', show: (deposit) => <DepositState deposit={deposit} /> },
            {
              name: 'Customer',
              show: ({ customer_id }) =>
                customer_id === undefined ? <Badge tone="warn">Unattributed</Badge> : <Customer id={customer_id} />,
            },
            { name: 'Handled', show: ({ disposition }) => (disposition === undefined ? '' : words(disposition.code)) },
            { name: 'Network', show: ({ crypto, fiat }) => words(crypto?.network ?? fiat?.network ?? '') },
            { name: 'Occurred', show: ({ occurred_at }) => <Time at={occurred_at} exact /> },
          ]}
          empty={
            <Empty icon="money" title="No deposit matches">
              Custody and banks report deposits to <code>POST /admin/v1/deposits</code>. Each payment is credited once.
            </Empty>
          }
        />
      </Card>
    </MoneyFrame>
  )
}

export function DepositState({ deposit: { status, secondary_status } }: { readonly deposit: Schema<'Deposit'> }) {
  return <Status of={secondary_status ?? status} />
}

const WAITS = [
  'PRICE',
  'PEG',
  'SLIPPAGE',
  'DESK_LIMIT',
  'HOLD',
  'APPROVAL',
  'DESTINATION',
  'LIMIT',
  'SCREENING',
  'PAUSED',
  'OPERATOR',
]

export function OrchestrationsPage() {
  const query = {
    status: filterOf('status'),
    waiting_for: filterOf('waiting'),
    customer_id: filterOf('customer'),
    profile_id: filterOf('profile'),
    orchestration_rule_id: filterOf('rule'),
  }
  const list = useList('/orchestrations', query)
  return (
    <MoneyFrame
      actions={<CsvButton path="/orchestrations" query={query} name="orchestrations" columns={ORCHESTRATION_CSV} />}
    >
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PROCESSING', 'COMPLETED', 'FAILED']} />
        <SelectFilter name="waiting" label="Waits for" options={WAITS} />
        <CustomerFilter />
        <TextFilter name="profile" label="Profile" />
        <TextFilter name="rule" label="Rule" />
      </div>
      <Card flush>
        <ListTable
          caption="Orchestrations"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/money/orchestrations/${id}`}
          columns={[
            {
              name: 'From',
              isNumber: true,
              show: ({ source_amount, source_asset }) => <Amount of={source_amount} asset={source_asset} />,
            },
            {
              name: 'To',
              isNumber: true,
              show: ({ destination_amount, destination_asset }) =>
                destination_amount === undefined ? (
                  <span class="quiet">{destination_asset}</span>
                ) : (
                  <Amount of={destination_amount} asset={destination_asset} />
                ),
            },
            { name: 'Status', show: ({ status }) => <Status of={status} /> },
            { name: 'Waits for', show: ({ waiting_for }) => (waiting_for === undefined ? '' : words(waiting_for)) },
            { name: 'Destination', show: ({ destination }) => destinationText(destination) },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} exact /> },
          ]}
          empty={
            <Empty icon="money" title="No orchestration matches">
              An orchestration converts a deposit by a rule and delivers the result.
            </Empty>
          }
        />
      </Card>
    </MoneyFrame>
  )
}

export function DeliveriesPage() {
  const query = {
    status: filterOf('status'),
    profile_id: filterOf('profile'),
    orchestration_id: filterOf('orchestration'),
    executor: filterOf('executor'),
  }
  const list = useList('/deliveries', query)
  return (
    <MoneyFrame
      actions={
        <>
          <CsvButton path="/deliveries" query={query} name="deliveries" columns={DELIVERY_CSV} />
          {can('POST /deliveries/claim') && (
            <button type="button" onClick={() => askClaim(list.reload)}>
              Claim
            </button>
          )}
        </>
      }
    >
      <div class="filters">
        <SelectFilter
          name="status"
          label="Status"
          options={['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR', 'SETTLED', 'FAILED']}
        />
        <TextFilter name="executor" label="Executor" />
        <TextFilter name="profile" label="Profile" />
        <TextFilter name="orchestration" label="Orchestration" />
      </div>
      <Card flush>
        <ListTable
          caption="Deliveries"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/money/deliveries/${id}`}
          columns={[
            { name: 'Amount', isNumber: true, show: ({ amount, asset }) => <Amount of={amount} asset={asset} /> },
            { name: 'Status', show: ({ status }) => <Status of={status} /> },
            { name: 'To', show: ({ destination }) => destinationText(destination) },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Executor', show: ({ executor }) => executor ?? '' },
            { name: 'Reference', show: ({ reference }) => <Id of={reference} /> },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} exact /> },
          ]}
          empty={
            <Empty icon="money" title="No delivery matches">
              A delivery is a payment that leaves: an executor claims it, pays it, and reports the result.
            </Empty>
          }
        />
      </Card>
    </MoneyFrame>
  )
}

const CLAIM_MAX = 100
/** How long a person's claim on a delivery lasts. */
export const LEASE_SECONDS = 3_600

/** Hands due deliveries to the person, who pays them by hand. */
function askClaim(done: () => void): void {
  ask({
    title: 'Claim deliveries to pay them by hand',
    consequence: (
      <p>
        The oldest due deliveries are yours for one hour: no executor pays them meanwhile. Pay each, then settle it with
        the payment reference, or fail it. After the hour others may claim them: look each up before you pay late.
      </p>
    ),
    confirm: 'Claim',
    fields: [{ name: 'limit', label: 'How many at most', kind: 'number', initial: '1', hint: `1 to ${CLAIM_MAX}` }],
    run: ({ limit }) => {
      const executor = session.value?.operator.name
      return call('POST', '/deliveries/claim', { executor, limit: wholeNumber(limit), lease_seconds: LEASE_SECONDS })
    },
    done: ({ items }) => {
      done()
      return items.length === 0 ? 'No delivery is due' : `${plural(items.length, 'delivery', 'deliveries')} claimed`
    },
  })
}
