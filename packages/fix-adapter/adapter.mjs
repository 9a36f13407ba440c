/**
 * Connects the FIX engine to the publisher. There is one TCP or TLS connection at a time, reconnected with backoff,
 * with one session and one epoch per connection. Messages go to the markets they concern. While the publisher is full,
 * the adapter does not read the socket, so TCP makes the engine wait.
 */
import { randomBytes } from 'node:crypto'
import { connect as connectTcp, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Publisher } from '../publisher/publisher.mjs'
import { backoffMilliseconds, printable, systemClock } from '../publisher/runtime.mjs'
import { Market } from './market.mjs'
import { Decoder, rfc3339Of } from './message.mjs'
import { Session } from './session.mjs'

/** @import { Socket } from 'node:net' */
/** @import { Clock, Log, Timer } from '../publisher/runtime.mjs' */
/** @import { Configuration } from './configuration.mjs' */
/** @import { Fields } from './entries.mjs' */
/** @import { Message } from './message.mjs' */

const CONNECT_MILLISECONDS = 10_000
const BACKOFF_MILLISECONDS_MAX = 30_000
const MESSAGE_BYTES_MAX = 16_777_216
/** The minimum time between two reports that the engine waits. */
const REPORT_MILLISECONDS = 60_000

export class FixAdapter {
  #configuration
  #clock
  #log
  #publisher
  /** By the engine's symbol. @type {Map<string, Market>} */
  #markets = new Map()
  #numbers = { next: 1, expected: 1 }
  /** @type {Socket | undefined} */
  #socket
  /** @type {Session | undefined} */
  #session
  #epoch = ''
  #isPaused = false
  #reportedMilliseconds = Number.NEGATIVE_INFINITY
  #isStopped = false
  #failures = 0
  /** @type {Timer | undefined} */
  #timer
  /** @type {(() => void) | undefined} */
  #onStopped

  /** @param {Configuration} configuration @param {{ clock?: Clock, log: Log, onRevoked?: () => void }} means */
  constructor(configuration, { clock = systemClock, log, onRevoked }) {
    this.#configuration = configuration
    this.#clock = clock
    this.#log = log
    /** @type {Map<string, Market>} */
    const byName = new Map()
    this.#publisher = new Publisher({
      ...configuration.tidegate,
      markets: configuration.markets.map(({ market }) => market),
      snapshotOf: (name) => /** @type {Market} */ (byName.get(name)).snapshot(),
      ...(onRevoked === undefined ? {} : { onRevoked }),
      onDrained: () => this.#pause(false),
      clock,
      log,
    })
    for (const settings of configuration.markets) {
      const market = new Market(settings, {
        publisher: this.#publisher,
        request: (type, fields) => this.#session?.request(type, fields),
        clock,
        log,
      })
      byName.set(settings.market, market)
      this.#markets.set(settings.symbol, market)
    }
  }

  start() {
    this.#publisher.start()
    this.#connect()
  }

  /** Logs out, reports the books as lost, and closes both connections. */
  async stop() {
    this.#isStopped = true
    this.#timer?.cancel()
    if (this.#session !== undefined) {
      const session = this.#session
      await new Promise((resolve) => {
        this.#onStopped = () => resolve(undefined)
        // The engine's answer must still be read.
        this.#pause(false)
        session.logout()
      })
    }
    await this.#publisher.stop()
  }

  #connect() {
    const { host, port, tls } = this.#configuration.fix
    const address = { host, port, timeout: CONNECT_MILLISECONDS }
    // TLS server names cannot be IP addresses.
    const named = isIP(host) === 0 ? { servername: host } : {}
    const socket = tls === undefined ? connectTcp(address) : connectTls({ ...named, ...address, ...tls })
    socket.setNoDelay(true)
    const session = this.#newSession(socket)
    const decoder = new Decoder(
      {
        onMessage: (message) => session.receive(message),
        onGarbled: (reason) => this.#log('warn', 'a garbled message was skipped', { reason }),
      },
      MESSAGE_BYTES_MAX,
    )
    let reason = ''
    this.#socket = socket
    this.#session = session
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.setTimeout(0)
      session.start()
    })
    socket.on('timeout', () => socket.destroy(new Error('no connection within 10 seconds')))
    socket.on('data', (chunk) => {
      decoder.push(/** @type {Buffer} */ (chunk))
      if (this.#publisher.isFull) this.#pause(true)
    })
    socket.on('error', (error) => {
      reason = printable(error.message)
    })
    socket.on('close', () => this.#onClosed(session, reason))
  }

  /** @param {Socket} socket */
  #newSession(socket) {
    const listener = {
      onLoggedOn: () => this.#onLoggedOn(),
      onMessage: (/** @type {Message} */ message) => this.#onMessage(message),
      onGap: (/** @type {string} */ reason) => {
        this.#log('warn', 'messages of the engine are missing', { reason })
        for (const market of this.#markets.values()) market.lose(reason)
      },
      onSkipped: (/** @type {number} */ count) => {
        for (const market of this.#markets.values()) market.skip(`the engine skipped ${count} messages`)
      },
      onRecovered: () => this.#subscribe(),
      onRequestsSkipped: () => this.#subscribe(),
      onEnd: (/** @type {string} */ reason) => {
        this.#log('warn', 'the FIX session ends', { reason })
        // Sends earlier writes first, but does not wait forever for an engine that does not read.
        socket.destroySoon()
        const limit = this.#clock.schedule(CONNECT_MILLISECONDS, () => socket.destroy())
        socket.once('close', () => limit.cancel())
      },
    }
    const means = {
      send: (/** @type {Buffer} */ bytes) => void socket.write(bytes),
      clock: this.#clock,
      log: this.#log,
    }
    return new Session(this.#configuration.fix, this.#numbers, listener, means)
  }

  #onLoggedOn() {
    const time = new Date(this.#clock.now()).toISOString().replaceAll(/[-:.]/g, '')
    this.#epoch = `fix-${time}-${randomBytes(2).toString('hex')}`
    this.#log('info', 'logged on to the FIX engine', { epoch: this.#epoch })
    for (const market of this.#markets.values()) market.begin(this.#epoch)
  }

  #subscribe() {
    for (const market of this.#markets.values()) market.subscribe()
  }

  /** @param {Session} session @param {string} reason */
  #onClosed(session, reason) {
    session.stop()
    if (session !== this.#session) return
    this.#session = undefined
    this.#socket = undefined
    this.#isPaused = false
    for (const market of this.#markets.values()) market.lose('not connected to the FIX engine')
    if (this.#isStopped) return this.#onStopped?.()
    const wait = backoffMilliseconds(this.#failures++, BACKOFF_MILLISECONDS_MAX)
    this.#log('warn', 'not connected to the FIX engine', { reason, retry_milliseconds: Math.round(wait) })
    this.#timer = this.#clock.schedule(wait, () => this.#connect())
  }

  /** @param {boolean} isPaused */
  #pause(isPaused) {
    if (isPaused === this.#isPaused || this.#socket === undefined) return
    this.#isPaused = isPaused
    this.#session?.pause(isPaused)
    if (!isPaused) {
      this.#socket.resume()
      return
    }
    this.#socket.pause()
    const now = this.#clock.now()
    if (now - this.#reportedMilliseconds < REPORT_MILLISECONDS) return
    this.#reportedMilliseconds = now
    this.#log('info', 'the engine waits: it sends faster than Tidegate takes messages')
  }

  /** @param {Message} message */
  #onMessage(message) {
    const text = printable(message.get(58) ?? '')
    const time = this.#timeOf(message)
    if (message.type === 'W' || message.type === 'X') return this.#onEntries(message, time)
    if (message.type === 'f') {
      const report = { tradingStatus: message.get(326), sessionPhase: message.get(625), text, time }
      return this.#markets.get(message.get(55) ?? '')?.report(report)
    }
    if (message.type === 'Y') {
      const reason = `${text} (281=${printable(message.get(281) ?? '')})`
      for (const market of this.#markets.values()) market.refused(message.get(262), reason)
    } else if (message.type === 'j' || message.type === '3') {
      this.#log('warn', 'the engine rejects a request', { type: printable(message.get(372) ?? ''), reason: text })
    }
  }

  /**
   * Distributes one message's entries: each market publishes all its entries together.
   * @param {Message} message
   * @param {string} time
   */
  #onEntries(message, time) {
    // Not the logon: an engine may end each session right after it.
    this.#failures = 0
    const requestId = message.get(262)
    const about = { time, requestId, prefix: `${this.#epoch}-${message.get(34)}` }
    const entries = message.entries(268)
    const requested = [...this.#markets.values()].find((market) => market.isRequest(requestId))
    if (entries === undefined) {
      this.#log('error', 'the number of entries is not the announced one', { type: message.type })
      for (const market of requested === undefined ? this.#markets.values() : [requested]) {
        market.fault('the number of entries is not the announced one')
      }
    } else if (message.type === 'W') {
      const market = this.#markets.get(message.get(55) ?? '') ?? requested
      market?.replace(entries, about)
    } else {
      for (const [market, own] of this.#byMarket(entries, requested)) market.change(own, about)
    }
  }

  /**
   * Each market's entries. An entry without a symbol belongs to the previous entry's market, and a first one to the
   * request's market.
   * @param {readonly Fields[]} entries
   * @param {Market | undefined} requested
   */
  #byMarket(entries, requested) {
    /** @type {Map<Market, Fields[]>} */
    const byMarket = new Map()
    let market = requested
    for (const fields of entries) {
      const symbol = fields.get(55)
      if (symbol !== undefined) market = this.#markets.get(symbol)
      if (market === undefined) continue
      const own = byMarket.get(market)
      if (own === undefined) byMarket.set(market, [fields])
      else own.push(fields)
    }
    return byMarket
  }

  /** TransactTime, or SendingTime. @param {Message} message */
  #timeOf(message) {
    return rfc3339Of(message.get(60)) ?? rfc3339Of(message.get(52)) ?? new Date(this.#clock.now()).toISOString()
  }
}
