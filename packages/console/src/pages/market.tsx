/** One market: candles, depth, ladder, tape, and its sources. */
import { count, plural } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { CandleChart, DepthChart } from '../charts/lazy.tsx'
import { Ladder } from '../live/ladder.tsx'
import { NoLiveSource } from '../live/no-live-source.tsx'
import { Tape } from '../live/tape.tsx'
import { Badge, Card, Empty, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { FeedState } from './markets.tsx'
import { PastBookCard } from './past-book.tsx'

const REFRESH_MILLISECONDS = 2_000

const BACK = { path: '/markets', label: 'Markets' }

export function MarketPage({ symbol }: { readonly symbol: string }) {
  const markets = useGet('/markets', undefined, REFRESH_MILLISECONDS)
  const market = markets.document?.items.find((each) => each.symbol === symbol)
  if (markets.document !== undefined && market === undefined) {
    return (
      <>
        <PageHead title={symbol} back={BACK} />
        <Empty icon="markets" title={`There is no market ${symbol}`}>
          Markets: {markets.document.items.map((each) => each.symbol).join(', ') || 'none is configured'}.
        </Empty>
      </>
    )
  }
  return (
    <>
      <PageHead title={symbol} back={BACK} lead={<MarketLead market={market} />}>
        <FeedState symbol={symbol} hasSource={market?.live} />
      </PageHead>
      {markets.problem !== undefined && <ProblemNote problem={markets.problem} retry={markets.reload} />}
      {market?.live === false && <NoLiveSource market={market} />}
      <div class="market">
        <Card title="Book" className="market-book">
          <Ladder symbol={symbol} rows={16} />
        </Card>
        <div class="stack market-charts">
          <Card title="Price" note="candles of executions, UTC">
            <CandleChart symbol={symbol} />
          </Card>
          <Card title="Depth" note="the sum up to each price">
            <DepthChart symbol={symbol} />
          </Card>
        </div>
        <Card title="Executions" className="market-tape">
          <Tape symbol={symbol} rows={34} />
        </Card>
      </div>
      <div class="stack below">
        {market !== undefined && <Sources market={market} />}
        <PastBookCard key={symbol} symbol={symbol} />
      </div>
    </>
  )
}

function MarketLead({ market }: { readonly market: Schema<'Market'> | undefined }) {
  if (market === undefined) return null
  const { depth, subscribers, bid_levels, ask_levels } = market
  const published = depth === 0 ? 'all levels published' : `${count(depth)} levels per side published`
  return (
    <>
      {published}, {plural(bid_levels, 'bid')} and {plural(ask_levels, 'ask')}, {plural(subscribers, 'subscriber')}
    </>
  )
}

function Sources({ market }: { readonly market: Schema<'Market'> }) {
  const { source_states, version, committed_at } = market
  const note =
    committed_at === undefined ? (
      'no book yet'
    ) : (
      <>
        version {count(version)}, last change <Time at={committed_at} />
      </>
    )
  return (
    <Card title="Sources" flush note={note}>
      <Table
        caption={`Sources of ${market.symbol}`}
        items={source_states}
        keyOf={({ source }) => source}
        columns={[
          { name: 'Source', show: ({ source }: Schema<'MarketSource'>) => <span class="mono">{source}</span> },
          {
            name: 'State',
            show: (source: Schema<'MarketSource'>) => (
              <Badge tone={source.live ? 'good' : 'bad'}>{source.live ? 'In the book' : 'Not in the book'}</Badge>
            ),
          },
          ...(source_states.length < 2 ? [] : sharedColumns(source_states)),
          { name: 'Proof', show: ({ proof }: Schema<'MarketSource'>) => proof },
          { name: 'Since', show: ({ since }: Schema<'MarketSource'>) => <Time at={since} /> },
          {
            name: 'Notes',
            isWide: true,
            show: (source: Schema<'MarketSource'>) => [source.reason, ...source.notices].filter(Boolean).join('; '),
          },
        ]}
      />
    </Card>
  )
}

/** Only with several sources: what each one contributes. A price level from several sources counts for each. */
function sharedColumns(sources: readonly Schema<'MarketSource'>[]) {
  const all = sources.reduce((sum, { levels = 0 }) => sum + levels, 0)
  return [
    {
      name: 'Share of the levels',
      show: ({ levels = 0 }: Schema<'MarketSource'>) => (
        <label class="share">
          <meter min={0} max={all || 1} value={levels} />
          <span class="num">{all === 0 ? '0 %' : `${Math.round((levels * 100) / all)} %`}</span>
          <span class="num quiet">{levels}</span>
        </label>
      ),
    },
    { name: 'Last message', show: ({ heard_at }: Schema<'MarketSource'>) => <Time at={heard_at} /> },
  ]
}
