/** What a benchmark hands back: every run of every measurement, so that medians and spreads can be made of them. */

export interface BenchResult {
  /** What was measured, unique within the benchmark. */
  readonly name: string
  readonly unit: string
  /** One value a run; the runs of all measurements of a benchmark are interleaved. */
  readonly runs: number[]
  /** What the name of a measurement of the same benchmark stands for when this one is compared with it. */
  readonly reference?: string
}

export function median(runs: readonly number[]): number {
  const sorted = [...runs].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Distance of the extremes as a part of the median: 0.1 = they lie 10 % of it apart. */
export function spread(runs: readonly number[]): number {
  return (Math.max(...runs) - Math.min(...runs)) / median(runs)
}

/** One line a measurement: name, median, unit, spread, and how many times its reference it is. */
export function resultTable(results: readonly BenchResult[]): string {
  const rows = results.map((result) => {
    const reference = results.find((other) => other.name === result.reference)
    const ratio = reference === undefined ? '' : `${significant(median(result.runs) / median(reference.runs))} x`
    return [
      result.name,
      significant(median(result.runs)),
      result.unit,
      `± ${Math.round(spread(result.runs) * 50)} %`,
      ratio === '' ? '' : `${ratio} ${result.reference}`,
    ]
  })
  const widths = rows.reduce((all, row) => row.map((cell, column) => Math.max(cell.length, all[column] ?? 0)), [0])
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function significant(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
