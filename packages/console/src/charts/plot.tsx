/** A uPlot chart, resized with its container and coloured by the theme. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colour, isDark } from '../base/theme.ts'

export interface PlotProps {
  /** A description for people who cannot see the chart. */
  readonly label: string
  readonly height: number
  /** Read again when the theme changes. */
  readonly options: (colour: (name: string) => string) => Omit<uPlot.Options, 'width' | 'height'>
  readonly data: uPlot.AlignedData
  /** Identifies the chart's subject, such as a market's symbol. Another value creates a new chart. */
  readonly of?: string
}

export function Plot({ label, height, options, data, of = '' }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const dark = isDark.value
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const made = new uPlot({ ...options(colour), width: element.clientWidth, height }, latest.current, element)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [dark, height, of])
  useEffect(() => plot.current?.setData(data), [data])
  return <div class="plot" ref={place} role="img" aria-label={label} />
}
