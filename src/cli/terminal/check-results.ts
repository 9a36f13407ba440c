/** Prints the results of a check of an endpoint: one line for each rule, or JSON. */
import { printable, printableJson } from './styled-line.ts'
import { tableLines } from './table.ts'

interface CheckResult {
  readonly name: string
  readonly rule: string
  /** Absent: the rule holds. */
  readonly violation?: string
}

/** Throws after printing when a rule is violated. */
export function printChecks(what: string, results: readonly CheckResult[], asJson: boolean): void {
  const broken = results.filter(({ violation }) => violation !== undefined).length
  const checks = results.map((result) => ({ ...result, ok: result.violation === undefined }))
  const rows = results.map(({ name, rule, violation }) =>
    violation === undefined ? ['ok', name, rule] : ['BROKEN', name, printable(`${rule}: ${violation}`)],
  )
  const text = asJson ? printableJson({ ok: broken === 0, checks }, 2) : tableLines(rows).join('\n')
  process.stdout.write(`${text}\n`)
  if (broken > 0) throw new Error(`the ${what} breaks ${broken} of ${results.length} rules`)
}
