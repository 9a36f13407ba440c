/**
 * `tidegate check-executor`: tests whether a payment endpoint could pay a delivery twice, and reports each violated rule by
 * name. Exit code 1: a rule is violated, or the endpoint is unreachable. It needs no service and no store.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { createSystemClock } from '../base/clock.ts'
import { fileErrorText } from '../base/regular-file.ts'
import { isLoopbackHost } from '../deliveries/webhook-addresses.ts'
import { secretsOf } from '../deliveries/webhook-signature.ts'
import { stayAlive } from './environment.ts'
import { type CheckResult, checkExecutor, EXECUTOR_RULES } from './executor-checks.ts'
import { tableLines } from './table.ts'

interface CheckExecutorOptions {
  readonly secretFile: string
  readonly json?: boolean
}

const HELP = `
Use an instance of the endpoint that makes no payments: it is asked for about 30 payments of 1.25 USD. It must answer
deliveries with metadata.tidegate_check "settle" with SETTLED, and those with "refuse" with REFUSED.

Exit code 0: every rule holds. 1: one does not, or the check could not be done.

Examples:
  $ tidegate check-executor https://pay.example/deliveries --secret-file webhook-secret
  $ tidegate check-executor http://127.0.0.1:9090/deliveries --secret-file webhook-secret --json

Rules:
${EXECUTOR_RULES.map(([name, rule]) => `  ${name.padEnd(21)}${rule}`).join('\n')}`

export function registerCheckExecutor(program: Command): void {
  program
    .command('check-executor')
    .summary('checks a payment endpoint')
    .description(
      'Tests whether a payment endpoint could pay a delivery twice, and reports every violated rule by name.',
    )
    .argument('<url>', 'address of the endpoint, as in deliveries.webhook_url')
    .requiredOption('--secret-file <file>', 'file with the secret that requests are signed with (whsec_...)')
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((url: string, options: CheckExecutorOptions) => stayAlive(check(url, options)))
}

async function check(text: string, { secretFile, json }: CheckExecutorOptions): Promise<void> {
  const executor = { url: addressOf(text), secrets: readSecrets(secretFile), clock: createSystemClock() }
  const results = await checkExecutor(executor)
  const broken = results.filter(({ violation }) => violation !== undefined)
  const losesMoney = broken.some((result) => result.losesMoney === true)
  const report = { ok: broken.length === 0, would_lose_money: losesMoney, checks: results.map(documentOf) }
  process.stdout.write(json === true ? `${JSON.stringify(report, null, 2)}\n` : textOf(results, losesMoney))
  if (broken.length > 0) throw new Error(`the endpoint breaks ${broken.length} of ${results.length} rules`)
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isAccepted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url))
  if (url === undefined || !isAccepted) throw new Error('URL must be an https address, or http to this machine')
  if (url.username + url.password !== '') throw new Error('URL must not contain a user name or password')
  return text
}

function readSecrets(path: string): readonly string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`--secret-file cannot be read from ${path}: ${fileErrorText(error)}`)
  }
  const secrets = secretsOf(text)
  if (secrets === undefined || secrets.length === 0) {
    throw new Error(`--secret-file: ${path} does not contain a secret: whsec_ and the base64 of 24 to 64 bytes`)
  }
  return secrets
}

function documentOf({ name, rule, violation, losesMoney }: CheckResult) {
  const ok = violation === undefined
  return { name, rule, ok, ...(ok ? {} : { violation, loses_money: losesMoney === true }) }
}

function textOf(results: readonly CheckResult[], losesMoney: boolean): string {
  const rows = results.map(({ name, rule, violation }) =>
    violation === undefined ? ['ok', name, rule] : ['BROKEN', name, `${rule}: ${violation}`],
  )
  const summary = losesMoney
    ? 'Money would have been lost: a delivery was paid twice, paid and refused, or paid for an untrusted request.'
    : 'Nothing was paid twice.'
  return `${[...tableLines(rows), '', summary].join('\n')}\n`
}
