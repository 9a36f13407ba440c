/** What clients used in a period, by customer or by another group. A customer's row opens its usage by day. */
import { bytesText, count, durationText } from '../../base/format.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useList } from '../../base/resource.ts'
import { setQuery } from '../../base/router.ts'
import { CsvButton, type CsvColumn } from '../../ui/csv-button.tsx'
import { Customer, CustomerFilter } from '../../ui/customer.tsx'
import { filterOf, TextFilter } from '../../ui/filters.tsx'
import { Card, Empty, Id, PageHead } from '../../ui/parts.tsx'
import { type Column, ListTable } from '../../ui/table.tsx'

type Usage = Schema<'Usage'>
type Group = 'customer' | 'client' | 'market' | 'channel' | 'day'

const GROUPS: readonly (readonly [group: Group, column: Column<Usage>])[] = [
  [
    'customer',
    { name: 'Customer', show: ({ customer_id, customer_name }) => customer_name ?? <Customer id={customer_id} /> },
  ],
  ['client', { name: 'Client', show: ({ client_id = '' }) => <Id of={client_id} to={`/clients/${client_id}`} /> }],
  ['market', { name: 'Market', show: ({ market = '' }) => (market === '' ? 'none' : market) }],
  ['channel', { name: 'Channel', show: ({ channel }) => <code>{channel}</code> }],
  ['day', { name: 'Day (UTC)', show: ({ day }) => day }],
]

const SUMS: readonly Column<Usage>[] = [
  { name: 'Messages', isNumber: true, show: ({ messages }) => count(messages) },
  { name: 'Bytes', isNumber: true, show: (usage) => bytesText(usage.bytes) },
  { name: 'Connected', isNumber: true, show: ({ connection_seconds }) => durationText(connection_seconds * 1000) },
  { name: 'REST requests', isNumber: true, show: ({ rest_requests }) => count(rest_requests) },
  { name: 'Complete', show: ({ incomplete }) => (incomplete ? 'a process was lost' : 'yes') },
]

const CSV: readonly CsvColumn<Usage>[] = [
  { name: 'customer_id', text: ({ customer_id }) => customer_id },
  { name: 'customer_name', text: ({ customer_name }) => customer_name },
  { name: 'client_id', text: ({ client_id }) => client_id },
  { name: 'market', text: ({ market }) => market },
  { name: 'channel', text: ({ channel }) => channel },
  { name: 'day', text: ({ day }) => day },
  { name: 'messages', text: ({ messages }) => messages },
  { name: 'bytes', text: (usage) => usage.bytes },
  { name: 'connection_seconds', text: ({ connection_seconds }) => connection_seconds },
  { name: 'rest_requests', text: ({ rest_requests }) => rest_requests },
  { name: 'incomplete', text: ({ incomplete }) => String(incomplete) },
]

export function UsagePage() {
  const [group, column] = GROUPS.find(([name]) => name === filterOf('group')) ?? (GROUPS[0] as (typeof GROUPS)[number])
  const query = {
    customers: filterOf('customer'),
    from: dayStart(filterOf('from')),
    to: dayStart(filterOf('to')),
    group_by: group,
    order: 'ASC',
  }
  return (
    <>
      <PageHead
        title="Usage"
        lead="What clients used of the stream and the REST API, up to a minute ago. Without a period: this month, in UTC."
      >
        <CsvButton path="/usage" query={query} name="usage" columns={CSV} />
      </PageHead>
      <div class="filters">
        <CustomerFilter />
        <TextFilter name="from" label="From" placeholder="2026-11-01" />
        <TextFilter name="to" label="Before" placeholder="2026-12-01" />
        <label class="filter">
          <span>By</span>
          <select value={group} onChange={(event) => setQuery({ group: event.currentTarget.value })}>
            {GROUPS.map(([name]) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Card flush>
        <ListTable
          caption="Usage"
          list={useList('/usage', query)}
          keyOf={(usage) => keyOf(usage, group)}
          pathOf={
            group === 'customer'
              ? ({ customer_id = '' }) =>
                  `/usage?customer=${customer_id}&group=day&from=${filterOf('from')}&to=${filterOf('to')}`
              : undefined
          }
          columns={[column, ...SUMS]}
          empty={
            <Empty icon="usage" title="No usage">
              No client used the stream or the REST API in this period.
            </Empty>
          }
        />
      </Card>
    </>
  )
}

/** A day means its beginning. The service reports any other text. */
function dayStart(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
}

function keyOf({ customer_id, client_id, market, channel, day }: Usage, group: Group): string {
  return { customer: customer_id, client: client_id, market, channel, day }[group] ?? ''
}
