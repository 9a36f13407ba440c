/**
 * The price of a market: the middle of the book during the last hour, as far as the service knows it, and then once per
 * second. The library draws; the exact prices are in the ladder and the tape.
 */
import { AreaSeries, createChart, type IChartApi, type ISeriesApi, type UTCTimestamp } from 'lightweight-charts'
import { useEffect, useRef } from 'preact/hooks'
import { useGet } from '../base/resource.ts'
import { colour, isDark } from '../base/theme.ts'
import { decimalsOf } from '../live/decimal.ts'
import { useFeed } from '../live/use-feed.ts'

export interface PriceProps {
  readonly symbol: string
}

const DRAW_MILLISECONDS = 1_000

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
  const dark = isDark.value
  const history = useGet(`/markets/${symbol}/prices`).document
  useEffect(() => {
    if (history === undefined) return
    // What the page has seen itself stays; the clock of the service may be ahead of this one.
    const end = points.current[0]?.time ?? Date.now() / 1000
    const earlier = history.items
      .map(({ at, bid, ask }) => pointAt(Date.parse(at), bid, ask))
      .filter(({ time }) => time < end)
    points.current = [...earlier, ...points.current]
    if (drawn.current === undefined) return
    const [first] = history.items
    if (first !== undefined) setPrecision(drawn.current, first.bid)
    drawn.current.series.setData(points.current)
  }, [history])
  useEffect(() => {
    if (place.current === null) return
    const made = makeChart(place.current)
    made.series.setData(points.current)
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
      const { series } = drawn.current
      setPrecision(drawn.current, bid.price)
      const point = pointAt(Date.now(), bid.price, ask.price)
      if (points.current.at(-1)?.time === point.time) points.current.pop()
      points.current.push(point)
      series.update(point)
    },
    DRAW_MILLISECONDS,
  )
  return <div class="price-plot" ref={place} role="img" aria-label={`Price of ${symbol} during the last hour`} />
}

function pointAt(milliseconds: number, bid: string, ask: string): Point {
  return { time: Math.floor(milliseconds / 1000) as UTCTimestamp, value: (Number(bid) + Number(ask)) / 2 }
}

/** Shows as many decimals as the prices have. */
function setPrecision(drawn: Drawn, price: string): void {
  if (drawn.hasPrecision) return
  drawn.hasPrecision = true
  const precision = decimalsOf(price)
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
      // The attribution is on the page of keyboard shortcuts and in the documents: the library's would need an inline style.
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderVisible: false, timeVisible: true, secondsVisible: true, rightOffset: 2 },
    crosshair: { vertLine: { color: colour('line-strong') }, horzLine: { color: colour('line-strong') } },
    handleScroll: { mouseWheel: false },
    handleScale: { mouseWheel: false },
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
