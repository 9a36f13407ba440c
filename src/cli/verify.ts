/**
 * `tidegate verify`: connects to a service as a customer, subscribes every channel of the markets, and checks every
 * message with `stream-checker`. It uses only the public API. Exit code 1 means a violated rule. The report lists the
 * rules, the number of violations, and the first ones. With `--rest` it also compares the REST view with the stream.
 */
import type { Command } from 'commander'
import { type Finding, Findings } from '../conformance/judge/findings.ts'
import { RestChecker, type RestCounts } from '../conformance/judge/rest/rest-checker.ts'
import { RestRequests } from '../conformance/judge/rest/rest-requests.ts'
import { type RequestedChannel, StreamChecker, type StreamCounts } from '../conformance/judge/stream/stream-checker.ts'
import { StreamConnection } from '../conformance/judge/stream/stream-connection.ts'
import { VIOLATIONS, type Violation, type ViolationName } from '../conformance/judge/stream/violations.ts'
import { EXTENDED_SUBPROTOCOL } from '../contract/channels.ts'
import { positiveInteger } from './options/option-values.ts'
import { loadCredentials, type StreamCredentials } from './options/stream-credentials.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './terminal/environment.ts'
import { LineFile } from './terminal/line-file.ts'
import { clearOf } from './terminal/progress-line.ts'
import { printable, printableJson } from './terminal/styled-line.ts'
import { countText } from './terminal/table.ts'

interface VerifyOptions {
  readonly url?: string
  readonly credentials?: string
  readonly seconds: number
  readonly heartbeatSeconds?: number
  readonly save?: string
  readonly rest?: boolean
  readonly json?: boolean
}

interface Verdict {
  readonly ok: boolean
  readonly service: string
  readonly seconds: number
  readonly connections: number
  readonly counts: StreamCounts
  readonly rest?: RestCounts
  readonly books: readonly { readonly market: string; readonly bids: number; readonly asks: number }[]
  readonly violations: readonly RuleFinding[]
}

/** All violations with one name. */
interface RuleFinding extends Finding<ViolationName, Example> {
  readonly rule: string
}

/** With the milliseconds since the start at which the message arrived. */
interface Example {
  readonly market?: string
  readonly detail: string
  readonly atMilliseconds: number
}

const EXAMPLES_KEPT = 5
const PROGRESS_MILLISECONDS = 250

const HELP = `
Markets are taken from the credentials file when it names them ("markets": ["BTCUSD"]), else they must be given.
Credentials come from --credentials FILE, else from TIDEGATE_CLIENT_ID and TIDEGATE_CLIENT_SECRET (with --url), else
from ./data/demo-client.json, which the demo writes.

Exit code 0: every rule held. 1: a rule was broken, or the check could not be done.

Examples:
  $ tidegate verify BTCUSD
  $ tidegate verify BTCUSD ETHUSD SOLUSD --seconds 600
  $ tidegate verify BTCUSD --json --seconds 10 > report.json
  $ tidegate verify BTCUSD --seconds 3600 --save frames.jsonl
  $ tidegate verify BTCUSD --rest --seconds 150

Rules:
${Object.entries(VIOLATIONS)
  .map(([name, rule]) => `  ${name.padEnd(24)}${rule}`)
  .join('\n')}`

export function registerVerify(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  program
    .command('verify')
    .summary('checks a service from outside')
    .description('Rebuilds a service’s books from its stream, and names every violated rule.')
    .argument('[markets...]', 'market symbols, like BTCUSD')
    .option('--url <url>', 'base address, like http://127.0.0.1:8080')
    .option('--credentials <file>', 'credentials, formatted like data/demo-client.json')
    .option('--seconds <seconds>', 'how long to check', positiveInteger, 30)
    .option(
      '--heartbeat-seconds <seconds>',
      'heartbeat interval (default: learned from the first gaps)',
      positiveInteger,
    )
    .option('--save <file>', 'write every message to a new file for prove (uses tidegate.v1)')
    .option(
      '--rest',
      'also compare books, trades and candles over REST with the stream (scope exchange:read_marketdata, tidegate.v1). ' +
        'Candles need a whole minute',
    )
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((markets: string[], options: VerifyOptions) => stayAlive(verify(markets, options, environment)))
}

async function verify(
  given: readonly string[],
  options: VerifyOptions,
  environment: CommandEnvironment,
): Promise<void> {
  const credentials = await loadCredentials(options, environment.variables)
  const markets = marketsOf(given, credentials)
  const { clock, stdout, stderr } = environment
  const isExtended = options.save !== undefined || options.rest === true
  const requested = channelsOf(markets)
  const checker = new StreamChecker({ ...heartbeatOf(options), isExtended, requested })
  const findings = new Findings<RuleFinding>(EXAMPLES_KEPT, (name) => ({ name, rule: VIOLATIONS[name] }))
  const start = clock.monotonicMilliseconds()
  let connections = 0
  const take = (violations: readonly Violation[]): void => {
    for (const violation of violations) findings.add(violation.name, () => exampleOf(violation, start))
    // A rejected subscription sends nothing: there is nothing to wait for.
    if (findings.has('request-refused')) connection.stop()
  }
  const rest = options.rest === true ? restCheck(credentials, markets, environment, take) : undefined
  await rest?.requests.begin()
  const saved = options.save === undefined ? undefined : new LineFile(options.save, () => connection.stop())
  const connection = new StreamConnection({
    credentials,
    request: { type: 'subscribe', channels: requested },
    ...(isExtended ? { subprotocol: EXTENDED_SUBPROTOCOL } : {}),
    clock,
    random: environment.random,
    onOpen() {
      connections++
      checker.onConnect()
      rest?.checker.onConnect()
    },
    onMessage(text) {
      saved?.add(text)
      take(checker.onMessage(text, clock.monotonicMilliseconds()))
      rest?.checker.onMessage(text)
      const channels = checker.takeEnded()
      if (channels.length > 0) connection.send({ type: 'subscribe', channels })
      // The service has removed every market: there is nothing left to check.
      if (markets.every((market) => checker.isRemoved(market))) connection.stop()
    },
    onDown(reason) {
      checker.onDisconnect(clock.monotonicMilliseconds())
      stderr.write(`${clearOf(stderr)}disconnected: ${printable(reason)}\n`)
    },
  })
  const endProgress = showProgress(checker, findings, start, options.seconds, environment)
  try {
    await runFor(options.seconds, connection, rest, environment)
  } finally {
    endProgress()
    saved?.close()
  }
  const now = clock.monotonicMilliseconds()
  take(checker.onEnd(now, markets))
  rest?.checker.onEnd((market) => checker.isRemoved(market))
  const verdict: Verdict = {
    ok: findings.count === 0,
    service: credentials.ws_url,
    seconds: Math.round(now - start) / 1000,
    connections,
    counts: checker.counts,
    ...(rest === undefined ? {} : { rest: rest.checker.counts }),
    books: markets.map((market) => ({ market, ...(checker.levels(market) ?? { bids: 0, asks: 0 }) })),
    violations: findings.all,
  }
  stdout.write(options.json === true ? `${printableJson(verdict)}\n` : reportText(verdict))
  if (!verdict.ok) environment.setExitCode(1)
}

function marketsOf(given: readonly string[], credentials: StreamCredentials): readonly string[] {
  const markets = given.length > 0 ? [...new Set(given)] : credentials.markets
  if (markets.length === 0) throw new Error('name at least one market, such as: tidegate verify BTCUSD')
  return markets
}

function heartbeatOf({ heartbeatSeconds: seconds }: VerifyOptions) {
  return seconds === undefined ? {} : { heartbeatMilliseconds: seconds * 1000 }
}

interface RestCheck {
  readonly checker: RestChecker
  readonly requests: RestRequests
  /** Ends the requests. */
  readonly stop: () => void
}

function restCheck(
  credentials: StreamCredentials,
  markets: readonly string[],
  { clock, random }: CommandEnvironment,
  take: (violations: readonly Violation[]) => void,
): RestCheck {
  const checker = new RestChecker(markets, (name, market, detail) =>
    take([{ name, market, detail, receivedAtMilliseconds: clock.monotonicMilliseconds() }]),
  )
  const stopping = new AbortController()
  const requests = new RestRequests({ credentials, markets, checker, clock, random, stop: stopping.signal })
  return { checker, requests, stop: () => stopping.abort() }
}

/** Resolves when the time is over, a signal has arrived, or the connection was stopped. */
async function runFor(
  seconds: number,
  connection: StreamConnection,
  rest: RestCheck | undefined,
  { clock, onStopSignal }: CommandEnvironment,
): Promise<void> {
  const removeSignals = onStopSignal(() => connection.stop())
  const end = clock.schedule(seconds * 1000, () => connection.stop())
  try {
    const requests = rest?.requests.run().finally(() => connection.stop())
    await Promise.all([connection.run().finally(rest?.stop), requests])
  } finally {
    end.cancel()
    removeSignals()
  }
}

/** In one request, so all channels of a market start from one version. */
function channelsOf(markets: readonly string[]): readonly RequestedChannel[] {
  const perMarket = ['market_data', 'market_data.top_of_book', 'execution_data']
  const channels = markets.flatMap((market) => perMarket.map((type) => ({ type, params: { market } })))
  return [...channels, { type: 'heartbeat' }]
}

function exampleOf({ market, detail, receivedAtMilliseconds }: Violation, startMilliseconds: number): Example {
  const atMilliseconds = Math.round(receivedAtMilliseconds - startMilliseconds)
  return { ...(market === undefined ? {} : { market }), detail, atMilliseconds }
}

/** Shows the progress on a terminal. The returned function removes the line. */
function showProgress(
  checker: StreamChecker,
  findings: Findings<RuleFinding>,
  startMilliseconds: number,
  seconds: number,
  { stderr, clock }: CommandEnvironment,
): () => void {
  if (stderr.isTTY !== true) return () => undefined
  let next = clock.schedule(0, tick)
  function tick(): void {
    const passed = Math.floor((clock.monotonicMilliseconds() - startMilliseconds) / 1000)
    const { messages } = checker.counts
    stderr.write(`${clearOf(stderr)}${passed} of ${seconds} s, ${messages} messages, ${findings.count} violations`)
    next = clock.schedule(PROGRESS_MILLISECONDS, tick)
  }
  return () => {
    next.cancel()
    stderr.write(clearOf(stderr))
  }
}

function reportText(verdict: Verdict): string {
  const { counts, rest, books, violations } = verdict
  const countLine = ([what, count]: readonly [string, number]) => `  ${what.padEnd(12)}${String(count).padStart(10)}`
  const lines = [
    `${verdict.service}, ${verdict.seconds} s, ${countText(verdict.connections, 'connection')}`,
    ...Object.entries(counts).map(countLine),
    ...(rest === undefined ? [] : ['  compared over REST:', ...Object.entries(rest).map(countLine)]),
    ...books.map(({ market, bids, asks }) => `  ${market.padEnd(12)}${bids} bids, ${asks} asks at the end`),
  ]
  for (const { name, rule, count, examples } of violations) {
    lines.push('', `${name} (${count}): ${rule}`)
    for (const { market, detail, atMilliseconds } of examples) {
      lines.push(
        `  at ${atMilliseconds} ms${market === undefined ? '' : ` ${printable(market)}`}: ${printable(detail)}`,
      )
    }
  }
  lines.push(
    '',
    verdict.ok
      ? 'No violations.'
      : `${violations.reduce((sum, { count }) => sum + count, 0)} violations of ${violations.length} rules.`,
  )
  return `${lines.join('\n')}\n`
}
