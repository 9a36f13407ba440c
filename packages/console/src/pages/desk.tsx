/** The desk: the operator's own position in each asset, and the trade to close it. */
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { CsvOfRows } from '../ui/csv-button.tsx'
import { Amount, Badge, Card, Empty, Loading, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { MoneyFrame } from './money.tsx'

const REFRESH_MILLISECONDS = 10_000

export function DeskPage() {
  const desk = useGet('/desk', undefined, REFRESH_MILLISECONDS)
  const ledger = useGet('/ledger', undefined, REFRESH_MILLISECONDS)
  const items = desk.document?.items
  return (
    <MoneyFrame actions={<CsvOfRows items={items ?? []} name="desk" columns={DESK_CSV} />}>
      <div class="stack">
        {desk.problem !== undefined && <ProblemNote problem={desk.problem} retry={desk.reload} />}
        {items === undefined && desk.problem === undefined && <Loading />}
        <Card title="Positions" note="counterparty of all conversions" flush>
          {items?.length === 0 && (
            <Empty icon="money" title="No asset is configured">
              Name them in the setting <code>assets</code>.
            </Empty>
          )}
          {items !== undefined && items.length > 0 && (
            <Table
              caption="Positions of the desk"
              items={items}
              keyOf={({ asset }) => asset}
              columns={[
                { name: 'Asset', show: ({ asset }) => asset },
                { name: 'Position', isNumber: true, show: ({ position }) => <Amount of={position} /> },
                {
                  name: 'Closed by',
                  show: ({ hedge, asset }) =>
                    hedge === undefined ? (
                      <span class="quiet">nothing to do</span>
                    ) : (
                      <span>
                        {hedge.side === 'BUY' ? 'buy' : 'sell'} <Amount of={hedge.amount} asset={asset} />
                      </span>
                    ),
                },
                {
                  name: 'Limit',
                  isNumber: true,
                  show: ({ limit }) => (limit === undefined ? <span class="quiet">none</span> : <Amount of={limit} />),
                },
                { name: 'Will receive', isNumber: true, show: ({ committed }) => <Amount of={committed} /> },
                { name: 'Customers in transit', isNumber: true, show: ({ in_transit }) => <Amount of={in_transit} /> },
                { name: 'Owed by customers', isNumber: true, show: ({ receivable }) => <Amount of={receivable} /> },
              ]}
            />
          )}
        </Card>
        {ledger.problem !== undefined && <ProblemNote problem={ledger.problem} retry={ledger.reload} />}
        {ledger.document !== undefined && <LedgerCard ledger={ledger.document} />}
      </div>
    </MoneyFrame>
  )
}

function LedgerCard({ ledger }: { readonly ledger: Schema<'Ledger'> }) {
  const { compared_at, balances, overdue } = ledger
  const changed = ledger.changed_postings.map(({ first_id, last_id }) => ({
    account: `postings ${first_id} to ${last_id}`,
    asset: '',
    kept: 'changed after they had been read',
    recomputed: '',
  }))
  const differences = [...ledger.differences, ...changed]
  const isEqual = differences.length === 0
  return (
    <Card
      title="Ledger"
      note={`${balances} balances are compared with their postings all the time`}
      flush={!isEqual}
      actions={<LedgerState ledger={ledger} differing={differences.length} />}
    >
      {isEqual ? (
        <p class="quiet">
          {compared_at === undefined ? (
            `The first comparison is ${overdue ? 'not complete after an hour' : 'running'}.`
          ) : (
            <>
              Last complete comparison <Time at={compared_at} />.
            </>
          )}
        </p>
      ) : (
        <Table
          caption="Differences of the ledger"
          items={differences}
          keyOf={({ account, asset }) => account + asset}
          columns={[
            { name: 'Account', show: ({ account }) => account },
            { name: 'Asset', show: ({ asset }) => asset },
            { name: 'Kept', show: ({ kept }) => kept },
            { name: 'By postings or record', show: ({ recomputed }) => recomputed },
          ]}
        />
      )}
    </Card>
  )
}

/** Equal is said only of what was compared, within the last hour. */
function LedgerState({ ledger, differing }: { readonly ledger: Schema<'Ledger'>; readonly differing: number }) {
  if (differing > 0) return <Badge tone="bad">{`${differing} differ`}</Badge>
  if (ledger.overdue) return <Badge tone="bad">Overdue</Badge>
  if (ledger.compared_at === undefined) return <Badge>Not compared yet</Badge>
  return <Badge tone="good">All equal</Badge>
}

const DESK_CSV = [
  ...(['asset', 'position', 'limit', 'committed', 'in_transit', 'receivable'] as const).map((name) => ({
    name,
    text: (item: Schema<'DeskItem'>) => item[name],
  })),
  { name: 'hedge_side', text: ({ hedge }: Schema<'DeskItem'>) => hedge?.side },
  { name: 'hedge_amount', text: ({ hedge }: Schema<'DeskItem'>) => hedge?.amount },
]
