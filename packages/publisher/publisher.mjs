/**
 * Publishes books and trades to Tidegate by push (docs/how-to/feeding-your-own-book.md). It owns the numbers of the messages,
 * the messages that Tidegate has not accepted yet, and the decision how a market continues on a new connection. It never
 * holds a book: the adapter keeps it and returns it from `snapshotOf`. It never buffers without bound: kept messages are
 * limited in bytes, and `isFull` asks the adapter to stop its input.
 */
import { Connection } from './connection.mjs'
import { printable, systemClock } from './runtime.mjs'

/** @import { ConnectionOptions } from './connection.mjs' */
/** @import { Clock, Log, Timer } from './runtime.mjs' */

/** Snapshots on request of one market: at least this far apart, twice as far each time within a minute. A market that was
 * rejected is published again after the longest wait. */
const SNAPSHOT_MILLISECONDS_MIN = 500
const SNAPSHOT_MILLISECONDS_MAX = 30_000
const CALM_MILLISECONDS = 60_000

/**
 * @typedef {{ price: string, amount: string }} Level
 * @typedef {{ id: string, side?: 'buy' | 'sell', price: string, amount: string, executed_at?: string }} Execution
 * @typedef {object} Instrument
 * @property {number} price_decimals
 * @property {number} amount_decimals
 * @property {'OPEN' | 'HALTED' | 'AUCTION' | 'CLOSED'} state
 * @property {string} reason
 *
 * @typedef {object} Update
 * @property {string} time
 * @property {readonly Level[]} [bids]
 * @property {readonly Level[]} [asks]
 * @property {readonly Execution[]} [executions]
 * @property {readonly object[]} [orders] Changes of orders, instead of the other members.
 *
 * @typedef {object} Snapshot
 * @property {string} time
 * @property {Instrument} instrument
 * @property {readonly Level[]} [bids]
 * @property {readonly Level[]} [asks]
 * @property {readonly object[]} [orders] Every order, instead of `bids` and `asks`.
 *
 * @typedef {object} PublisherOptions
 * @property {readonly string[]} markets
 * @property {(market: string) => Snapshot} snapshotOf The book as it is now; called only while the market is trusted.
 * @property {() => void} [onRevoked] Tidegate has revoked the client's access: nothing is published any more.
 * @property {() => void} [onDrained] Input may continue: `isFull` was true, and is false now.
 * @property {number} [keptBytesMax] Messages of one market kept until Tidegate has accepted them. 4 MiB by default.
 * @property {Clock} [clock]
 * @property {Log} log
 *
 * @typedef {object} Market
 * @property {string} name
 * @property {string} epoch
 * @property {number} seq Of the last message.
 * @property {'unknown' | 'trusted' | 'lost'} book `unknown`: no SNAPSHOT in this epoch yet.
 * @property {string} reason Why the book is lost.
 * @property {{ seq: number, text: string }[]} kept Consecutive, and the last one is `seq`.
 * @property {number} keptBytes
 * @property {number} snapshotSeq Of the last SNAPSHOT: what Tidegate has accepted beyond it proves that it arrived.
 * @property {boolean} isLive Whether messages of this market continue what Tidegate has on this connection.
 * @property {boolean} isRefused Whether Tidegate rejected the market on this connection.
 * @property {number} requestedMilliseconds When a SNAPSHOT was last sent on request.
 * @property {number} requests Requests within a minute of the one before.
 * @property {Timer | undefined} timer
 */

export class Publisher {
  #options
  #clock
  #connection
  /** @type {Map<string, Market>} */
  #markets = new Map()
  #isOpen = false

  /** @param {PublisherOptions & ConnectionOptions} options */
  constructor(options) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const listener = {
      /** @param {Record<string, unknown>} message */
      onMessage: (message) => this.#onMessage(message),
      onClosed: () => this.#onClosed(),
      onRevoked: () => options.onRevoked?.(),
      onDrained: () => options.onDrained?.(),
    }
    this.#connection = new Connection(options, listener, this.#clock, options.log)
    for (const name of options.markets) this.#markets.set(name, newMarket(name))
  }

  /** Whether the adapter has to stop its input until `onDrained`. */
  get isFull() {
    return this.#connection.isFull
  }

  start() {
    this.#connection.start()
  }

  /** Reports every trusted book as lost, and closes the connection. */
  async stop() {
    for (const { name, timer } of this.#markets.values()) {
      timer?.cancel()
      this.lost(name, 'the publisher stops')
    }
    await this.#connection.stop()
  }

  /**
   * Starts a new epoch of a market, which must never have been used. A trusted book is lost. Nothing is published before
   * `snapshot`.
   * @param {string} name
   * @param {string} epoch 1 to 64 characters of `A-Z a-z 0-9 _ -`.
   */
  begin(name, epoch) {
    const market = this.#market(name)
    // Until the new epoch's SNAPSHOT, Tidegate would show the previous epoch's book as live.
    this.lost(name, 'a new epoch begins')
    cancelAnswer(market)
    const { isRefused, timer } = market
    Object.assign(market, newMarket(name), { epoch, isRefused, timer })
  }

  /** The book is trusted from now on: publishes the SNAPSHOT that the adapter returns. @param {string} name */
  snapshot(name) {
    const market = this.#market(name)
    market.book = 'trusted'
    market.snapshotSeq = market.seq
    market.kept = []
    market.keptBytes = 0
    if (this.#isOpen) this.#sendSnapshot(market)
  }

  /**
   * Publishes changes of the book and trades, as one message. While the book is lost, only trades.
   * @param {string} name
   * @param {Update} update
   */
  update(name, update) {
    this.#publish(this.#market(name), 'UPDATE', update)
  }

  /** Publishes the state of the instrument. @param {string} name @param {Instrument & { time: string }} instrument */
  instrument(name, instrument) {
    this.#publish(this.#market(name), 'INSTRUMENT', instrument)
  }

  /** Trades were lost before this moment. @param {string} name @param {string} reason */
  missed(name, reason) {
    this.#publish(this.#market(name), 'UPDATE', { time: this.#time(), missed: reason })
  }

  /** The book is not trusted until the next `snapshot`. @param {string} name @param {string} reason */
  lost(name, reason) {
    const market = this.#market(name)
    if (market.book !== 'trusted') return
    market.book = 'lost'
    market.reason = reason
    cancelAnswer(market)
    market.kept = []
    market.keptBytes = 0
    if (market.isLive) this.#sendLost(market, market.seq)
  }

  /** @param {Market} market @param {string} type @param {object} members */
  #publish(market, type, members) {
    // Tidegate ignores an epoch before its first SNAPSHOT.
    if (market.book === 'unknown') return
    const seq = ++market.seq
    const text = messageText(market, type, members, seq)
    const max = this.#options.keptBytesMax ?? 4_194_304
    market.kept.push({ seq, text })
    market.keptBytes += text.length
    // Half is dropped at once, because removing from the front of a list costs as much as the list is long.
    if (market.keptBytes > max) dropKept(market, (_, bytes) => bytes > max / 2)
    if (market.isLive) this.#connection.send(text)
  }

  /** @param {Market} market */
  #sendSnapshot(market) {
    if (market.isRefused) return
    const { time, ...members } = this.#options.snapshotOf(market.name)
    this.#connection.send(messageText(market, 'SNAPSHOT', { time, ...members }, market.seq))
    market.snapshotSeq = market.seq
    market.isLive = true
  }

  /** @param {Market} market @param {number} seq */
  #sendLost(market, seq) {
    this.#connection.send(messageText(market, 'LOST', { time: this.#time(), reason: market.reason }, seq))
  }

  /** @param {Record<string, unknown>} message */
  #onMessage(message) {
    const name = typeof message.market === 'string' ? message.market : undefined
    if (message.type === 'accepted') return this.#onAccepted(message.markets)
    const market = name === undefined ? undefined : this.#markets.get(name)
    if (message.type === 'snapshot_request' && market !== undefined) return this.#onRequest(market, message.reason)
    if (message.type !== 'rejected') return
    const reason = printable(message.message)
    if (market === undefined) return this.#options.log('error', 'Tidegate rejects the connection', { reason })
    if (!market.isRefused) this.#options.log('error', 'Tidegate rejects the market', { market: name, reason })
    market.isRefused = true
    market.isLive = false
    // Broken messages are rejected as well: another one may be accepted.
    market.timer?.cancel()
    market.timer = this.#clock.schedule(SNAPSHOT_MILLISECONDS_MAX, () => this.#admit(market))
  }

  /** Publishes a market again that was rejected. @param {Market} market */
  #admit(market) {
    market.isRefused = false
    if (this.#isOpen && market.book === 'trusted') this.#sendSnapshot(market)
  }

  /** @param {unknown} list */
  #onAccepted(list) {
    const wasOpen = this.#isOpen
    this.#isOpen = true
    /** @type {Map<unknown, Record<string, unknown>>} */
    const accepted = new Map(Array.isArray(list) ? list.map((entry) => [entry.market, entry]) : [])
    if (!wasOpen) this.#options.log('info', 'connected to Tidegate', { markets: accepted.size })
    for (const market of this.#markets.values()) {
      const entry = accepted.get(market.name)
      const seq = entry?.epoch === market.epoch && typeof entry.seq === 'number' ? entry.seq : undefined
      if (wasOpen) {
        if (seq !== undefined) dropKept(market, (message) => message.seq <= seq)
        if (entry !== undefined && market.isRefused) this.#admit(market)
      } else if (entry === undefined) {
        market.isRefused = true
        this.#options.log('error', 'Tidegate does not accept this market from this client', { market: market.name })
      } else this.#continue(market, seq)
    }
  }

  /**
   * Continues a market on a new connection: with the messages after the last accepted one if all of them were kept, with
   * a SNAPSHOT otherwise. Also where there is none: before its first message, Tidegate shows a market as lost.
   * @param {Market} market
   * @param {number | undefined} accepted
   */
  #continue(market, accepted) {
    const isComplete = accepted !== undefined && accepted <= market.seq && market.seq - market.kept.length <= accepted
    const isLost = market.book === 'lost'
    const { snapshotSeq } = market
    const isKnown = isComplete && accepted > snapshotSeq
    if (isComplete && (isLost || (market.book === 'trusted' && isKnown && accepted < market.seq))) {
      if (isLost) this.#sendLost(market, accepted)
      market.isLive = true
      for (const { seq, text } of market.kept) if (seq > accepted) this.#connection.send(text)
    } else if (market.book === 'trusted') {
      this.#sendSnapshot(market)
      // Tidegate has this book already: later messages can continue it on yet another connection, where it did not arrive.
      if (isKnown) market.snapshotSeq = snapshotSeq
    }
  }

  /** @param {Market} market @param {unknown} reason */
  #onRequest(market, reason) {
    // The clock may have been set back.
    const elapsed = Math.max(0, this.#clock.now() - market.requestedMilliseconds)
    if (elapsed > CALM_MILLISECONDS) market.requests = 0
    const wait = Math.min(SNAPSHOT_MILLISECONDS_MAX, SNAPSHOT_MILLISECONDS_MIN * 2 ** market.requests) - elapsed
    this.#options.log('warn', 'Tidegate requests a snapshot', { market: market.name, reason: printable(reason) })
    // What is kept would be ignored: the next connection, too, begins with a SNAPSHOT.
    market.snapshotSeq = market.seq
    market.timer?.cancel()
    market.isRefused = false
    if (market.requests++ === 0 || wait <= 0) this.#answerRequest(market)
    else market.timer = this.#clock.schedule(wait, () => this.#answerRequest(market))
  }

  /** @param {Market} market */
  #answerRequest(market) {
    market.requestedMilliseconds = this.#clock.now()
    // A lost book is published when the adapter has it again.
    if (this.#isOpen && market.book === 'trusted') this.#sendSnapshot(market)
  }

  #onClosed() {
    this.#isOpen = false
    for (const market of this.#markets.values()) {
      market.timer?.cancel()
      market.isLive = false
      market.isRefused = false
    }
  }

  #time() {
    return new Date(this.#clock.now()).toISOString()
  }

  /** @param {string} name */
  #market(name) {
    const market = this.#markets.get(name)
    if (market === undefined) throw new Error(`${name} is not a market of this publisher`)
    return market
  }
}

/** @param {string} name @returns {Market} */
function newMarket(name) {
  return {
    name,
    epoch: '',
    seq: 0,
    book: 'unknown',
    reason: '',
    kept: [],
    keptBytes: 0,
    snapshotSeq: 0,
    isLive: false,
    isRefused: false,
    requestedMilliseconds: 0,
    requests: 0,
    timer: undefined,
  }
}

/** Cancels the delayed answer to a request, and not the timer that admits a rejected market. @param {Market} market */
function cancelAnswer(market) {
  if (!market.isRefused) market.timer?.cancel()
}

/** @param {Market} market @param {string} type @param {object} members @param {number} seq */
function messageText(market, type, members, seq) {
  const payload = { market: market.name, type, ...members }
  return JSON.stringify({ channel: 'publication', payload, stream: { epoch: market.epoch, seq } })
}

/**
 * Drops kept messages from the oldest on, while the condition holds for the message and the bytes that are kept.
 * @param {Market} market
 * @param {(message: { seq: number }, keptBytes: number) => boolean} isDropped
 */
function dropKept(market, isDropped) {
  let count = 0
  for (const message of market.kept) {
    if (!isDropped(message, market.keptBytes)) break
    market.keptBytes -= message.text.length
    count++
  }
  market.kept.splice(0, count)
}
