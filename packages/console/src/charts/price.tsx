/**
 * The price of a market: the middle of the book since the page was opened, once per second. The library draws; the exact
 * prices are in the ladder and the tape.
 */
import { AreaSeries, createChart, type IChartApi, type ISeriesApi, type UTCTimestamp } from 'lightweight-charts'
import { useEffect, useRef } from 'preact/hooks'
import { colour, isDark } from '../base/theme.ts'
import { decimalsOf } from '../live/decimal.ts'
import { useFeed } from '../live/use-feed.ts'

export interface PriceProps {
  readonly symbol: string
}

const DRAW_MILLISECONDS = 1_000

interface Drawn {
  readonly chart: IChartApi
  readonly series: ISeriesApi<'Area'>
  hasPrecision: boolean
}

export default function Price({ symbol }: PriceProps) {
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn | undefined>(undefined)
  const points = useRef<{ time: UTCTimestamp; value: number }[]>([])
  const dark = isDark.value
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
      if (!drawn.current.hasPrecision) {
        drawn.current.hasPrecision = true
        const precision = decimalsOf(bid.price)
        series.applyOptions({ priceFormat: { type: 'price', precision, minMove: 10 ** -precision } })
      }
      const point = {
        time: Math.floor(Date.now() / 1000) as UTCTimestamp,
        value: (Number(bid.price) + Number(ask.price)) / 2,
      }
      if (points.current.at(-1)?.time === point.time) points.current.pop()
      points.current.push(point)
      series.update(point)
    },
    DRAW_MILLISECONDS,
  )
  return <div class="price-plot" ref={place} role="img" aria-label={`Price of ${symbol} since this page was opened`} />
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
