/**
 * Charts are loaded after the page is shown, because their libraries are most of the script. Not by `lazy` from
 * `preact/compat`: that turns `onChange` of every text field in the console into `onInput`.
 */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { CandlesProps } from './candles.tsx'
import type { DepthProps } from './depth.tsx'
import type { HistoryProps } from './history.tsx'

export const HistoryChart = loadedLater<HistoryProps>('plot-place small', () => import('./history.tsx'))
export const DepthChart = loadedLater<DepthProps>('plot-place', () => import('./depth.tsx'))
export const CandleChart = loadedLater<CandlesProps>('plot-place', () => import('./candles.tsx'))

/** @param place the class of what is shown in the chart's place until it is loaded */
function loadedLater<Props extends object>(
  place: string,
  load: () => Promise<{ readonly default: ComponentType<Props> }>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined
  return (props) => {
    const [Chart, setChart] = useState(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (Chart !== undefined) return
      const show = (module: { readonly default: ComponentType<Props> }) => {
        loaded = module.default
        setChart(() => loaded)
      }
      // The service may have been upgraded since the page was loaded, and has other files now.
      load().then(show, () => setFailed(true))
    }, [])
    if (Chart !== undefined) return <Chart {...props} />
    return <div class={place}>{hasFailed && <p class="quiet">The chart was not loaded. Reload the page.</p>}</div>
  }
}
