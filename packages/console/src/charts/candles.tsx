/**
 * A market's candles in a chosen interval, with a cross-hair: the candle below it, or else the newest, is shown in text
 * with its exact values. The newest candles are loaded again each second. The library draws.
 */
import {
  CandlestickSeries,
  createChart,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type UTCTimestamp,
} from 'lightweight-charts'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Problem } from '../base/api.ts'
import { grouped } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { colour, isDark } from '../base/theme.ts'
import { decimalsOf } from '../live/decimal.ts'

export interface CandlesProps {
  readonly symbol: string
}

type Candle = Schema<'Candle'>

const INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const
const CANDLES = 180
/** Loaded again: the present candle, and those before it that late executions may change. */
const NEWEST = 3
const REFRESH_MILLISECONDS = 1_000

interface Drawn {
  readonly chart: IChartApi
  readonly prices: ISeriesApi<'Candlestick'>
  readonly volumes: ISeriesApi<'Histogram'>
}

export default function Candles({ symbol }: CandlesProps) {
  const [interval, choose] = useState<(typeof INTERVALS)[number]>('1m')
  const [hovered, hover] = useState<string>()
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn | undefined>(undefined)
  const { candles, problem, isUnread } = useCandles(symbol, interval)
  const latest = useRef(candles)
  latest.current = candles
  const dark = isDark.value
  useEffect(() => {
    if (place.current === null) return
    const made = makeChart(place.current)
    made.chart.subscribeCrosshairMove(({ time }) =>
      hover(time === undefined ? undefined : new Date(Number(time) * 1000).toISOString()),
    )
    draw(made, latest.current)
    drawn.current = made
    return () => {
      made.chart.remove()
      drawn.current = undefined
    }
  }, [dark])
  useEffect(() => {
    if (drawn.current !== undefined) draw(drawn.current, candles)
  }, [candles])
  const empty = candles.length === 0 && !isUnread ? 'No execution yet' : undefined
  const note = problem === undefined ? empty : `Not current: ${problem.message}`
  const shown = candles.find(({ time }) => time === hovered) ?? candles.at(-1)
  return (
    <>
      <div class="choices" role="group" aria-label="Interval">
        {INTERVALS.map((each) => (
          <button key={each} type="button" aria-pressed={each === interval} onClick={() => choose(each)}>
            {each}
          </button>
        ))}
      </div>
      <p class="candle-values num">{shown === undefined ? ' ' : <Values candle={shown} />}</p>
      <div class="price-plot">
        {note !== undefined && <p class="price-none">{note}</p>}
        <div class="price-canvas" ref={place} role="img" aria-label={`Candles of ${symbol}, ${interval} each`} />
      </div>
    </>
  )
}

function Values({ candle }: { readonly candle: Candle }) {
  const { time, open, high, low, close, volume, trades, incomplete } = candle
  const prices = [open, high, low, close].map((price, index) => `${'OHLC'[index]} ${grouped(price)}`)
  return (
    <>
      {time.slice(0, 16).replace('T', ' ')} {prices.join('  ')} Vol {volume} in {trades}
      {incomplete && ', incomplete'}
    </>
  )
}

interface ReadCandles {
  /** The earliest first. */
  readonly candles: readonly Candle[]
  /** Why they are not the newest ones. */
  readonly problem: Problem | undefined
  /** Whether they were not read yet. */
  readonly isUnread: boolean
}

function useCandles(symbol: string, interval: string): ReadCandles {
  const all = useGet(`/markets/${symbol}/candles`, { interval, limit: CANDLES })
  const newest = useGet(`/markets/${symbol}/candles`, { interval, limit: NEWEST }, REFRESH_MILLISECONDS)
  const [candles, set] = useState<readonly Candle[]>([])
  useEffect(() => set(all.document?.items ?? []), [all.document])
  useEffect(() => {
    const [first] = newest.document?.items ?? []
    if (first === undefined || all.isLoading) return
    const last = all.document === undefined ? undefined : candles.at(-1)
    // The service did not know them yet, or the tab was hidden.
    if (last === undefined || last.time < first.time) all.reload()
    else set([...candles.filter(({ time }) => time < first.time), ...(newest.document?.items ?? [])].slice(-CANDLES))
  }, [newest.document])
  return { candles, problem: newest.problem ?? all.problem, isUnread: all.document === undefined }
}

function draw({ chart, prices, volumes }: Drawn, candles: readonly Candle[]): void {
  const [first] = candles
  if (first !== undefined) {
    const precision = decimalsOf(first.close)
    chart.applyOptions({ localization: { priceFormatter: (value: number) => grouped(value.toFixed(precision)) } })
    prices.applyOptions({ priceFormat: { type: 'price', precision, minMove: 10 ** -precision } })
  }
  const timed = candles.map((candle) => ({ ...candle, at: (Date.parse(candle.time) / 1000) as UTCTimestamp }))
  prices.setData(
    timed.map(({ at, open, high, low, close }) => {
      return { time: at, open: Number(open), high: Number(high), low: Number(low), close: Number(close) }
    }),
  )
  volumes.setData(timed.map(({ at, volume }) => ({ time: at, value: Number(volume) })))
  chart.timeScale().fitContent()
}

function makeChart(element: HTMLElement): Drawn {
  const line = colour('line')
  const chart = createChart(element, {
    autoSize: true,
    layout: {
      background: { color: 'transparent' },
      textColor: colour('quiet'),
      fontSize: 11,
      // The attribution is in the keyboard-shortcuts dialog and in the docs, because the library's own would need an
      // inline style.
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: { borderVisible: false },
    timeScale: {
      borderVisible: false,
      timeVisible: true,
      secondsVisible: false,
      minBarSpacing: 0.2,
      maxBarSpacing: 12,
    },
    crosshair: { vertLine: { color: colour('line-strong') }, horzLine: { color: colour('line-strong') } },
    // The chart always shows everything.
    handleScroll: false,
    handleScale: false,
  })
  const [up, down] = [colour('bid'), colour('ask')]
  const prices = chart.addSeries(CandlestickSeries, {
    ...{ upColor: up, wickUpColor: up, borderUpColor: up },
    ...{ downColor: down, wickDownColor: down, borderDownColor: down },
    priceLineVisible: false,
  })
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: '',
    color: colour('line-strong'),
    lastValueVisible: false,
    priceLineVisible: false,
  })
  volumes.priceScale().applyOptions({ scaleMargins: { top: 0.85, bottom: 0 } })
  prices.priceScale().applyOptions({ scaleMargins: { top: 0.05, bottom: 0.2 } })
  return { chart, prices, volumes }
}
