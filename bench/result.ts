/** A benchmark's result: every run of every measurement, from which medians and spreads are computed. */

export interface BenchResult {
  /** The measurement's name, unique within the benchmark. */
  readonly name: string
  readonly unit: string
  /** One value per run. A benchmark's runs are interleaved across all its measurements. */
  readonly runs: number[]
  /** The name of the reference measurement in the same benchmark. */
  readonly reference?: string
}

export function median(runs: readonly number[]): number {
  const sorted = [...runs].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The runs' range relative to the median: 0.1 = 10 %. */
export function spread(runs: readonly number[]): number {
  return (Math.max(...runs) - Math.min(...runs)) / median(runs)
}

/** One line per measurement: name, median, unit, spread, and the ratio to its reference. */
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

export function significant(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
