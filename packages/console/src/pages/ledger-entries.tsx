/** Ledger entries: the hedges, funding, fees, costs and debts booked by the operator, and the dialogs to book more. */
import { call } from '../base/api.ts'
import { grouped, words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useList } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask, type Field, type Values } from '../ui/action-dialog.tsx'
import { filterOf, SelectFilter, TextFilter } from '../ui/filters.tsx'
import { Icon } from '../ui/icons.tsx'
import { Amount, Badge, Card, Empty, Id, Time } from '../ui/parts.tsx'
import { Exact } from '../ui/place.tsx'
import { ListTable } from '../ui/table.tsx'
import { MoneyFrame } from './money.tsx'

type Entry = Schema<'LedgerEntry'>

interface Kind {
  readonly name: string
  readonly meaning: string
  /** The labels for its amount fields. */
  readonly legs: readonly (readonly [label: string, direction?: 'IN' | 'OUT'])[]
  readonly isAboutProfile?: boolean
}

const KINDS: Readonly<Record<Entry['kind'], Kind>> = {
  desk_hedge: {
    name: 'Hedge',
    meaning: 'the desk has bought one asset for another elsewhere',
    legs: [
      ['bought', 'IN'],
      ['sold', 'OUT'],
    ],
  },
  desk_funding: { name: 'Funding', meaning: 'the desk has received own money', legs: [['received', 'IN']] },
  desk_withdrawal: { name: 'Withdrawal', meaning: 'own money has left the desk', legs: [['withdrawn', 'OUT']] },
  fee_sweep: { name: 'Fee sweep', meaning: 'collected fees were moved out', legs: [['moved out', 'OUT']] },
  network_cost: { name: 'Network cost', meaning: 'the desk has paid for a transaction', legs: [['paid', 'OUT']] },
  debt_repayment: {
    name: 'Debt repayment',
    meaning: "a profile's debt is repaid from its available balance",
    legs: [['repaid']],
    isAboutProfile: true,
  },
  write_off: {
    name: 'Write-off',
    meaning: "the desk bears a profile's debt for good",
    legs: [['written off']],
    isAboutProfile: true,
  },
}

const KIND_OPTIONS = Object.entries(KINDS).map(([kind, { name }]) => [kind, name] as const)

export function LedgerEntriesPage() {
  const list = useList('/ledger/entries', {
    kind: filterOf('kind'),
    reference: filterOf('reference'),
    profile_id: filterOf('profile'),
    order: 'DESC',
  })
  return (
    <MoneyFrame
      actions={
        can('POST /ledger/entries') && (
          <button type="button" onClick={() => askEntry(list.reload)}>
            <Icon name="plus" /> New entry
          </button>
        )
      }
    >
      <div class="filters">
        <SelectFilter name="kind" label="Kind" options={KIND_OPTIONS} />
        <TextFilter name="reference" label="Reference" />
        <TextFilter name="profile" label="Profile" />
      </div>
      <Card flush>
        <ListTable
          caption="Ledger entries"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Kind', show: ({ kind }) => KINDS[kind].name },
            { name: 'Amounts', show: ({ kind, legs }) => <Legs kind={kind} legs={legs} /> },
            { name: 'Profile', show: ({ profile_id: id }) => <Id of={id} to={`/money/profiles/${id}`} /> },
            { name: 'Reference', show: ({ reference }) => <Id of={reference} /> },
            { name: 'Reason', isWide: true, show: ({ reason }) => <span class="break">{reason}</span> },
            {
              name: 'Happened',
              show: ({ effective_at, created_at }) => <Time at={effective_at ?? created_at} exact />,
            },
            { name: 'Booked', show: ({ created_at }) => <Time at={created_at} exact /> },
            { name: 'State', show: (entry) => <State entry={entry} reload={list.reload} /> },
          ]}
          empty={
            <Empty icon="money" title="No entry matches">
              An entry books what happened outside the service: a hedge, funding, a withdrawal, fees, costs, or a debt.
            </Empty>
          }
        />
      </Card>
    </MoneyFrame>
  )
}

function Legs({ kind, legs }: Pick<Entry, 'kind' | 'legs'>) {
  const labelOf = (direction: 'IN' | 'OUT' | undefined) => KINDS[kind].legs.find(([, of]) => of === direction)?.[0]
  return (
    <>
      {legs.map(({ asset, amount, direction }) => (
        <div key={asset}>
          {labelOf(direction) ?? (direction === 'IN' ? 'in' : 'out')} <Amount of={amount} asset={asset} />
        </div>
      ))}
    </>
  )
}

function State({ entry, reload }: { readonly entry: Entry; readonly reload: () => void }) {
  if (entry.reverses !== undefined) return <Badge>Reversal</Badge>
  if (entry.reversed_by !== undefined) return <Badge tone="warn">Reversed</Badge>
  if (!can('POST /ledger/entries/:id/reverse')) return null
  return (
    <button type="button" class="bare text" onClick={() => askReversal(entry, reload)}>
      Reverse
    </button>
  )
}

const text = (value: Values[string] | undefined) => String(value ?? '').trim()

function askEntry(reload: () => void): void {
  const kindOf = ({ kind = KIND_OPTIONS[0]?.[0] }: Values) => kind as Entry['kind']
  ask({
    title: 'New ledger entry',
    consequence: <p>It books what has happened outside the service, and makes no payment. It can be reversed.</p>,
    confirm: 'Book',
    fourEyes: 'deposits',
    fields: (_, values) => {
      const kind = KINDS[kindOf(values)]
      return [
        { name: 'kind', label: 'Kind', kind: 'select', options: KIND_OPTIONS, hint: kind.meaning },
        ...(kind.isAboutProfile ? [PROFILE] : []),
        ...kind.legs.flatMap(([label], index): Field[] => [
          { name: `amount-${index}`, label: `Amount ${label}` },
          { name: `asset-${index}`, label: `Asset ${label}`, hint: 'such as USDC' },
        ]),
        REFERENCE,
        EFFECTIVE,
        REASON,
      ]
    },
    run: (values) => {
      const kind = kindOf(values)
      const { legs, isAboutProfile } = KINDS[kind]
      return call('POST', '/ledger/entries', {
        kind,
        legs: legs.map(([, direction], index) => ({
          asset: text(values[`asset-${index}`]),
          amount: text(values[`amount-${index}`]),
          ...(direction === undefined ? {} : { direction }),
        })),
        ...(isAboutProfile ? { profile_id: text(values.profile_id) } : {}),
        reference: text(values.reference),
        reason: values.reason,
        ...(text(values.effective_at) === '' ? {} : { effective_at: text(values.effective_at) }),
      })
    },
    done: () => {
      reload()
      return 'The entry was booked'
    },
  })
}

const PROFILE: Field = { name: 'profile_id', label: 'Profile', hint: "the indebted profile's id", isExact: true }
const REFERENCE: Field = {
  name: 'reference',
  label: 'Reference',
  hint: "your own name for it, such as the trade's id, booked only once",
}
const EFFECTIVE: Field = {
  name: 'effective_at',
  label: 'When it happened',
  isOptional: true,
  hint: 'such as 2026-11-24T09:30:00Z, or now if empty',
}
const REASON: Field = { name: 'reason', label: 'Reason', kind: 'long' }

function askReversal(entry: Entry, reload: () => void): void {
  const { id, kind, legs, reference, profile_id } = entry
  const amounts = legs.map(({ amount, asset }) => `${grouped(amount)} ${asset}`).join(', ')
  ask({
    title: `Reverse ${words(kind).toLowerCase()} of ${amounts}?`,
    consequence: (
      <>
        <p>A second entry takes its postings back. A reversal cannot be reversed.</p>
        {reference !== undefined && (
          <p>
            Reference <Exact of={reference} />
          </p>
        )}
        {profile_id !== undefined && (
          <p>
            Profile <Exact of={profile_id} />
          </p>
        )}
      </>
    ),
    confirm: 'Reverse',
    isDangerous: true,
    fourEyes: 'deposits',
    fields: [REASON],
    run: ({ reason }) => call('POST', `/ledger/entries/${id}/reverse`, { reason }),
    done: () => {
      reload()
      return 'The entry was reversed'
    },
  })
}
