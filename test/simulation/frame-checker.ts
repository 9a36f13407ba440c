/**
 * Checks every message that one client receives, over all its connections, against the independent model: the book after
 * each message is that of its time, times increase, nothing comes without a subscription, executions are in order without a
 * gap; and with the extended protocol, that each cursor follows the one before and every digest is that of the book.
 */
import { PUBLISHED_DEPTHS } from './plan.ts'
import type { BookText, ExecutionPlace, MarketTruth, SideText } from './truth.ts'

interface Level {
  readonly price: string
  readonly amount: string
}

interface HeartbeatBook {
  readonly market: string
  readonly cursor: string
  readonly digest?: string
  readonly live: boolean
}

interface Payload {
  readonly market: string
  readonly type?: string
  readonly time?: string
  readonly timestamp?: string
  readonly amount?: string
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
  readonly books?: readonly HeartbeatBook[]
}

interface Stream {
  readonly cursor: string
  readonly prev?: string
  readonly covers: number
}

interface Entry {
  readonly type: string
  readonly params?: { readonly market: string; readonly depth?: number; readonly resume?: string }
  readonly success: boolean
  readonly resumed?: boolean
  readonly message?: string
}

interface Message {
  readonly type?: string
  readonly channel?: string
  readonly channels?: readonly Entry[]
  readonly stream?: Stream
  readonly payload: Payload
}

/** What a client has of one channel of one market. */
export interface Held {
  isSubscribed: boolean
  depth: number | undefined
  /** A subscription ends when the published depth changes: these agree with every message since it began. */
  publishedDepths: readonly number[]
  book: { readonly bids: Map<string, string>; readonly asks: Map<string, string> } | undefined
  /** Time of the last message on this connection, and of the last one at all. */
  connectionTime: string
  lastTime: string
  cursor: string | undefined
  /** Whether the next message may name `prev`. */
  continues: boolean
  execution: ExecutionPlace | undefined
}

export interface FrameCounts {
  frames: number
  snapshots: number
  updates: number
  conflated: number
  tops: number
  executions: number
  digests: number
  resumed: number
  withdrawals: number
  refused: number
}

/** What the checker asks the gateway of a client: whether a market's book was withdrawn at a time. */
export interface CheckedNode {
  readonly isWithdrawn: (market: string, time: string) => boolean
}

/** What the checker found; shrinking looks for the same rule. */
export class Violation extends Error {
  readonly rule: string

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`)
    this.rule = rule
  }
}

export class FrameChecker {
  readonly counts: FrameCounts
  readonly #truths: ReadonlyMap<string, MarketTruth>
  readonly #held = new Map<string, Held>()
  readonly #isExtended: boolean
  #hasHeartbeat = false
  #node: CheckedNode | undefined
  /** Replies on this connection. */
  replies = 0
  lastBooks: readonly string[] = []

  constructor(truths: ReadonlyMap<string, MarketTruth>, counts: FrameCounts, isExtended: boolean) {
    this.#truths = truths
    this.counts = counts
    this.#isExtended = isExtended
  }

  connected(node: CheckedNode): void {
    this.#node = node
    // Only the extended protocol resumes from what was held.
    if (!this.#isExtended) this.#held.clear()
    this.#hasHeartbeat = false
    this.replies = 0
    for (const held of this.#held.values()) {
      held.isSubscribed = false
      held.connectionTime = ''
    }
  }

  held(market: string, type: string): Held {
    const name = `${type} ${market}`
    let held = this.#held.get(name)
    if (held === undefined) {
      held = {
        isSubscribed: false,
        depth: undefined,
        publishedDepths: PUBLISHED_DEPTHS,
        book: undefined,
        connectionTime: '',
        lastTime: '',
        cursor: undefined,
        continues: false,
        execution: undefined,
      }
      this.#held.set(name, held)
    }
    return held
  }

  onText(text: string): void {
    this.counts.frames += 1
    const message = JSON.parse(text) as Message
    if (message.channel === undefined) this.#onReply(message)
    else if (message.channel === 'heartbeat') this.#onHeartbeat(message.payload)
    else this.#onData(message.channel, message)
  }

  #onReply({ type, channels = [] }: Message): void {
    // A notice that a reload ended a subscription answers no request, and has a message.
    if (!channels.some(({ success, message }) => success && message !== undefined)) this.replies += 1
    for (const { type: channel, params, success, resumed } of channels) {
      if (!success) {
        this.counts.refused += 1
        continue
      }
      const isSubscribed = type === 'subscribe'
      if (type !== 'subscribe' && type !== 'unsubscribe') continue
      if (channel === 'heartbeat') this.#hasHeartbeat = isSubscribed
      if (params === undefined) continue
      const held = this.held(params.market, channel)
      held.isSubscribed = isSubscribed
      if (!isSubscribed) continue
      held.depth = params.depth
      held.publishedDepths = PUBLISHED_DEPTHS
      held.continues = params.resume !== undefined && params.resume === held.cursor
      if (channel === 'execution_data') {
        held.continues = resumed === true
        if (resumed === true) this.counts.resumed += 1
        else held.execution = undefined
      } else if (params.resume === undefined) {
        // A client that drops its book has nothing to resume from until the SNAPSHOT has arrived.
        held.book = undefined
        held.cursor = undefined
      }
    }
  }

  #onHeartbeat({ books = [] }: Payload): void {
    if (!this.#hasHeartbeat) throw new Violation('subscription', 'a heartbeat came without one')
    this.lastBooks = books.map(({ market }) => market)
    for (const { market, cursor, digest, live } of books) {
      const held = this.held(market, 'market_data')
      if (!held.isSubscribed) throw new Violation('subscription', `a digest of ${market}, which is not subscribed`)
      if (cursor !== held.cursor)
        throw new Violation('heartbeat', `it names ${cursor}, and the book of ${market} is at ${held.cursor}`)
      if (!live && digest !== undefined)
        throw new Violation('heartbeat', `a digest of ${market}, for which no source is trusted`)
      if (!live) continue
      const expected = digestOf(held.book)
      if (digest !== expected) throw new Violation('digest', `that of ${market} is ${digest} and should be ${expected}`)
      this.counts.digests += 1
    }
  }

  #onData(channel: string, message: Message): void {
    const { payload, stream } = message
    const held = this.held(payload.market, channel)
    if (!held.isSubscribed) throw new Violation('subscription', `${channel} of ${payload.market} came without one`)
    if ((stream !== undefined) !== this.#isExtended)
      throw new Violation('stream', `${channel}: ${JSON.stringify(stream)}`)
    if (stream !== undefined) this.#checkCursor(channel, held, payload, stream)
    const truth = this.#truths.get(payload.market) as MarketTruth
    if (channel === 'execution_data') this.#onExecution(held, truth, payload)
    else if (channel === 'market_data') this.#onBook(held, truth, payload, stream)
    else this.#onTop(held, truth, payload)
    held.cursor = stream?.cursor
    held.continues = true
  }

  #checkCursor(channel: string, held: Held, payload: Payload, stream: Stream): void {
    const startsOver = payload.type === 'SNAPSHOT' && stream.prev === undefined
    const expected = held.continues && !startsOver ? held.cursor : undefined
    const isEmpty = held.book?.bids.size === 0 && held.book.asks.size === 0
    const isFirst = payload.type === 'TOP_OF_BOOK' || (payload.type === 'UPDATE' && isEmpty)
    if (stream.prev === expected || (isFirst && stream.prev === undefined && stream.covers === 0)) return
    throw new Violation('cursor', `${channel} of ${payload.market}: prev is ${stream.prev} and should be ${expected}`)
  }

  #onExecution(held: Held, truth: MarketTruth, { amount = '' }: Payload): void {
    this.counts.executions += 1
    const { epoch, place } = truth.execution(amount)
    const last = held.execution
    if (last !== undefined && (last.epoch !== epoch || last.place + 1 !== place)) {
      throw new Violation(
        'executions',
        `${place} of ${epoch} came after ${last.place} of ${last.epoch} of ${truth.market}`,
      )
    }
    held.execution = { epoch, place }
  }

  #onBook(held: Held, truth: MarketTruth, payload: Payload, stream: Stream | undefined): void {
    const { market, type, time = '', bids, asks } = payload
    if (time <= held.connectionTime)
      throw new Violation('time', `${time} of ${market} is not later than ${held.connectionTime}`)
    held.connectionTime = time
    held.lastTime = time
    const isSnapshot = type === 'SNAPSHOT'
    if (isSnapshot) {
      this.counts.snapshots += 1
      held.book = { bids: new Map(), asks: new Map() }
    } else this.#countUpdate(market, bids.length + asks.length, stream)
    const { book } = held
    if (book === undefined) throw new Violation('snapshot', `an UPDATE of ${market} before its SNAPSHOT`)
    applySide(book.bids, bids, isSnapshot)
    applySide(book.asks, asks, isSnapshot)
    if (isSnapshot && bids.length + asks.length === 0 && this.#node?.isWithdrawn(market, time) === true) {
      this.counts.withdrawals += 1
      return
    }
    const candidates = truth.booksAt(time)
    held.publishedDepths = held.publishedDepths.filter((depth) => candidates.some((each) => holds(held, each, depth)))
    if (held.publishedDepths.length > 0) return
    const [first] = candidates
    throw new Violation('book', `${market} at ${time}, depth ${held.depth}: ${differenceOf(book, first)}`)
  }

  #countUpdate(market: string, levels: number, stream: Stream | undefined): void {
    this.counts.updates += 1
    if ((stream?.covers ?? 0) > 1) this.counts.conflated += 1
    if (levels === 0) throw new Violation('empty', `an UPDATE of ${market} without a level`)
  }

  #onTop(held: Held, truth: MarketTruth, { market, timestamp = '', bids, asks }: Payload): void {
    this.counts.tops += 1
    const time = `${timestamp.slice(0, 23)}Z`
    held.lastTime = time
    const isTop = (side: SideText, found: readonly Level[]) =>
      found.length === Math.min(side.length, 1) &&
      found.every(({ price, amount }) => price === side[0]?.[0] && amount === side[0]?.[1])
    if (truth.booksAt(time).some((book) => isTop(book.bids, bids) && isTop(book.asks, asks))) return
    if (bids.length + asks.length === 0 && this.#node?.isWithdrawn(market, time) === true) return
    throw new Violation('top', `${market} at ${time} is ${JSON.stringify([bids, asks])}`)
  }
}

function applySide(side: Map<string, string>, levels: readonly Level[], isSnapshot: boolean): void {
  const seen = new Set<string>()
  for (const { price, amount } of levels) {
    if (seen.has(price)) throw new Violation('levels', `the price ${price} comes twice in one message`)
    seen.add(price)
    if (amount !== '0') {
      if (side.get(price) === amount) throw new Violation('levels', `${price} has the amount ${amount} already`)
      side.set(price, amount)
    } else if (isSnapshot || !side.delete(price))
      throw new Violation('levels', `removal of ${price}, which is not held`)
  }
}

/** The first level that is not as it should be. */
function differenceOf({ bids, asks }: NonNullable<Held['book']>, expected: BookText | undefined): string {
  if (expected === undefined) return 'nothing was committed at this time'
  for (const [side, found, levels] of [
    ['bid', bids, expected.bids],
    ['ask', asks, expected.asks],
  ] as const) {
    const wrong = levels.find(([price, amount]) => found.get(price) !== amount)
    if (wrong !== undefined) return `the ${side} ${wrong[0]} has ${found.get(wrong[0])} and should have ${wrong[1]}`
  }
  return `it has ${bids.size} bids and ${asks.size} asks, too many`
}

function isEqual(held: ReadonlyMap<string, string>, expected: SideText, depth: number): boolean {
  const count = Math.min(expected.length, depth)
  if (held.size !== count) return false
  for (let place = 0; place < count; place++) {
    const [price, amount] = expected[place] as SideText[number]
    if (held.get(price) !== amount) return false
  }
  return true
}

/** Whether a client's book is this one, at the depth that it asked for. */
export function holds({ book, depth }: Held, expected: BookText, published: number): boolean {
  if (book === undefined) return false
  const cut = Math.min(depth ?? Number.POSITIVE_INFINITY, published === 0 ? Number.POSITIVE_INFINITY : published)
  return isEqual(book.bids, expected.bids, cut) && isEqual(book.asks, expected.asks, cut)
}

const MASK = (1n << 64n) - 1n
const hashes = new Map<string, bigint>()

/** The digest as the documentation of the stream describes it. */
function digestOf(book: Held['book']): string {
  let sum = 0n
  for (const [price, amount] of book?.bids ?? []) sum += levelHash(`bid|${price}|${amount}`)
  for (const [price, amount] of book?.asks ?? []) sum += levelHash(`ask|${price}|${amount}`)
  return (sum & MASK).toString(16).padStart(16, '0')
}

function levelHash(text: string): bigint {
  let known = hashes.get(text)
  if (known !== undefined) return known
  if (hashes.size > 100_000) hashes.clear()
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text, 'ascii')) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  known = hash ^ (hash >> 33n)
  hashes.set(text, known)
  return known
}
