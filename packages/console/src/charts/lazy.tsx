/** Charts are loaded after the page is shown, because their libraries are most of the script. */
import { lazy, Suspense } from 'preact/compat'
import type { DepthProps } from './depth.tsx'
import type { HistoryProps } from './history.tsx'
import type { PriceProps } from './price.tsx'

const LazyHistory = lazy(() => import('./history.tsx'))
const LazyDepth = lazy(() => import('./depth.tsx'))
const LazyPrice = lazy(() => import('./price.tsx'))

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

export function PriceChart(props: PriceProps) {
  return (
    <Suspense fallback={<div class="plot-place" />}>
      <LazyPrice {...props} />
    </Suspense>
  )
}
