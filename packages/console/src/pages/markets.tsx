/** All markets in a table, and the live ladders for up to three of them side by side. */
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href, location, setQuery } from '../base/router.ts'
import { Ladder } from '../live/ladder.tsx'
import { useFeedValue } from '../live/use-feed.ts'
import { Badge, Card, Empty, Loading, PageHead, ProblemNote } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { MARKET_COLUMNS } from './overview.tsx'

const REFRESH_MILLISECONDS = 3_000
const LADDERS_MAX = 3

export function MarketsPage() {
  const markets = useGet('/markets', undefined, REFRESH_MILLISECONDS)
  const items = markets.document?.items
  const chosen = chosenOf(items)
  return (
    <>
      <PageHead title="Markets" lead="The books as customers see them, live." />
      <div class="stack">
        {markets.problem !== undefined && <ProblemNote problem={markets.problem} retry={markets.reload} />}
        {items === undefined && markets.problem === undefined && <Loading />}
        {items?.length === 0 && (
          <Empty icon="markets" title="No market is configured">
            Name markets and their sources in the setting <code>markets</code>. A reload (SIGHUP) adds them without a
            restart.
          </Empty>
        )}
        {items !== undefined && items.length > 0 && (
          <>
            <div class="choices" role="group" aria-label="Ladders to show">
              {items.map(({ symbol }) => {
                const isChosen = chosen.includes(symbol)
                return (
                  <button
                    key={symbol}
                    type="button"
                    aria-pressed={isChosen}
                    disabled={!isChosen && chosen.length >= LADDERS_MAX}
                    onClick={() => choose(chosen, symbol)}
                  >
                    {symbol}
                  </button>
                )
              })}
            </div>
            <div class="ladders">
              {chosen.map((symbol) => (
                <LadderCard
                  key={symbol}
                  symbol={symbol}
                  hasSource={items.find((each) => each.symbol === symbol)?.live}
                />
              ))}
            </div>
            <Card title="All markets" flush>
              <Table
                caption="All markets"
                items={items}
                keyOf={({ symbol }) => symbol}
                pathOf={({ symbol }) => `/markets/${symbol}`}
                columns={MARKET_COLUMNS}
              />
            </Card>
          </>
        )}
      </div>
    </>
  )
}

/** The markets named in the address, otherwise the first ones. */
function chosenOf(items: readonly Schema<'Market'>[] | undefined): readonly string[] {
  const known = items?.map(({ symbol }) => symbol) ?? []
  const given = location.value.query.get('show')
  if (given === null) return known.slice(0, LADDERS_MAX)
  return given
    .split(',')
    .filter((symbol) => known.includes(symbol))
    .slice(0, LADDERS_MAX)
}

function choose(chosen: readonly string[], symbol: string): void {
  const next = chosen.includes(symbol) ? chosen.filter((each) => each !== symbol) : [...chosen, symbol]
  setQuery({ show: next.length === 0 ? '-' : next.join(',') })
}

function LadderCard({ symbol, hasSource }: { readonly symbol: string; readonly hasSource: boolean | undefined }) {
  return (
    <Card
      title={
        <a class="row-link" href={href(`/markets/${symbol}`)}>
          {symbol}
        </a>
      }
      actions={<FeedState symbol={symbol} hasSource={hasSource} />}
    >
      <Ladder symbol={symbol} />
    </Card>
  )
}

const STATE_TONES = { live: 'good', stale: 'bad', resyncing: 'warn', connecting: 'info' } as const
const STATE_TEXTS = { live: 'Live', stale: 'No live source', resyncing: 'Resyncing', connecting: 'Connecting' } as const

/** @param hasSource from the market list, because the stream sends nothing for a market that never had a book */
export function FeedState({
  symbol,
  hasSource,
}: {
  readonly symbol: string
  readonly hasSource?: boolean | undefined
}) {
  const received = useFeedValue(symbol, (feed) => feed.status)
  const status = received === 'connecting' && hasSource === false ? 'stale' : received
  const reason = useFeedValue(symbol, (feed) => feed.reason)
  return (
    <span title={reason}>
      <Badge tone={STATE_TONES[status]}>{STATE_TEXTS[status]}</Badge>
    </span>
  )
}
