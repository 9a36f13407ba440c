/**
 * `tidegate check-executor`: tests whether a payment endpoint could pay a delivery twice, and reports each violated rule by
 * name, and what its answers cannot show. Exit code 1: a rule is violated or could not be checked. It needs no service and no
 * store.
 */
import type { Command } from 'commander'
import {
  type CheckResult,
  checkExecutor,
  EXECUTOR_SCENARIOS,
  newSession,
  notKnown,
} from '../conformance/judge/executor/executor-checks.ts'
import { restartScenario } from '../conformance/judge/executor/executor-restart.ts'
import { createPaymentSender } from '../conformance/stimulus/payments.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { endpointAddress, readSecrets } from './options/checked-endpoint.ts'
import { positiveInteger } from './options/option-values.ts'
import { stayAlive } from './terminal/environment.ts'
import { printable, printableJson } from './terminal/styled-line.ts'
import { tableLines } from './terminal/table.ts'

interface CheckExecutorOptions {
  readonly secretFile: string
  readonly json?: boolean
  readonly restart?: string
  readonly memorySeconds?: number
}

/** Longer than results are usually kept in memory. */
const MEMORY_SECONDS = 300

const HELP = `
Use an instance which makes no payments: it is asked for about 30 payments of 1.25 USD. It must answer
deliveries with metadata.tidegate_check "settle" with SETTLED, and those with "refuse" with REFUSED.

With --restart, the shell runs the command. It must end within a minute and leave the endpoint running in the background.
After --memory-seconds every delivery is requested again, and must have its first result.

Exit code 0: every rule holds. 1: one does not, or could not be checked. "Nothing was paid twice" is reported only when the
answers show it: after a restart, with a separate reference for every payment, and with the number of payments in the
answers’ member "payments".

Examples:
  $ tidegate check-executor https://pay.example/deliveries --secret-file webhook-secret
  $ tidegate check-executor http://127.0.0.1:9090/deliveries --secret-file webhook-secret --json
  $ tidegate check-executor https://pay.example/deliveries --secret-file webhook-secret \\
      --restart "systemctl restart payments"

Rules:
${[...EXECUTOR_SCENARIOS, restartScenario(undefined, () => undefined)].map(({ name, rule }) => `  ${name.padEnd(21)}${rule}`).join('\n')}`

export function registerCheckExecutor(program: Command): void {
  program
    .command('check-executor')
    .summary('checks a payment endpoint')
    .description('Tests whether a payment endpoint could pay a delivery twice, and names every violated rule.')
    .argument('<url>', 'endpoint address, as in deliveries.webhook_url')
    .requiredOption('--secret-file <file>', 'file with the signing secret (whsec_...)')
    .option('--restart <command>', 'restarts the endpoint, and then requests every delivery again')
    .option(
      '--memory-seconds <seconds>',
      `time between the restart and the repeats (default: ${MEMORY_SECONDS})`,
      positiveInteger,
    )
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((url: string, options: CheckExecutorOptions) => stayAlive(check(url, options)))
}

async function check(text: string, options: CheckExecutorOptions): Promise<void> {
  const { secretFile, json, restart: command, memorySeconds } = options
  if (command === undefined && memorySeconds !== undefined) throw new Error('--memory-seconds needs --restart')
  const session = newSession(createPaymentSender(endpointAddress(text), readSecrets(secretFile), createSystemClock()))
  const restart = command === undefined ? undefined : { command, memorySeconds: memorySeconds ?? MEMORY_SECONDS }
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  const results = await checkExecutor(session, [...EXECUTOR_SCENARIOS, restartScenario(restart, say)])
  const broken = results.filter(({ violation }) => violation !== undefined)
  const isFailed = restart !== undefined && results.some(({ notChecked }) => notChecked !== undefined)
  const losesMoney = broken.some((result) => result.losesMoney === true)
  const unknown = notKnown(session, results)
  const ok = broken.length === 0 && !isFailed
  const report = { ok, would_lose_money: losesMoney, not_known: unknown, checks: results.map(documentOf) }
  process.stdout.write(json === true ? `${printableJson(report, 2)}\n` : textOf(results, losesMoney, unknown))
  if (broken.length > 0) throw new Error(`the endpoint breaks ${broken.length} of ${results.length} rules`)
  if (isFailed) throw new Error('the rule about restarts could not be checked')
}

function documentOf({ name, rule, violation, notChecked, losesMoney }: CheckResult) {
  if (notChecked !== undefined) return { name, rule, ok: false, not_checked: notChecked }
  const ok = violation === undefined
  return { name, rule, ok, ...(ok ? {} : { violation, loses_money: losesMoney === true }) }
}

function textOf(results: readonly CheckResult[], losesMoney: boolean, unknown: readonly string[]): string {
  const rows = results.map(({ name, rule, violation, notChecked }) => {
    if (notChecked !== undefined) return ['NOT CHECKED', name, printable(`${rule}: ${notChecked}`)]
    return violation === undefined ? ['ok', name, rule] : ['BROKEN', name, printable(`${rule}: ${violation}`)]
  })
  return `${[...tableLines(rows), '', ...summaryOf(losesMoney, unknown)].join('\n')}\n`
}

function summaryOf(losesMoney: boolean, unknown: readonly string[]): readonly string[] {
  const open = unknown.map((line) => `  ${printable(line)}`)
  if (losesMoney) {
    return [
      'Money would have been lost: a delivery was paid twice, paid and refused, or paid for an untrusted request.',
    ]
  }
  return open.length === 0 ? ['Nothing was paid twice.'] : ['No second payment was seen. It is not known:', ...open]
}
