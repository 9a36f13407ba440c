/** Prints findings as aligned lines or as one JSON object, and ends the verb when something is bad. */
import type { Finding } from '../../service/doctor/finding.ts'
import { printable, printableJson } from './styled-line.ts'
import { tableLines } from './table.ts'

/** What a verb adds to its findings. */
interface Addition {
  readonly document: object
  readonly lines: readonly string[]
}

/**
 * Prints the shown findings and then the addition.
 * @throws {Error} when a finding is bad
 */
export function reportFindings(
  findings: readonly Finding[],
  { json, shown = findings, addition }: ReportOptions,
): void {
  const bad = findings.filter(({ verdict }) => verdict === 'bad')
  const document = { ok: bad.length === 0, findings, ...addition?.document }
  const lines = [...findingLines(shown), ...(addition?.lines ?? [])]
  process.stdout.write(json ? `${printableJson(document, 2)}\n` : lines.map((line) => `${line}\n`).join(''))
  if (bad.length > 0) throw new Error(`checks failed: ${[...new Set(bad.map(({ name }) => name))].join(', ')}`)
}

interface ReportOptions {
  readonly json: boolean
  /** Findings that become lines. Default: all. */
  readonly shown?: readonly Finding[]
  readonly addition?: Addition | undefined
}

function findingLines(findings: readonly Finding[]): string[] {
  return tableLines(
    findings.map(({ verdict, name, detail, next }) => [
      verdict,
      printable(name),
      printable(next === undefined ? detail : `${detail}; next: ${next}`),
    ]),
  )
}
