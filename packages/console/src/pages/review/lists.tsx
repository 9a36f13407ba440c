/** Review, beside its queue: accounts, rules, requests for a second person, address owners, and address pools. */
import type { ComponentChildren } from 'preact'
import { call, type Problem } from '../../base/api.ts'

import { count } from '../../base/format.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet, useList } from '../../base/resource.ts'
import { location } from '../../base/router.ts'
import { can } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer, CustomerFilter } from '../../ui/customer.tsx'
import { filterOf, SelectFilter, TextFilter } from '../../ui/filters.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Card, Empty, Id, PageHead, ProblemNote, Status, Tabs, Time } from '../../ui/parts.tsx'
import { ListTable, Table } from '../../ui/table.tsx'
import { routeText } from '../rule-text.ts'

export function ReviewFrame({ children }: { readonly children: ComponentChildren }) {
  const tabs = [
    { path: '/review', label: 'Queue' },
    { path: '/review/accounts', label: 'Accounts' },
    { path: '/review/destinations', label: 'Destinations' },
    { path: '/review/rules', label: 'Rules' },
    { path: '/review/screening', label: 'Screening' },
    ...(can('GET /change-requests') ? [{ path: '/review/requests', label: 'Four eyes' }] : []),
    { path: '/review/addresses', label: 'Addresses' },
  ]
  return (
    <>
      <PageHead title="Review" lead="What waits for a decision, and who owns which address." />
      <Tabs label="Review" items={tabs} current={location.value.path} />
      {children}
    </>
  )
}

export function AccountsPage() {
  const list = useList('/accounts', {
    summary_status: filterOf('status'),
    customer_id: filterOf('customer'),
    identity_id: filterOf('identity'),
    order: 'DESC',
  })
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PENDING', 'APPROVED', 'DENIED', 'ERROR', 'DISABLED']} />
        <CustomerFilter />
        <TextFilter name="identity" label="Identity" />
      </div>
      <Card flush>
        <ListTable
          caption="Accounts"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/review/accounts/${id}`}
          columns={[
            { name: 'Identity', show: ({ identity_id }) => identity_id },
            { name: 'Status', show: ({ summary_status }) => <Status of={summary_status} /> },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Type', show: ({ type }) => type.toLowerCase() },
            { name: 'Reference', show: ({ ref_id }) => ref_id ?? '' },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
          ]}
          empty={
            <Empty icon="review" title="No account matches">
              Customers create accounts through the API. Pending ones wait here for a decision.
            </Empty>
          }
        />
      </Card>
    </ReviewFrame>
  )
}

export function RulesPage() {
  const list = useList('/rules', { status: filterOf('status') })
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter name="status" label="Status" options={['PENDING', 'ACTIVE', 'REJECTED', 'DELETED']} />
      </div>
      <Card flush>
        <ListTable
          caption="Rules"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/review/rules/${id}`}
          columns={[
            { name: 'Rule', isWide: true, show: (rule) => routeText(rule) },
            { name: 'Status', show: ({ status }) => <Status of={status} /> },
            { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
            { name: 'Reference', show: ({ ref_id, nickname }) => nickname ?? ref_id },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
          ]}
          empty={
            <Empty icon="review" title="No rule matches">
              A rule states what happens to deposits. With <code>rules.approval: required</code> each new one waits
              here.
            </Empty>
          }
        />
      </Card>
    </ReviewFrame>
  )
}

export function RequestsPage() {
  const list = useList('/change-requests', { status: filterOf('status') })
  return (
    <ReviewFrame>
      <div class="filters">
        <SelectFilter
          name="status"
          label="Status"
          options={['PENDING', 'CONFIRMED', 'DECLINED', 'FAILED', 'EXPIRED']}
        />
      </div>
      <Card flush>
        <ListTable
          caption="Requests for a second person"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/review/requests/${id}`}
          columns={[
            { name: 'Change', show: ({ summary }) => summary },
            { name: 'Record', show: ({ subject }) => <Id of={subject} /> },
            { name: 'Status', show: ({ status }) => <Status of={status} /> },
            { name: 'Requested by', show: ({ requested_by }) => requested_by.replace('operator:', '') },
            { name: 'Requested', show: ({ created_at }) => <Time at={created_at} /> },
            {
              name: 'Expires',
              show: ({ expires_at, status }) => (status === 'PENDING' ? <Time at={expires_at} exact /> : ''),
            },
            { name: 'Decided by', show: ({ decided_by }) => decided_by?.replace('operator:', '') ?? '' },
          ]}
          empty={
            <Empty icon="operators" title="No request matches">
              With the setting <code>operator.four_eyes</code>, approvals, settlements or controls wait here for a
              second person.
            </Empty>
          }
        />
      </Card>
    </ReviewFrame>
  )
}

export function AddressesPage() {
  const address = filterOf('address')
  const owners = useGet(address === '' ? undefined : '/deposit-addresses', { address })
  const pools = useGet('/address-pool')
  return (
    <ReviewFrame>
      <div class="stack">
        <Card title="Address owner" note="in any notation">
          <AddressSearch />
          {owners.problem !== undefined && <ProblemNote problem={owners.problem} />}
          {owners.document?.items.length === 0 && (
            <Empty icon="search" title="No customer has this address">
              Payments to it do not arrive at this service.
            </Empty>
          )}
          {owners.document !== undefined && owners.document.items.length > 0 && (
            <Table
              caption="The address's owners"
              items={owners.document.items}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Address', show: (each) => <span class="mono break">{each.address}</span> },
                { name: 'Network', show: ({ crypto_network }) => crypto_network },
                { name: 'Customer', show: ({ customer_id }) => <Customer id={customer_id} /> },
                {
                  name: 'Account',
                  show: ({ account_id }) => <Id of={account_id} to={`/review/accounts/${account_id}`} />,
                },
                {
                  name: 'Profile',
                  show: ({ profile_id }) => <Id of={profile_id} to={`/money/profiles/${profile_id}`} />,
                },
                { name: 'Created', show: ({ created_at }) => <Time at={created_at} exact /> },
              ]}
            />
          )}
        </Card>
        <PoolsCard pools={pools.document?.items} problem={pools.problem} reload={pools.reload} />
      </div>
    </ReviewFrame>
  )
}

function AddressSearch() {
  return (
    <div class="filters">
      <div class="grow">
        <TextFilter name="address" label="Deposit address" placeholder="0x… or bc1…" />
      </div>
    </div>
  )
}

const POOL_NETWORKS = [
  ['SOLANA', 'Solana'],
  ['STELLAR', 'Stellar'],
] as const

function askImport(reload: () => void): void {
  ask({
    title: 'Import addresses',
    consequence: (
      <p>
        For networks whose addresses cannot be derived from a public key. Each address is given to one customer, once,
        and never returns to the pool. Addresses already known are not changed.
      </p>
    ),
    confirm: 'Import',
    fields: [
      { name: 'network', label: 'Network', kind: 'select', options: POOL_NETWORKS },
      { name: 'addresses', label: 'Addresses', kind: 'long', hint: 'one per line, at most 1,000' },
    ],
    run: ({ network, addresses }) =>
      call('POST', '/address-pool', {
        network,
        addresses: String(addresses)
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      }),
    done: () => {
      reload()
      return 'The addresses were imported'
    },
  })
}

function PoolsCard({
  pools,
  problem,
  reload,
}: {
  readonly pools: readonly Schema<'AddressPool'>[] | undefined
  readonly problem: Problem | undefined
  readonly reload: () => void
}) {
  return (
    <Card
      title="Address pools"
      flush
      actions={
        can('POST /address-pool') && (
          <button type="button" onClick={() => askImport(reload)}>
            <Icon name="plus" /> Import
          </button>
        )
      }
    >
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {pools?.length === 0 && (
        <Empty title="No address was imported">Only Solana and Stellar need pools. Other addresses are derived.</Empty>
      )}
      {pools !== undefined && pools.length > 0 && (
        <Table
          caption="Address pools"
          items={pools}
          keyOf={({ network }) => network}
          columns={[
            { name: 'Network', show: ({ network }) => network },
            { name: 'Left', isNumber: true, show: ({ free }) => count(free) },
            { name: 'Given out', isNumber: true, show: ({ used }) => count(used) },
            {
              name: 'Used',
              show: ({ free, used }) => (
                <meter
                  aria-label="Part given out"
                  min={0}
                  max={free + used || 1}
                  high={(free + used) * 0.9}
                  value={used}
                />
              ),
            },
          ]}
        />
      )}
    </Card>
  )
}
