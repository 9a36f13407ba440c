/**
 * This node's state at a glance: first the alarms, then connections, messages, latency and processor time with an hour
 * of history, then the markets.
 */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { bytesText, count, durationText, grouped, plural } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { HistoryChart } from '../charts/lazy.tsx'
import { basisPoints } from '../live/ladder.tsx'
import { Badge, Card, Loading, PageHead, ProblemNote, Time, useNow } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { Alarms } from './alarms.tsx'

const REFRESH_MILLISECONDS = 5_000

export function OverviewPage() {
  const overview = useGet('/overview', undefined, REFRESH_MILLISECONDS)
  const markets = useGet('/markets', undefined, REFRESH_MILLISECONDS)
  const now = useNow(10_000)
  const { document: node } = overview
  const last = node?.history.at(-1)
  return (
    <>
      <PageHead
        title="Overview"
        lead={
          node === undefined
            ? 'This node'
            : `Tidegate ${node.version}, running for ${durationText(now - Date.parse(node.started_at))}`
        }
      >
        {node !== undefined && <Badge tone={node.ready ? 'good' : 'bad'}>{node.ready ? 'Ready' : 'Not ready'}</Badge>}
      </PageHead>
      <div class="stack">
        {overview.problem !== undefined && <ProblemNote problem={overview.problem} retry={overview.reload} />}
        <Alarms overview={node} markets={markets.document?.items} />
        {node !== undefined && last !== undefined && <Figures node={node} last={last} />}
        <MarketsCard markets={markets.document?.items} />
        {node === undefined && overview.problem === undefined && <Loading />}
      </div>
    </>
  )
}

function Figures({ node, last }: { readonly node: Schema<'Overview'>; readonly last: Schema<'OverviewPoint'> }) {
  const { history } = node
  const times = useMemo(() => history.map(({ at }) => Date.parse(at) / 1000), [history])
  const values = (name: keyof Schema<'OverviewPoint'>) =>
    history.map((point) => (point[name] as number | undefined) ?? null)
  return (
    <div class="figures">
      <Figure name="Connections" value={count(last.connections)} note={laggingText(last)}>
        <HistoryChart
          label="Connections in the last hour"
          times={times}
          show={count}
          lines={[
            { name: 'Open', values: values('connections'), colour: 'accent' },
            { name: 'Lagging', values: values('lagging'), colour: 'warn' },
          ]}
        />
      </Figure>
      <Figure
        name="Messages delivered"
        value={last.messages_per_second === undefined ? '–' : `${count(Math.round(last.messages_per_second))}/s`}
        note={last.bytes_per_second === undefined ? '' : `${bytesText(Math.round(last.bytes_per_second))}/s`}
      >
        <HistoryChart
          label="Messages per second in the last hour"
          times={times}
          show={(value) => `${count(Math.round(value))}/s`}
          lines={[{ name: 'Messages', values: values('messages_per_second'), colour: 'accent' }]}
        />
      </Figure>
      <Figure
        name="Delivery latency, p99"
        value={last.latency_p99_ms === undefined ? '–' : `${latencyText(last.latency_p99_ms)} ms`}
        note={
          last.latency_p50_ms === undefined
            ? 'no message in the last 5 s'
            : `median ${latencyText(last.latency_p50_ms)} ms`
        }
      >
        <HistoryChart
          label="Delivery latency in the last hour"
          times={times}
          show={(value) => `${latencyText(value)} ms`}
          lines={[
            { name: 'p99', values: values('latency_p99_ms'), colour: 'accent' },
            { name: 'Median', values: values('latency_p50_ms'), colour: 'info' },
          ]}
        />
      </Figure>
      <Figure
        name="Processor"
        value={last.cpu_percent === undefined ? '–' : `${Math.round(last.cpu_percent)} %`}
        note={`${bytesText(last.memory_bytes)} of memory`}
      >
        <HistoryChart
          label="Processor time in the last hour, in per cent of one core"
          times={times}
          show={(value) => `${Math.round(value)} %`}
          lines={[{ name: 'One core = 100 %', values: values('cpu_percent'), colour: 'accent' }]}
        />
      </Figure>
    </div>
  )
}

function laggingText({ lagging, queued_bytes }: Schema<'OverviewPoint'>): string {
  return lagging === 0 ? 'none lagging' : `${plural(lagging, 'lagging reader')}, ${bytesText(queued_bytes)} unsent`
}

function latencyText(milliseconds: number): string {
  return milliseconds >= 100 ? String(Math.round(milliseconds)) : milliseconds.toFixed(milliseconds >= 10 ? 1 : 2)
}

function Figure({
  name,
  value,
  note,
  children,
}: {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly children?: ComponentChildren
}) {
  return (
    <section class="card figure">
      <h2>{name}</h2>
      <p class="figure-value num">{value}</p>
      <p class="quiet figure-note num">{note}</p>
      {children}
    </section>
  )
}

function MarketsCard({ markets }: { readonly markets: readonly Schema<'Market'>[] | undefined }) {
  if (markets === undefined || !can('GET /markets')) return null
  const sources = markets.flatMap(({ source_states }) => source_states)
  const liveSources = sources.filter(({ live }) => live).length
  const note = `${markets.filter(({ live }) => live).length} of ${markets.length} live, ${liveSources} of ${plural(sources.length, 'source')} in the books`
  return (
    <Card title="Markets" note={note} flush actions={<a href={href('/markets')}>Ladders of all markets</a>}>
      <Table
        caption="Markets"
        items={markets}
        keyOf={({ symbol }) => symbol}
        pathOf={({ symbol }) => `/markets/${symbol}`}
        columns={MARKET_COLUMNS}
      />
    </Card>
  )
}

export const MARKET_COLUMNS = [
  { name: 'Market', show: ({ symbol }: Schema<'Market'>) => symbol },
  {
    name: 'State',
    show: ({ live, reason }: Schema<'Market'>) => (
      <>
        <Badge tone={live ? 'good' : 'bad'}>{live ? 'Live' : 'Not live'}</Badge>
        {!live && <span class="reason">{reason}</span>}
      </>
    ),
  },
  { name: 'Best bid', isNumber: true, show: ({ best_bid }: Schema<'Market'>) => grouped(best_bid?.price ?? '') },
  { name: 'Best ask', isNumber: true, show: ({ best_ask }: Schema<'Market'>) => grouped(best_ask?.price ?? '') },
  {
    name: 'Spread',
    isNumber: true,
    show: ({ best_bid, best_ask }: Schema<'Market'>) =>
      best_bid === undefined || best_ask === undefined ? '' : `${basisPoints(best_bid.price, best_ask.price)} bp`,
  },
  {
    name: 'Levels',
    isNumber: true,
    show: ({ bid_levels, ask_levels }: Schema<'Market'>) => `${count(bid_levels)} / ${count(ask_levels)}`,
  },
  {
    name: 'Sources',
    show: ({ source_states }: Schema<'Market'>) => {
      const live = source_states.filter((source) => source.live).length
      return live === source_states.length ? plural(live, 'source') : `${live} of ${source_states.length} live`
    },
  },
  { name: 'Last change', show: ({ committed_at }: Schema<'Market'>) => <Time at={committed_at} /> },
  { name: 'Subscribers', isNumber: true, show: ({ subscribers }: Schema<'Market'>) => count(subscribers) },
]
