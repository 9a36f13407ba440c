/** A profile's balances, and its statement for a period. */
import { useState } from 'preact/hooks'
import { get, Problem } from '../base/api.ts'
import { grouped } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href, navigate } from '../base/router.ts'
import { CsvOfRows } from '../ui/csv-button.tsx'
import { Amount, Card, Empty, Id, NotLoaded, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { MoneyFrame } from './money.tsx'

const ID = /^[0-9a-f-]{36}$/i

const BACK = { path: '/money/balances', label: 'Balances' }

/** Opens a profile by its id. */
export function BalancesPage() {
  const [text, setText] = useState('')
  const open = (event: Event) => {
    event.preventDefault()
    navigate(`/money/profiles/${text.trim().toLowerCase()}`)
  }
  return (
    <MoneyFrame>
      <Card title="A profile's balances and statement">
        <form class="filters" onSubmit={open}>
          <label class="filter grow">
            <span>Profile id</span>
            <input
              value={text}
              title="an id with 36 characters"
              pattern={`\\s*${ID.source.slice(1, -1)}\\s*`}
              required
              spellcheck={false}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <button type="submit">Open</button>
        </form>
        <p class="quiet">
          A <a href={href('/customers')}>customer's</a> page lists its profiles.
        </p>
      </Card>
    </MoneyFrame>
  )
}

export function ProfilePage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/profiles/${id}/balances`)
  if (document === undefined) return <NotLoaded title="Profile" back={BACK} problem={problem} retry={reload} />
  const { items } = document
  const hasDebt = items.some(({ receivable }) => receivable !== '0')
  return (
    <>
      <PageHead title="Profile" back={BACK} lead={<Id of={id} />} />
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <Card
          title="Balances"
          flush
          actions={<CsvOfRows items={items} name={`balances-${id}`} columns={BALANCE_CSV} />}
        >
          {items.length === 0 ? (
            <Empty icon="money" title="This profile never had money">
              Deposits to its addresses and memos appear here.
            </Empty>
          ) : (
            <Table
              caption="Balances"
              items={items}
              keyOf={({ asset }) => asset}
              columns={[
                { name: 'Asset', show: ({ asset }) => asset },
                { name: 'Available', isNumber: true, show: ({ available }) => <Amount of={available} /> },
                { name: 'In transit', isNumber: true, show: ({ in_transit }) => <Amount of={in_transit} /> },
                { name: 'Held', isNumber: true, show: ({ held }) => <Amount of={held} /> },
                ...(hasDebt
                  ? [
                      {
                        name: 'Owed',
                        isNumber: true,
                        show: ({ receivable }: Schema<'OperatorBalance'>) => <Amount of={receivable} />,
                      },
                    ]
                  : []),
              ]}
            />
          )}
        </Card>
        <StatementCard id={id} />
      </div>
    </>
  )
}

const BALANCE_CSV = (['asset', 'available', 'in_transit', 'held', 'receivable'] as const).map((name) => ({
  name,
  text: (balance: Schema<'OperatorBalance'>) => balance[name],
}))

/** The first day of this month, and the day after today. */
function defaultPeriod(): { from: string; to: string } {
  const now = new Date()
  const dayText = (time: number) => new Date(time).toISOString().slice(0, 10)
  return {
    from: dayText(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
    to: dayText(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)),
  }
}

function StatementCard({ id }: { readonly id: string }) {
  const [period, setPeriod] = useState(defaultPeriod)
  const [statement, setStatement] = useState<Schema<'Statement'>>()
  const [problem, setProblem] = useState<Problem>()
  const load = async (event: Event) => {
    event.preventDefault()
    setProblem(undefined)
    try {
      const query = { from: `${period.from}T00:00:00Z`, to: `${period.to}T00:00:00Z` }
      setStatement(await get(`/profiles/${id}/statement`, query))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
  }
  const days = [statement?.from, statement?.to].map((time) => time?.slice(0, 10))
  const rows = statement?.assets.flatMap(({ asset, lines }) => lines.map((line) => ({ asset, ...line }))) ?? []
  return (
    <Card
      title="Statement"
      note={statement === undefined ? 'UTC, without the last day' : `UTC, from ${days[0]} and before ${days[1]}`}
      flush
      actions={<CsvOfRows items={rows} name={`statement-${[id, ...days].join('-')}`} columns={STATEMENT_CSV} />}
    >
      <form class="filters padded" onSubmit={(event) => void load(event)}>
        {(['from', 'to'] as const).map((name) => (
          <label class="filter" key={name}>
            <span>{name === 'from' ? 'From' : 'Until'}</span>
            <input
              type="date"
              required
              value={period[name]}
              onInput={(event) => setPeriod({ ...period, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <button type="submit">Show</button>
      </form>
      {problem !== undefined && <ProblemNote problem={problem} />}
      {statement?.assets.length === 0 && <NoPostings />}
      {statement?.assets.map(({ asset, opening, closing, lines }) => (
        <section key={asset} class="statement">
          <h3>
            {asset}{' '}
            <span class="quiet num">
              opening balance {grouped(opening.balance)}, closing balance {grouped(closing.balance)}
            </span>
          </h3>
          <Table
            caption={`Statement of ${asset}`}
            items={lines}
            keyOf={({ posting_id }) => posting_id}
            columns={[
              { name: 'Time (UTC)', show: ({ effective_at }) => <Time at={effective_at} exact /> },
              {
                name: 'Movement',
                show: ({ debit, credit }) => `${debit.replace('_', ' ')} → ${credit.replace('_', ' ')}`,
              },
              { name: 'Amount', isNumber: true, show: ({ amount }) => <Amount of={amount} /> },
              { name: 'Change', isNumber: true, show: ({ change }) => <Amount of={change} /> },
              { name: 'Balance', isNumber: true, show: ({ balance }) => <Amount of={balance} /> },
              { name: 'Record', show: ({ group_id }) => <Id of={group_id} /> },
            ]}
          />
        </section>
      ))}
    </Card>
  )
}

function NoPostings() {
  return (
    <Empty title="Nothing happened in this period">
      No posting changed this profile's balances. The last day is not included.
    </Empty>
  )
}

const STATEMENT_CSV = (
  ['asset', 'posting_id', 'effective_at', 'group_id', 'debit', 'credit', 'amount', 'change', 'balance'] as const
).map((name) => ({ name, text: (line: Schema<'StatementLine'> & { readonly asset: string }) => line[name] }))
