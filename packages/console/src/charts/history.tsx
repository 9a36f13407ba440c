/** The history of one or two values on the overview: a small chart with the value under the pointer. */
import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { Plot } from './plot.tsx'

export interface HistoryProps {
  readonly label: string
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  readonly lines: readonly {
    readonly name: string
    readonly values: readonly (number | null)[]
    readonly colour: string
  }[]
  readonly show: (value: number) => string
}

const HEIGHT = 104

export default function History({ label, times, lines, show }: HistoryProps) {
  const data = useMemo(
    () => [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData,
    [times, lines],
  )
  return (
    <Plot
      label={label}
      height={HEIGHT}
      data={data}
      of={lines.map(({ name }) => name).join()}
      options={(colour) => ({
        padding: [6, 16, 0, 2],
        cursor: { y: false, points: { size: 5 } },
        legend: { show: true, live: true },
        scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(high * 1.15, 1)] } },
        axes: [
          {
            stroke: colour('quiet'),
            grid: { show: false },
            ticks: { show: false },
            font: '11px system-ui, sans-serif',
            size: 24,
            gap: 7,
            space: 70,
            values: (_plot, splits) => splits.map((split) => new Date(split * 1000).toISOString().slice(11, 16)),
          },
          { show: false },
        ],
        series: [
          {
            label: 'UTC',
            value: (_plot, value) => (value === null ? '' : new Date(value * 1000).toISOString().slice(11, 19)),
          },
          ...lines.map((line, index) => ({
            label: line.name,
            stroke: colour(line.colour),
            width: 1.6,
            ...(index === 0 ? { fill: `${colour(line.colour)}1c` } : {}),
            points: { show: false },
            value: (_plot: uPlot, value: number | null) => (value === null ? '' : show(value)),
          })),
        ],
      })}
    />
  )
}
