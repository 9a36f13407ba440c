/**
 * A publisher's connection to the stand-in for the ingest listener: its messages are checked as they arrive, and the
 * server's messages are sent as the scenarios require.
 */
import type { WebSocket } from 'ws'
import type { Timer } from '../../../platform/base/clock.ts'
import type { CheckRun } from './check-run.ts'
import { ConnectionChecker } from './connection-checker.ts'
import type { Position } from './published-market.ts'

const ACCEPTED_MILLISECONDS = 1_000

export class PushConnection {
  readonly checker: ConnectionChecker
  readonly #run: CheckRun
  readonly #webSocket: WebSocket
  #isOpen = true
  #pongs = 0
  #timer: Timer | undefined
  readonly #acceptedSent = new Map<string, string>()
  /** While true, `accepted` is not repeated. */
  isSilent = false
  /** How it ended. Empty while it is open. */
  endText = ''
  /** The smallest difference between a message's arrival and its time, in milliseconds. */
  #delayMilliseconds = Number.POSITIVE_INFINITY
  /** Messages from before this wall-clock time count as kept. Undefined: none is counted. */
  #keptUntilMilliseconds: number | undefined
  keptBytes = 0

  constructor(run: CheckRun, webSocket: WebSocket) {
    this.#run = run
    this.#webSocket = webSocket
    const { markets, report, options } = run
    this.checker = new ConnectionChecker({
      markets,
      report,
      heartbeatMilliseconds: options.times.heartbeat,
      isMain: true,
      unexpected: 'market-unknown',
    })
    this.checker.expectHeartbeats(run.now)
    webSocket.on('message', (data, isBinary) => this.#take(String(data), isBinary))
    webSocket.on('pong', () => {
      this.#pongs++
      run.notify()
    })
    webSocket.on('error', (error) => this.#end(error.message))
    webSocket.on('close', (code, reason) => this.#end(`closed with ${code} ${reason}`.trimEnd()))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Sends the first `accepted`, which every publisher waits for.
   * @param positions reported as accepted. Absent: all that has arrived
   */
  accept(positions?: ReadonlyMap<string, Position | undefined>): void {
    const entries = [...this.#run.markets.values()].map((market) => {
      const position = positions === undefined ? market.position : positions.get(market.symbol)
      this.checker.open(market).begin(position, 'accepted-ignored')
      this.#acceptedSent.set(market.symbol, textOf(position))
      return { market: market.symbol, ...position }
    })
    this.send({ type: 'accepted', markets: entries })
    this.#repeat()
  }

  send(message: object): void {
    if (this.#isOpen) this.#webSocket.send(JSON.stringify(message))
  }

  /** Whether a ping is answered in time. */
  async ping(): Promise<boolean> {
    const before = this.#pongs
    if (this.#isOpen) this.#webSocket.ping()
    await this.#run.until(() => this.#pongs > before || !this.#isOpen, this.#run.options.times.answer)
    return this.#pongs > before
  }

  /** Stops reading the socket. */
  pause(): void {
    this.checker.expectHeartbeats(undefined)
    this.#webSocket.pause()
  }

  /** Reads again, and counts the bytes of earlier messages as `keptBytes`. */
  resume(): void {
    this.#keptUntilMilliseconds = this.#run.options.clock.wallInstant().milliseconds
    this.#webSocket.resume()
    this.checker.expectHeartbeats(this.#run.now)
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.#webSocket.terminate()
    this.#end('')
  }

  close(code: number, reason: string): void {
    this.#webSocket.resume()
    if (this.#isOpen) this.#webSocket.close(code, reason)
    const timer = this.#run.options.clock.schedule(1_000, () => this.#webSocket.terminate())
    this.#webSocket.once('close', () => timer.cancel())
    this.#end('')
  }

  #take(text: string, isBinary: boolean): void {
    if (!this.#isOpen) return
    if (isBinary) this.#run.report('message-malformed', undefined, 'a message is a binary frame')
    else {
      this.#measure(text)
      this.checker.take(text, this.#run.now)
    }
    this.#run.notify()
  }

  /** Compares a message's time with its arrival. The clocks on both sides may differ. */
  #measure(text: string): void {
    const [, time = ''] = /"time" ?: ?"([^"]{1,40})"/.exec(text) ?? []
    const milliseconds = Date.parse(time)
    if (Number.isNaN(milliseconds)) return
    const until = this.#keptUntilMilliseconds
    if (until === undefined) {
      const arrived = this.#run.options.clock.wallInstant().milliseconds
      this.#delayMilliseconds = Math.min(this.#delayMilliseconds, arrived - milliseconds)
    } else if (milliseconds + this.#delayMilliseconds < until) this.keptBytes += text.length
  }

  #repeat(): void {
    this.#timer = this.#run.options.clock.schedule(ACCEPTED_MILLISECONDS, () => {
      if (!this.isSilent) this.#sendChanged()
      this.#repeat()
    })
  }

  #sendChanged(): void {
    const changed = [...this.#run.markets.values()].flatMap(({ symbol, position }) => {
      if (this.#acceptedSent.get(symbol) === textOf(position)) return []
      this.#acceptedSent.set(symbol, textOf(position))
      return [{ market: symbol, ...position }]
    })
    if (changed.length > 0) this.send({ type: 'accepted', markets: changed })
  }

  #end(text: string): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.endText = text
    this.#timer?.cancel()
    this.checker.expectHeartbeats(undefined)
    this.#run.notify()
  }
}

function textOf(position: Position | undefined): string {
  return position === undefined ? '' : `${position.epoch}.${position.seq}`
}
