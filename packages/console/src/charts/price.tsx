/**
 * A market's price during the last hour: the middle of the book every five seconds. Earlier points come from the
 * service's history and later ones from the page, which renews the newest once per second. The library draws. The exact
 * prices are in the ladder and the tape.
 */
import { AreaSeries, createChart, type IChartApi, type ISeriesApi, type UTCTimestamp } from 'lightweight-charts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { grouped } from '../base/format.ts'
import { useGet } from '../base/resource.ts'
import { colour, isDark } from '../base/theme.ts'
import { decimalsOf } from '../live/decimal.ts'
import { useFeed } from '../live/use-feed.ts'

export interface PriceProps {
  readonly symbol: string
}

const DRAW_MILLISECONDS = 1_000
/** The interval in the service's history. The chart gives every point the same width. */
const STEP_SECONDS = 5
/** One hour. */
const POINTS_MAX = 720

interface Point {
  readonly time: UTCTimestamp
  readonly value: number
}

interface Drawn {
  readonly chart: IChartApi
  readonly series: ISeriesApi<'Area'>
  hasPrecision: boolean
}

export default function Price({ symbol }: PriceProps) {
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn | undefined>(undefined)
  const points = useRef<Point[]>([])
  const [isEmpty, setEmpty] = useState(true)
  const dark = isDark.value
  const history = useGet(`/markets/${symbol}/prices`).document
  useEffect(() => {
    if (history === undefined) return
    // The page's own points stay, because the service's clock may be ahead of this one.
    const [own] = points.current
    const end = own?.time ?? Date.now() / 1000
    const earlier = new Map<number, Point>()
    for (const { at, bid, ask } of history.items) {
      const point = pointAt(Date.parse(at), bid, ask)
      if (point.time < end) earlier.set(point.time, point)
    }
    points.current = [...earlier.values(), ...points.current].slice(-POINTS_MAX)
    setEmpty(points.current.length === 0)
    if (drawn.current === undefined) return
    const [first] = history.items
    if (first !== undefined) setPrecision(drawn.current, first.bid)
    drawAll(drawn.current, points.current)
  }, [history])
  useEffect(() => {
    if (place.current === null) return
    const made = makeChart(place.current)
    drawAll(made, points.current)
    drawn.current = made
    return () => {
      made.chart.remove()
      drawn.current = undefined
    }
  }, [dark])
  useFeed(
    symbol,
    (feed) => {
      const [bid] = feed.bids(1)
      const [ask] = feed.asks(1)
      if (bid === undefined || ask === undefined || drawn.current === undefined) return
      setEmpty(false)
      setPrecision(drawn.current, bid.price)
      const point = pointAt(Date.now(), bid.price, ask.price)
      const last = points.current.at(-1)
      // After the clock was set back, the chart waits until it has caught up.
      if (last !== undefined && last.time > point.time) return
      if (last?.time === point.time) {
        points.current[points.current.length - 1] = point
        drawn.current.series.update(point)
      } else {
        points.current = [...points.current.slice(1 - POINTS_MAX), point]
        drawAll(drawn.current, points.current)
      }
    },
    DRAW_MILLISECONDS,
  )
  return (
    <div class="price-plot">
      {isEmpty && <p class="price-none">No price yet</p>}
      <div class="price-canvas" ref={place} role="img" aria-label={`Price of ${symbol} during the last hour`} />
    </div>
  )
}

function pointAt(milliseconds: number, bid: string, ask: string): Point {
  const time = (Math.floor(milliseconds / 1000 / STEP_SECONDS) * STEP_SECONDS) as UTCTimestamp
  return { time, value: (Number(bid) + Number(ask)) / 2 }
}

function drawAll({ chart, series }: Drawn, points: readonly Point[]): void {
  series.setData([...points])
  chart.timeScale().fitContent()
}

/** Shows as many decimals as the prices have. */
function setPrecision(drawn: Drawn, price: string): void {
  if (drawn.hasPrecision) return
  drawn.hasPrecision = true
  const precision = decimalsOf(price)
  drawn.chart.applyOptions({ localization: { priceFormatter: (value: number) => grouped(value.toFixed(precision)) } })
  drawn.series.applyOptions({ priceFormat: { type: 'price', precision, minMove: 10 ** -precision } })
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
    timeScale: { borderVisible: false, timeVisible: true, secondsVisible: true, minBarSpacing: 0.2 },
    crosshair: { vertLine: { color: colour('line-strong') }, horzLine: { color: colour('line-strong') } },
    // The chart always shows everything.
    handleScroll: false,
    handleScale: false,
  })
  const stroke = colour('accent')
  const series = chart.addSeries(AreaSeries, {
    lineColor: stroke,
    lineWidth: 2,
    topColor: `${stroke}40`,
    bottomColor: `${stroke}00`,
    priceLineVisible: false,
  })
  return { chart, series, hasPrecision: false }
}
