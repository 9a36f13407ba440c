/**
 * `tidegate watch`: shows one live market, as a full-screen ladder on a terminal and as one line per event elsewhere. It uses
 * only the public API, reconnects automatically, and ends with exit code 0 on Ctrl-C.
 */
import type { Command } from 'commander'
import { millisecondText, type Timer } from '../base/clock.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './environment.ts'
import { Ladder } from './ladder.ts'
import { type ServedState, watchMarketState } from './market-state.ts'
import { MarketView, spreadText, type ViewEvent } from './market-view.ts'
import { positiveInteger } from './option-values.ts'
import { openScreen, type Screen } from './screen.ts'
import { StreamClient } from './stream-client.ts'
import { loadCredentials } from './stream-credentials.ts'
import { connectionEventLine, eventLine } from './watch-lines.ts'

interface WatchOptions {
  readonly url?: string
  readonly credentials?: string
  readonly seconds?: number
  readonly depth?: number
}

/** The display of a watch. */
interface WatchOutput {
  onEvent(event: ViewEvent): void
  /** The service reports a different state of the market. */
  onState(state: ServedState): void
  onOpen(): void
  onDown(reason: string, code: number | undefined, retryInMilliseconds: number): void
  close(): void
}

/** Frames faster than this are not useful, and too much for a terminal over ssh. */
const FRAME_MILLISECONDS = 50
/** Redraws the ages while there are no events. */
const IDLE_FRAME_MILLISECONDS = 250

const EXAMPLES = `
Credentials come from --credentials FILE, else from TIDEGATE_CLIENT_ID and TIDEGATE_CLIENT_SECRET (with --url), else
from ./data/demo-client.json, which the demo writes.

Examples:
  $ tidegate watch BTCUSD
  $ tidegate watch BTCUSD --depth 5
  $ tidegate watch ETHUSD --seconds 60 | grep ' trade '
  $ TIDEGATE_CLIENT_ID=… TIDEGATE_CLIENT_SECRET=… tidegate watch BTCUSD --url https://stream.example.com`

export function registerWatch(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  program
    .command('watch')
    .summary('shows a live market')
    .description('Shows a live market: ladder, spread and trades on a terminal, one line per event elsewhere.')
    .argument('<market>', 'market symbol, like BTCUSD')
    .option('--url <url>', 'base address of the service, like http://127.0.0.1:8080')
    .option('--credentials <file>', 'credentials file, in the format of data/demo-client.json')
    .option('--seconds <seconds>', 'end after this number of seconds', positiveInteger)
    .option('--depth <levels>', 'levels per side (default: as many as fit the terminal, 1 in lines)', positiveInteger)
    .addHelpText('after', EXAMPLES)
    .action((market: string, options: WatchOptions) => stayAlive(watch(market, options, environment)))
}

async function watch(market: string, options: WatchOptions, environment: CommandEnvironment): Promise<void> {
  const credentials = await loadCredentials(options, environment.variables)
  const { clock } = environment
  const view = new MarketView(market)
  const params = { market }
  const channels = [
    ...['market_data', 'market_data.top_of_book', 'execution_data'].map((type) => ({ type, params })),
    { type: 'heartbeat' },
  ]
  let failure: unknown
  let hasFailed = false
  let endStates: (() => void) | undefined
  const client = new StreamClient({
    credentials,
    requests: [{ type: 'subscribe', channels }],
    clock,
    random: environment.random,
    onOpen() {
      view.onConnect()
      output.onOpen()
      endStates ??= watchMarketState({
        url: credentials.restUrl,
        market,
        clock,
        accessToken: () => client.accessToken,
        onState: (state) => noteState(view, output, state),
      })
    },
    onMessage(text) {
      if (hasFailed) return
      try {
        const event = view.onMessage(text, clock.monotonicMilliseconds())
        output.onEvent(event)
        if (event.type === 'ended') client.send({ type: 'subscribe', channels: event.channels })
        if (event.type === 'failed') client.reconnect()
      } catch (error) {
        hasFailed = true
        failure = error
        client.stop()
      }
    },
    onDown: ({ reason, code, retryInMilliseconds }) => output.onDown(reason, code, retryInMilliseconds),
  })
  const host = new URL(credentials.wsUrl).host
  const { stdout, variables } = environment
  // A pseudo-terminal without a size reports 0 columns.
  const canDraw = stdout.isTTY === true && stdout.columns !== 0 && variables.TERM !== 'dumb'
  const output = canDraw
    ? ladderOutput(view, host, options, environment)
    : lineOutput(view, host, options, environment, client)
  const stop = (): void => client.stop()
  const removeSignals = environment.onStopSignal(stop)
  const end = options.seconds === undefined ? undefined : clock.schedule(options.seconds * 1000, stop)
  try {
    await client.run()
  } finally {
    end?.cancel()
    endStates?.()
    removeSignals()
    output.close()
  }
  if (hasFailed) throw failure
}

/** A market that is live from the start is not reported. */
function noteState(view: MarketView, output: WatchOutput, state: ServedState | undefined): void {
  const before = view.served?.state ?? 'LIVE'
  view.served = state
  if (state !== undefined && state.state !== before) output.onState(state)
}

function ladderOutput(
  view: MarketView,
  host: string,
  { depth }: WatchOptions,
  { stdout, clock }: CommandEnvironment,
): WatchOutput {
  const screen: Screen = openScreen(stdout)
  const ladder = new Ladder()
  const hasColors = stdout.hasColors?.() ?? false
  let isOpen = false
  let note = `connecting to ${host}`
  let down: { reason: string; retryAtMilliseconds: number } | undefined
  let nextFrame: Timer | undefined
  let lastFrameMilliseconds = Number.NEGATIVE_INFINITY
  const draw = (): void => {
    nextFrame?.cancel()
    const nowMilliseconds = clock.monotonicMilliseconds()
    lastFrameMilliseconds = nowMilliseconds
    if (down !== undefined) {
      const left = Math.max(0, Math.ceil((down.retryAtMilliseconds - nowMilliseconds) / 1000))
      note = `${down.reason}, trying again ${left === 0 ? 'now' : `in ${left} s`} · Ctrl-C ends`
    }
    // One line stays free for the cursor after the last newline.
    const size = {
      columns: stdout.columns ?? 80,
      rows: (stdout.rows ?? 24) - 1,
      ...(depth === undefined ? {} : { depth }),
    }
    screen.draw(ladder.lines(view, { host, isOpen, note, nowMilliseconds }, size, hasColors))
    nextFrame = clock.schedule(IDLE_FRAME_MILLISECONDS, draw)
  }
  /** Draws a frame as soon as the frame rate allows; the first one at once. */
  const drawSoon = (): void => {
    const wait = lastFrameMilliseconds + FRAME_MILLISECONDS - clock.monotonicMilliseconds()
    nextFrame?.cancel()
    if (wait <= 0) draw()
    else nextFrame = clock.schedule(wait, draw)
  }
  screen.onResize(draw)
  draw()
  return {
    onEvent: drawSoon,
    onState: drawSoon,
    onOpen() {
      isOpen = true
      down = undefined
      drawSoon()
    },
    onDown(reason, _code, retryInMilliseconds) {
      isOpen = false
      down = { reason, retryAtMilliseconds: clock.monotonicMilliseconds() + retryInMilliseconds }
      drawSoon()
    },
    close() {
      nextFrame?.cancel()
      screen.close()
      const last = lastLine(view)
      if (last !== undefined) stdout.write(`${last}\n`)
    },
  }
}

/** The line that stays on the terminal after the ladder. */
function lastLine(view: MarketView): string | undefined {
  const { bid, ask } = view.best()
  const spread = spreadText({ bid, ask })
  if (bid === undefined || ask === undefined || spread === undefined) return undefined
  return `${view.market} ${bid.price} x ${bid.amount} / ${ask.price} x ${ask.amount}, spread ${spread.value} (${spread.basisPoints} bp)`
}

function lineOutput(
  view: MarketView,
  host: string,
  { depth = 1 }: WatchOptions,
  { stdout, clock }: CommandEnvironment,
  client: StreamClient,
): WatchOutput {
  const onDrain = (): void => client.resume()
  const onError = (error: NodeJS.ErrnoException): void => {
    // A closed pipe, as with `watch … | head`, is a normal end.
    if (error.code !== 'EPIPE') throw error
    client.stop()
  }
  stdout.on('drain', onDrain)
  stdout.on('error', onError)
  const print = (line: string): void => {
    // A slow output stops our reading, and the service conflates the updates meanwhile.
    if (!stdout.write(`${line}\n`)) client.pause()
  }
  const now = (): string => millisecondText(clock.wallInstant().milliseconds)
  return {
    onEvent(event) {
      const line = eventLine(view, event, depth)
      if (line !== undefined) print(line)
      if (event.type !== 'ended' && event.type !== 'failed') return
      print(connectionEventLine(now(), event.type, view.market, [`reason=${JSON.stringify(event.message)}`]))
    },
    onState: ({ state, since }) =>
      print(connectionEventLine(now(), state.toLowerCase(), view.market, [`since=${since}`])),
    onOpen: () => print(connectionEventLine(now(), 'connected', view.market, [`host=${host}`])),
    onDown(reason, code, retryInMilliseconds) {
      const pairs = [`code=${code ?? ''}`, `retry_ms=${retryInMilliseconds}`, `reason=${JSON.stringify(reason)}`]
      print(connectionEventLine(now(), 'disconnected', view.market, pairs))
    },
    close() {
      stdout.off('drain', onDrain)
      // The error listener stays: a broken pipe may still be reported after the last line.
    },
  }
}
