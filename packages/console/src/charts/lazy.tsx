/** Charts are loaded after the page is shown, because their libraries are most of the script. */
import { lazy, Suspense } from 'preact/compat'
import type { CandlesProps } from './candles.tsx'
import type { DepthProps } from './depth.tsx'
import type { HistoryProps } from './history.tsx'

const LazyHistory = lazy(() => import('./history.tsx'))
const LazyDepth = lazy(() => import('./depth.tsx'))
const LazyCandles = lazy(() => import('./candles.tsx'))

export function HistoryChart(props: HistoryProps) {
  return (
    <Suspense fallback={<div class="plot-place small" />}>
      <LazyHistory {...props} />
    </Suspense>
  )
}

export function DepthChart(props: DepthProps) {
  return (
    <Suspense fallback={<div class="plot-place" />}>
      <LazyDepth {...props} />
    </Suspense>
  )
}

export function CandleChart(props: CandlesProps) {
  return (
    <Suspense fallback={<div class="plot-place" />}>
      <LazyCandles {...props} />
    </Suspense>
  )
}
