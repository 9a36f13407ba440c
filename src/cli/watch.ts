/**
 * `tidegate watch`: shows one live market, as a full-screen ladder on a terminal and as one line per event elsewhere.
 * Book, executions and connection come from `@tidegate/client`. It ends with exit code 0 on Ctrl-C.
 */
import type { Command } from 'commander'
import {
  type BookChange,
  ClientCredentials,
  RestClient,
  StreamClient,
  type StreamEvent,
  type StreamOptions,
} from '../../packages/client/src/index.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'
import { type Clock, millisecondText, type Timer } from '../platform/base/clock.ts'
import { positiveInteger } from './options/option-values.ts'
import { loadCredentials } from './options/stream-credentials.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './terminal/environment.ts'
import { openScreen, type Screen } from './terminal/screen.ts'
import { clientPlatform } from './watch/client-platform.ts'
import { Ladder } from './watch/ladder.ts'
import { followMarketState, type ServedState } from './watch/market-state.ts'
import { levelText, MarketView, spreadOf, type Trade } from './watch/market-view.ts'
import {
  changeLine,
  connectionLine,
  heartbeatLine,
  stateLine,
  topLine,
  topText,
  tradeLine,
} from './watch/watch-lines.ts'

interface WatchOptions {
  readonly url?: string
  readonly credentials?: string
  readonly seconds?: number
  readonly depth?: number
}

/** What a watch draws on. The promises resolve when it can take more. Meanwhile the client conflates. */
interface WatchOutput {
  onChange(change: BookChange): Promise<void>
  onTrade(trade: Trade): Promise<void>
  onHeartbeat(time: string): void
  onEvent(event: StreamEvent): void
  /** The service reports a different market state. */
  onState(state: ServedState): void
  close(): void
}

/** One watch while it runs. */
interface Watch {
  readonly view: MarketView
  readonly output: WatchOutput
  readonly clock: Clock
  /** Aborted when the watch is to end. */
  readonly signal: AbortSignal
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
    .option('--url <url>', 'base address, like http://127.0.0.1:8080')
    .option('--credentials <file>', 'credentials, formatted like data/demo-client.json')
    .option('--seconds <seconds>', 'end after this time', positiveInteger)
    .option('--depth <levels>', 'levels per side (default: as many as fit the terminal, 1 in lines)', positiveInteger)
    .addHelpText('after', EXAMPLES)
    .action((market: string, options: WatchOptions) => stayAlive(watch(market, options, environment)))
}

async function watch(market: string, options: WatchOptions, environment: CommandEnvironment): Promise<void> {
  const credentials = await loadCredentials(options, environment.variables)
  const { clock, stdout, variables } = environment
  const platform = clientPlatform(environment)
  const tokens = new ClientCredentials(credentials, [STREAM_SCOPE], platform)
  const rest = new RestClient({ url: credentials.base_url, authenticate: tokens }, platform)
  const ending = new AbortController()
  const { signal } = ending
  const view = new MarketView(market)
  // A pseudo-terminal without a size reports 0 columns.
  const canDraw = stdout.isTTY === true && stdout.columns !== 0 && variables.TERM !== 'dumb'
  const output = canDraw
    ? ladderOutput(view, new URL(credentials.ws_url).host, options, environment)
    : lineOutput(view, options, environment, ending)
  const streamOptions: StreamOptions = {
    url: credentials.ws_url,
    authenticate: tokens,
    onEvent(event) {
      view.noteEvent(event)
      output.onEvent(event)
    },
    onHeartbeat(time) {
      view.noteHeartbeat(time, clock.monotonicMilliseconds())
      output.onHeartbeat(time)
    },
  }
  const client = new StreamClient(streamOptions, platform)
  const removeSignals = environment.onStopSignal(() => ending.abort())
  const end = options.seconds === undefined ? undefined : clock.schedule(options.seconds * 1000, () => ending.abort())
  const running = { view, output, clock, signal }
  try {
    await Promise.all([followBook(client, running), followTrades(client, running), followState(rest, running)])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    ending.abort()
    end?.cancel()
    removeSignals()
    output.close()
  }
}

async function followBook(client: StreamClient, { view, output, clock, signal }: Watch): Promise<void> {
  const book = await client.book(view.market, { signal })
  view.book = book
  for await (const change of book) {
    view.noteChange(change, clock.monotonicMilliseconds())
    await output.onChange(change)
  }
}

async function followTrades(client: StreamClient, { view, output, clock, signal }: Watch): Promise<void> {
  for await (const trade of await client.executions(view.market, { signal })) {
    view.noteTrade(trade, clock.monotonicMilliseconds())
    await output.onTrade(trade)
  }
}

/** A market which is live from the start is not reported. */
function followState(rest: RestClient, { view, output, clock, signal }: Watch): Promise<void> {
  const onState = (state: ServedState | undefined): void => {
    const before = view.served?.state ?? 'LIVE'
    view.served = state
    if (state !== undefined && state.state !== before) output.onState(state)
  }
  const isNeeded = (): boolean => view.needsState
  return followMarketState({ rest, market: view.market, clock, isNeeded, onState }, signal)
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
    screen.draw(ladder.lines(view, { host, note, nowMilliseconds }, size, hasColors))
    nextFrame = clock.schedule(IDLE_FRAME_MILLISECONDS, draw)
  }
  /** Draws a frame as soon as the frame rate allows. The first one is drawn at once. */
  const drawSoon = (): void => {
    const wait = lastFrameMilliseconds + FRAME_MILLISECONDS - clock.monotonicMilliseconds()
    nextFrame?.cancel()
    if (wait <= 0) draw()
    else nextFrame = clock.schedule(wait, draw)
  }
  screen.onResize(draw)
  draw()
  return {
    onChange: async () => drawSoon(),
    onTrade: async () => drawSoon(),
    onHeartbeat: drawSoon,
    onState: drawSoon,
    onEvent(event) {
      if (event.type === 'CONNECTED') down = undefined
      if (event.type === 'DISCONNECTED') {
        const { reason, retryInMilliseconds } = event
        down = { reason, retryAtMilliseconds: clock.monotonicMilliseconds() + retryInMilliseconds }
      }
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

/** The line left on the terminal after the ladder. */
function lastLine({ market, book }: MarketView): string | undefined {
  const spread = book === undefined ? undefined : spreadOf(book)
  if (book?.bestBid === undefined || book.bestAsk === undefined || spread === undefined) return undefined
  const prices = `${levelText(book.bestBid)} / ${levelText(book.bestAsk)}`
  return `${market} ${prices}, spread ${spread.value} (${spread.basisPoints} bp)`
}

/** @param ending aborted when the output is closed, as with `watch … | head`, which is a normal end */
function lineOutput(
  view: MarketView,
  { depth = 1 }: WatchOptions,
  { stdout, clock }: CommandEnvironment,
  ending: AbortController,
): WatchOutput {
  const { market } = view
  let isFull = false
  const waiting: (() => void)[] = []
  const onDrain = (): void => {
    isFull = false
    for (const resolve of waiting.splice(0)) resolve()
  }
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    ending.abort()
  }
  stdout.on('drain', onDrain)
  stdout.on('error', onError)
  ending.signal.addEventListener('abort', onDrain)
  const print = (line: string): void => {
    if (!stdout.write(`${line}\n`)) isFull = true
  }
  const drained = async (): Promise<void> => {
    // After the end nothing would resolve it.
    if (isFull && !ending.signal.aborted) await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const now = (): string => millisecondText(clock.wallInstant().milliseconds)
  let topBefore = ''
  return {
    async onChange(change) {
      const line = changeLine(view, change, depth)
      if (line === undefined || view.book === undefined) return
      const top = topText(view.book)
      // Executions precede the change they caused. They have their own loop, which prints them by then.
      await new Promise<void>((resolve) => clock.endOfTick(resolve))
      print(line)
      if (top !== topBefore) print(topLine(market, change.time, top))
      topBefore = top
      return drained()
    },
    onTrade(trade) {
      print(tradeLine(market, trade, now()))
      return drained()
    },
    onHeartbeat(time) {
      if (!isFull) print(heartbeatLine(market, time))
    },
    onEvent: (event) => print(connectionLine(market, event, now())),
    onState: ({ state, since }) => print(stateLine(market, state, since, now())),
    close() {
      stdout.off('drain', onDrain)
      // The error listener stays: a broken pipe may still be reported after the last line.
    },
  }
}
