/** The attacks' results as text, one block each, because sentences do not fit into columns. */
import type { AttackResult } from './runner.ts'

export function resultTable(results: readonly AttackResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0)
  const verdicts = results.map((result) => [
    result.name,
    result.failures.length === 0 ? 'ok' : 'FAILED',
    honestText(result),
  ])
  return [
    ...results.flatMap(block),
    ...aligned([['attack', 'result', 'another customer, with and without the attack'], ...verdicts]),
    '',
    `${results.length - failed.length} ok, ${failed.length} failed`,
  ].join('\n')
}

function block(result: AttackResult): string[] {
  const cases = result.cases === undefined ? '' : ` (${result.cases.length} cases)`
  return [
    `${result.name}${cases}: ${result.failures.length === 0 ? 'ok' : 'FAILED'}`,
    `  sent   ${result.sent}`,
    `  holds  ${result.holds}`,
    `  seen   ${result.seen}; at most ${result.residentMegabytesMax} MB resident`,
    ...result.failures.map((failure) => `  FAILED ${failure}`),
    '',
  ]
}

function honestText({ honest }: AttackResult): string {
  if (honest === undefined) return ''
  const { silenceWith, silenceWithout, livezWith } = honest
  const silence = `silent for ${Math.round(silenceWith)} and ${Math.round(silenceWithout)} ms`
  return `${silence}, /livez ${Math.round(livezWith)} ms (medians of ${honest.rounds})`
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
