/**
 * `tidegate check-publisher`: tests an engine that publishes its book (docs/how-to/feeding-your-own-book.md), by
 * connecting to it or by listening for it, and reports every broken rule by name, with the message and the page's
 * section. It needs no service and no store.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { checkPull, checkPush, type PublisherCheck } from '../conformance/judge/publisher/check-publisher-run.ts'
import type { BrokenRule, CheckOptions, ScenarioResult } from '../conformance/judge/publisher/check-run.ts'
import type { CheckedMarket } from '../conformance/judge/publisher/published-market.ts'
import { PULL_SCENARIOS } from '../conformance/judge/publisher/pull-scenarios.ts'
import { PUSH_SCENARIOS } from '../conformance/judge/publisher/push-scenarios.ts'
import { PUSH_CLIENT_ID } from '../conformance/judge/publisher/push-server.ts'
import { PUBLISHER_RULES } from '../conformance/judge/publisher/rules.ts'
import { PUBLISHED_ENTRIES_MAX } from '../contract/publication.ts'
import { fileErrorText } from '../platform/base/regular-file.ts'
import { addressText } from './options/listener-address.ts'
import { positiveInteger } from './options/option-values.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './terminal/environment.ts'
import { clearOf } from './terminal/progress-line.ts'
import { printable, printableJson } from './terminal/styled-line.ts'
import { countText, tableLines } from './terminal/table.ts'

interface CheckPublisherOptions {
  readonly listen?: { readonly host: string; readonly port: number }
  readonly market: readonly CheckedMarket[]
  readonly token?: string
  readonly tokenFile?: string
  readonly seconds: number
  readonly restart?: string
  readonly json?: boolean
}

const ANSWER_MILLISECONDS = 10_000
/** Five seconds, and one for the way. */
const HEARTBEAT_MILLISECONDS = 6_000
const STALL_MILLISECONDS = 10_000
/** Also the time in which the engine is started after the address is shown. */
const CONNECT_MILLISECONDS = 120_000
/** More than both sides' kernels keep. */
const BACKLOG_BYTES_MAX = 64 * 1024 * 1024
const RESTART_MILLISECONDS_MAX = 60_000
const LATE = `did not end within ${RESTART_MILLISECONDS_MAX / 1_000} seconds. It must leave the engine in the background`

const NAME_WIDTH = Math.max(...Object.keys(PUBLISHER_RULES).map((name) => name.length)) + 2
const scenarioLines = (scenarios: readonly { name: string; plays: string; expects: string }[]) =>
  scenarios
    .map(
      ({ name, plays, expects }) =>
        `  ${name.padEnd(NAME_WIDTH)}${plays}\n  ${' '.repeat(NAME_WIDTH)}expects: ${expects}`,
    )
    .join('\n')

const HELP = `
With URL it connects to the engine as Tidegate does (pull). With --listen it stands in for the ingest listener, shows its
address, a token and a client's credentials, and waits for the engine (push). Use an engine whose market changes: only
published messages can be checked. A check takes two to three minutes.

Exit code 0: every rule holds (there may be warnings). 1: one does not, or the check could not be done.

Examples:
  $ tidegate check-publisher ws://127.0.0.1:9001/ --market BTCUSD --token-file token
  $ tidegate check-publisher wss://engine.internal:9001/ --market BTCUSD:2:8 --seconds 60 --json > report.json
  $ tidegate check-publisher --listen 9443 --market BTCUSD --restart "systemctl restart engine"

Scenarios of URL:
${scenarioLines(PULL_SCENARIOS)}

Scenarios of --listen:
${scenarioLines(PUSH_SCENARIOS)}

Rules:
${Object.entries(PUBLISHER_RULES)
  .map(([name, { rule, ...rest }]) => `  ${name.padEnd(NAME_WIDTH)}${rule}${'isWarning' in rest ? ' (warning)' : ''}`)
  .join('\n')}`

export function registerCheckPublisher(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  program
    .command('check-publisher')
    .summary('checks an engine’s published book')
    .description('Tests an engine’s published book, and names every violated rule.')
    .argument('[url]', 'the engine’s address, like wss://engine.internal:9001/')
    .option(
      '--listen <address>',
      '[HOST:]PORT on which to wait for the engine (default host: 127.0.0.1)',
      listenAddress,
    )
    .requiredOption('--market <symbol>', 'SYMBOL or SYMBOL:PRICE_DECIMALS:AMOUNT_DECIMALS (may be repeated)', addMarket)
    .option('--token <token>', 'bearer token')
    .option('--token-file <file>', 'file with the bearer token')
    .option('--seconds <seconds>', 'how long messages are only observed', positiveInteger, 15)
    .option('--restart <command>', 'restarts the engine and returns')
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((url: string | undefined, options: CheckPublisherOptions) => stayAlive(check(url, options, environment)))
}

async function check(
  url: string | undefined,
  options: CheckPublisherOptions,
  environment: CommandEnvironment,
): Promise<void> {
  if ((url === undefined) === (options.listen === undefined)) {
    throw new Error('give either the engine’s URL or --listen, such as: tidegate check-publisher --listen 9443')
  }
  const { stdout, stderr } = environment
  const token = tokenOf(options)
  const checkOptions = checkOptionsOf(options, environment)
  const started: PublisherCheck =
    url === undefined
      ? checkPush(checkOptions, { ...options.listen!, token }, (server) =>
          stderr.write(listeningText(options.listen!.host, server)),
        )
      : checkPull(checkOptions, { url: addressOf(url), token })
  let isStopped = false
  const removeSignals = environment.onStopSignal(() => {
    isStopped = true
    started.stop()
  })
  let results: readonly ScenarioResult[]
  try {
    results = await started.results
  } finally {
    removeSignals()
  }
  const findings = results.flatMap((result) => result.findings)
  const ok = !isStopped && results.every(({ outcome }) => outcome !== 'wrong')
  const warnings = findings.filter(({ isWarning }) => isWarning).length
  stdout.write(options.json === true ? `${printableJson({ ok, warnings, scenarios: results }, 2)}\n` : textOf(results))
  if (!ok) environment.setExitCode(1)
  if (isStopped) throw new Error('the check was stopped before its last scenario')
}

function checkOptionsOf(options: CheckPublisherOptions, { stderr, clock }: CommandEnvironment): CheckOptions {
  const { seconds, market, restart } = options
  const clear = clearOf(stderr)
  const scenarios = options.listen === undefined ? PULL_SCENARIOS : PUSH_SCENARIOS
  return {
    markets: market,
    times: {
      observe: seconds * 1_000,
      answer: ANSWER_MILLISECONDS,
      stall: STALL_MILLISECONDS,
      heartbeat: HEARTBEAT_MILLISECONDS,
      connect: CONNECT_MILLISECONDS,
    },
    clock,
    backlogBytesMax: BACKLOG_BYTES_MAX,
    bookEntriesMax: PUBLISHED_ENTRIES_MAX,
    restart: restart === undefined ? undefined : () => runCommand(restart),
    onProgress(name, result) {
      const place = `${scenarios.findIndex((scenario) => scenario.name === name) + 1} of ${scenarios.length}`
      if (result !== undefined) stderr.write(clear)
      else if (stderr.isTTY === true) stderr.write(`${clear}${place}: ${name}`)
    },
  }
}

function listeningText(host: string, server: { port: number; token: string; clientSecret: string }): string {
  const address = addressText(host, server.port)
  return [
    `listening on ws://${address}/`,
    `token ${server.token}`,
    `or client_id ${PUSH_CLIENT_ID} client_secret ${server.clientSecret} at http://${address}/oauth2/token`,
    '',
  ].join('\n')
}

function tokenOf({ token, tokenFile }: CheckPublisherOptions): string | undefined {
  if (tokenFile === undefined) return token
  if (token !== undefined) throw new Error('give --token or --token-file, not both')
  let text: string
  try {
    text = readFileSync(tokenFile, 'utf8').trim()
  } catch (error) {
    throw new Error(`--token-file cannot be read from ${tokenFile}: ${fileErrorText(error)}`)
  }
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error(`--token-file: ${tokenFile} does not contain one token`)
  return text
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'ws:' && url?.protocol !== 'wss:') throw new Error('URL must begin with ws:// or wss://')
  if (url.username + url.password !== '') throw new Error('URL must not contain a user name or password')
  return text
}

/** Runs the user's command in a shell, which is killed if it does not end. Its output is shown on stderr. */
function runCommand(command: string): Promise<void> {
  const limit = { timeout: RESTART_MILLISECONDS_MAX, killSignal: 'SIGKILL' } as const
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 2, 2], ...limit })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`the --restart command ${child.killed ? LATE : `ended with ${code ?? signal}`}`))
    })
  })
}

function textOf(results: readonly ScenarioResult[]): string {
  const rows = results.map(({ name, outcome, note, findings }) => [
    outcome === 'wrong' ? 'WRONG' : outcome,
    name,
    findings.length > 0 ? findings.map((finding) => finding.name).join(', ') : printable(note ?? ''),
  ])
  const lines = tableLines(rows)
  for (const { name, findings } of results)
    for (const finding of findings) lines.push('', ...findingLines(name, finding))
  const all = results.flatMap(({ findings }) => findings)
  const names = (isWarning: boolean) =>
    new Set(all.filter((finding) => finding.isWarning === isWarning).map(({ name }) => name)).size
  lines.push('', `${countText(names(false), 'broken rule')}, ${countText(names(true), 'warning')}.`)
  return `${lines.join('\n')}\n`
}

function findingLines(scenario: string, finding: BrokenRule): readonly string[] {
  const { name, isWarning, expected, section, count, examples } = finding
  const kind = isWarning ? 'warning' : 'broken'
  return [
    `${name} (${kind}, ${count} times in ${scenario})`,
    `  expected: ${expected}`,
    `  section:  ${section} (docs/how-to/feeding-your-own-book.md)`,
    ...examples.flatMap(({ market, detail, message }) => [
      `  seen:     ${market === undefined ? '' : `${printable(market)}: `}${printable(detail)}`,
      ...(message === undefined ? [] : [`  message:  ${printable(message)}`]),
    ]),
  ]
}

function listenAddress(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', port = ''] = /^(?:(\[[0-9a-fA-F:]+\]|[^:]+):)?([0-9]{1,5})$/.exec(text) ?? []
  if (port === '' || Number(port) > 65_535) throw new InvalidArgumentError('It must be [HOST:]PORT, like 9443.')
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function addMarket(text: string, earlier: readonly CheckedMarket[] = []): readonly CheckedMarket[] {
  const [, symbol, priceDecimals, amountDecimals] = /^([^:]{1,64})(?::([0-9]|1[0-8]):([0-9]|1[0-8]))?$/.exec(text) ?? []
  if (symbol === undefined) throw new InvalidArgumentError('It must be like BTCUSD or BTCUSD:2:8.')
  if (earlier.some((market) => market.symbol === symbol)) throw new InvalidArgumentError(`${symbol} is given twice.`)
  const decimals =
    priceDecimals === undefined ? undefined : { price: Number(priceDecimals), amount: Number(amountDecimals) }
  return [...earlier, { symbol, decimals }]
}
