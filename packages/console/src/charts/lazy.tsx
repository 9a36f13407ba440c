/**
 * Charts are loaded after the page is shown, because their libraries are most of the script. Not by `lazy` from
 * `preact/compat`: it turns every `onChange` of the console into `onInput`.
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
    useEffect(() => {
      if (Chart !== undefined) return
      void load().then((module) => {
        loaded = module.default
        setChart(() => loaded)
      })
    }, [])
    return Chart === undefined ? <div class={place} /> : <Chart {...props} />
  }
}
