/**
 * The cumulative amounts on both sides of the spread. Pixels need only floating-point sums. The ladder adds exactly.
 */
import { useState } from 'preact/hooks'
import type uPlot from 'uplot'
import type { Level } from '../live/level.ts'
import { useFeed } from '../live/use-feed.ts'
import { Plot } from './plot.tsx'

export interface DepthProps {
  readonly symbol: string
  /** A fixed book; absent = the live book. */
  readonly book?: { readonly bids: readonly Level[]; readonly asks: readonly Level[] } | undefined
}

const HEIGHT = 246
const LEVELS = 150
const DRAW_MILLISECONDS = 500

export default function Depth({ symbol, book }: DepthProps) {
  return book === undefined ? (
    <LiveDepth symbol={symbol} />
  ) : (
    <DepthPlot symbol={symbol} data={depthData(book.bids, book.asks)} />
  )
}

function LiveDepth({ symbol }: { readonly symbol: string }) {
  const [data, setData] = useState<uPlot.AlignedData>(() => depthData([], []))
  useFeed(symbol, (feed) => setData(depthData(feed.bids(LEVELS), feed.asks(LEVELS))), DRAW_MILLISECONDS)
  if (data[0].length === 0) return <p class="plot-none">No levels</p>
  return <DepthPlot symbol={symbol} data={data} />
}

function DepthPlot({ symbol, data }: { readonly symbol: string; readonly data: uPlot.AlignedData }) {
  return (
    <Plot
      label={`Depth of ${symbol}: the sum of the amounts up to each price`}
      height={HEIGHT}
      of={symbol}
      data={data}
      options={(colour) => ({
        padding: [10, 6, 0, 0],
        cursor: { points: { size: 5 } },
        legend: { show: true, live: true },
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, (high || 1) * 1.08] } },
        axes: [axis(colour, 24), { ...axis(colour, 52), side: 1 }],
        series: [
          { label: 'Price' },
          { ...side(colour('bid')), label: 'Bids' },
          { ...side(colour('ask')), label: 'Asks' },
        ],
      })}
    />
  )
}

function axis(colour: (name: string) => string, size: number): uPlot.Axis {
  return {
    stroke: colour('quiet'),
    font: '11px system-ui, sans-serif',
    size,
    gap: 4,
    space: 60,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  }
}

function side(stroke: string): uPlot.Series {
  return { stroke, width: 1.5, fill: `${stroke}22`, points: { show: false }, spanGaps: false }
}

/** Both sides on one price axis, as steps. */
function depthData(bids: readonly Level[], asks: readonly Level[]): uPlot.AlignedData {
  const prices: number[] = []
  const bidSums: (number | null)[] = []
  const askSums: (number | null)[] = []
  const add = (price: number, bid: number | null, ask: number | null) => {
    prices.push(price)
    bidSums.push(bid)
    askSums.push(ask)
  }
  const low = steps(bids)
  for (const [price, sum] of low.reverse()) add(price, sum, null)
  for (const [price, sum] of steps(asks)) add(price, null, sum)
  return [prices, bidSums, askSums] as uPlot.AlignedData
}

/** The steps' corners: at each price the sum before and after it. */
function steps(levels: readonly Level[]): [price: number, sum: number][] {
  let sum = 0
  return levels.flatMap(({ price, amount }) => {
    const before = sum
    sum += Number(amount)
    const place = Number(price)
    return [
      [place, before],
      [place, sum],
    ] as [number, number][]
  })
}
