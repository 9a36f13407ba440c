/**
 * Verifies an extended protocol client at every message against the simulation's history. It verifies everything that
 * is verified for the base protocol, at the requested depth. It also verifies that no message is missing between two
 * cursors, how many commits each covers, and that the heartbeat's digests are its books'. It is one client over all its
 * connections: its state when one ends is the state it resumes from.
 */
import type { MarketHistory } from './market-history.ts'

interface Level {
  readonly price: string
  readonly amount: string
  readonly venues?: readonly (readonly [string, string])[]
}

type Side = Map<string, string>

export interface ChannelState {
  subscribed: boolean
  depth: number | undefined
  isAttributed: boolean
  /** The last message's cursor, kept across connections. Undefined before the first. */
  cursor: string | undefined
  /** Whether the next message may contain `prev`: a message was received, or resumed from. */
  continues: boolean
  /** The time of the last message, and of the last one on this connection. */
  lastTime: string
  connectionTime: string
  book: { bids: Side; asks: Side } | undefined
  /** Each level's venues in an attributed book, as JSON. */
  venues: { bids: Side; asks: Side }
  nextExecution: number | undefined
}

interface Message {
  readonly type?: string
  readonly channel?: string
  readonly channels?: readonly Entry[]
  readonly stream?: { cursor: string; prev?: string; covers: number }
  readonly payload: {
    readonly market: string
    readonly type?: string
    readonly time?: string
    readonly timestamp?: string
    readonly amount?: string
    readonly bids: readonly Level[]
    readonly asks: readonly Level[]
    readonly books?: readonly { market: string; cursor: string; digest?: string; live: boolean; since: string }[]
  }
}

interface Entry {
  readonly type: string
  readonly params?: { market: string; depth?: number; attribution?: boolean; resume?: string }
  readonly success: boolean
  readonly resumed?: boolean
}

export class ExtendedVerifier {
  readonly counts = {
    snapshots: 0,
    updates: 0,
    conflated: 0,
    tops: 0,
    executions: 0,
    attributed: 0,
    digests: 0,
    stale: 0,
    continued: 0,
    replayed: 0,
  }
  readonly #histories: ReadonlyMap<string, MarketHistory>
  readonly #channels = new Map<string, ChannelState>()
  /** Replies on this connection. */
  replies = 0
  /** The last heartbeat's markets. */
  lastBooks: string[] = []

  constructor(histories: ReadonlyMap<string, MarketHistory>) {
    this.#histories = histories
  }

  channel(market: string, type: string): ChannelState {
    const name = `${type} ${market}`
    let state = this.#channels.get(name)
    if (state === undefined) {
      state = {
        subscribed: false,
        depth: undefined,
        isAttributed: false,
        cursor: undefined,
        continues: false,
        lastTime: '',
        connectionTime: '',
        book: undefined,
        venues: { bids: new Map(), asks: new Map() },
        nextExecution: undefined,
      }
      this.#channels.set(name, state)
    }
    return state
  }

  disconnected(): void {
    this.replies = 0
    for (const state of this.#channels.values()) {
      state.subscribed = false
      state.connectionTime = ''
    }
  }

  /** The book in the history's notation. */
  bookText(market: string): string {
    const { book } = this.channel(market, 'market_data')
    const entries = (side: Side, sign: number) =>
      [...side].sort(([left], [right]) => sign * (Number(left) - Number(right)))
    return JSON.stringify([entries(book?.bids ?? new Map(), -1), entries(book?.asks ?? new Map(), 1)])
  }

  onText(text: string): void {
    const message = JSON.parse(text) as Message
    if (message.channel === undefined) this.#onReply(message)
    else if (message.channel === 'heartbeat') this.#onHeartbeat(message)
    else this.#onData(message.channel, message)
  }

  #onReply({ type, channels = [] }: Message): void {
    this.replies += 1
    for (const { type: channel, params, success, resumed } of channels) {
      if (success !== true || params === undefined) continue
      const state = this.channel(params.market, channel)
      state.subscribed = type === 'subscribe'
      if (!state.subscribed) continue
      state.depth = params.depth
      state.isAttributed = params.attribution === true
      state.continues = params.resume !== undefined && params.resume === state.cursor
      if (channel === 'execution_data') {
        if ((resumed === undefined) !== (params.resume === undefined))
          throw new Error('resumed is not said when it should')
        state.continues = resumed === true
        if (resumed === true) this.counts.replayed += 1
        else state.nextExecution = undefined
      } else if (params.resume === undefined) {
        // A client that drops its book cannot resume until the SNAPSHOT has arrived.
        state.book = undefined
        state.cursor = undefined
      }
    }
  }

  #onHeartbeat({ payload }: Message): void {
    this.lastBooks = (payload.books ?? []).map(({ market }) => market)
    for (const { market, cursor, digest, live, since } of payload.books ?? []) {
      const state = this.channel(market, 'market_data')
      if (!state.subscribed) throw new Error('a digest of a book that is not subscribed')
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(since)) throw new Error(`since is ${since}`)
      if (cursor !== state.cursor)
        throw new Error(`the heartbeat names ${cursor} and the book stands at ${state.cursor}`)
      if (!live) {
        if (digest !== undefined) throw new Error('a heartbeat confirms a book that no source is trusted for')
        this.counts.stale += 1
        continue
      }
      const expected = digestOf(state.book)
      if (digest !== expected) throw new Error(`the digest is ${digest} and should be ${expected}`)
      this.counts.digests += 1
    }
  }

  #onData(channel: string, message: Message): void {
    const { payload, stream } = message
    const state = this.channel(payload.market, channel)
    if (!state.subscribed) throw new Error(`${channel} of ${payload.market} came without a subscription`)
    if (stream === undefined) throw new Error('a data message without stream')
    const isAnew = payload.type === 'SNAPSHOT' && stream.prev === undefined
    const expected = state.continues && !isAnew ? state.cursor : undefined
    const { bids, asks } = state.book ?? {}
    const isAfterWithdrawal = payload.type === 'UPDATE' && bids?.size === 0 && asks?.size === 0
    const first =
      (payload.type === 'TOP_OF_BOOK' || isAfterWithdrawal) && stream.prev === undefined && stream.covers === 0
    if (stream.prev !== expected && !first) throw new Error(`${channel}: prev is ${stream.prev}, should be ${expected}`)
    const history = this.#histories.get(payload.market) as MarketHistory
    if (channel === 'execution_data') this.#onExecution(state, history, message)
    else if (channel === 'market_data') this.#onBook(state, history, message)
    else this.#onTop(state, history, message)
    if (stream.prev !== undefined) this.counts.continued += 1
    state.cursor = stream.cursor
    state.continues = true
  }

  #onExecution(state: ChannelState, history: MarketHistory, { payload, stream }: Message): void {
    this.counts.executions += 1
    const index = history.executionIndex(payload.amount as string)
    if (state.nextExecution !== undefined && index !== state.nextExecution) {
      throw new Error(`execution ${index} came where ${state.nextExecution} was due`)
    }
    if (stream?.covers !== 1) throw new Error('an execution covers one commit')
    state.nextExecution = index + 1
  }

  #onBook(state: ChannelState, history: MarketHistory, { payload, stream }: Message): void {
    const time = payload.time as string
    if (time <= state.connectionTime) throw new Error(`time ${time} is not later than ${state.connectionTime}`)
    state.connectionTime = time
    const cut = (text: string) => cutTo(text, state.depth)
    if (payload.type === 'SNAPSHOT') {
      this.counts.snapshots += 1
      state.book = { bids: new Map(), asks: new Map() }
      state.venues = { bids: new Map(), asks: new Map() }
      if (stream?.covers !== 0) throw new Error('a SNAPSHOT covers nothing')
    } else {
      this.counts.updates += 1
      if ((stream?.covers ?? 0) > 1) this.counts.conflated += 1
      const kind = state.isAttributed ? 'attributed' : 'books'
      const between = history.changesBetween(state.lastTime, time, kind, cut)
      const covers = stream?.prev === undefined ? 0 : between
      if (stream?.covers !== covers) throw new Error(`an UPDATE covers ${stream?.covers} and should cover ${covers}`)
      if (payload.bids.length + payload.asks.length === 0) throw new Error('an UPDATE without a level')
    }
    state.lastTime = time
    if (state.book === undefined) throw new Error('an UPDATE before its SNAPSHOT')
    applySide(state.book.bids, payload.bids, state.isAttributed)
    applySide(state.book.asks, payload.asks, state.isAttributed)
    const found = this.bookText(payload.market)
    const expected = cut(history.bookAt(time) as string)
    if (found !== expected) throw new Error(`book at ${time} is ${found} and should be ${expected}`)
    this.#followVenues(state, payload, cut(history.attributedAt(time) as string))
  }

  /** Checks that every level names its venues exactly if that was requested, and that these are the right ones. */
  #followVenues(state: ChannelState, { bids, asks }: Message['payload'], expected: string): void {
    const { book, venues } = state
    for (const { price, amount, venues: named } of [...bids, ...asks]) {
      if ((named !== undefined) !== (state.isAttributed && amount !== '0')) {
        throw new Error(`the level ${price}, ${amount} names the venues ${JSON.stringify(named)}`)
      }
    }
    if (!state.isAttributed || book === undefined) return
    const side = (levels: Side, held: Side, sent: readonly Level[], sign: number) => {
      for (const { price, venues: named } of sent) {
        if (named === undefined) held.delete(price)
        else held.set(price, JSON.stringify(named))
      }
      const sorted = [...levels].sort(([left], [right]) => sign * (Number(left) - Number(right)))
      return sorted.map(([price, amount]) => [price, amount, JSON.parse(held.get(price) ?? 'null')])
    }
    const found = JSON.stringify([side(book.bids, venues.bids, bids, -1), side(book.asks, venues.asks, asks, 1)])
    if (found !== expected) throw new Error(`the attributed book is ${found} and should be ${expected}`)
    this.counts.attributed += 1
  }

  #onTop(state: ChannelState, history: MarketHistory, { payload, stream }: Message): void {
    this.counts.tops += 1
    const time = `${(payload.timestamp as string).slice(0, 23)}Z`
    const found = JSON.stringify([payload.bids, payload.asks])
    if (found !== history.topAt(time))
      throw new Error(`top at ${time} is ${found} and should be ${history.topAt(time)}`)
    if (stream?.prev !== undefined) {
      const covers = history.changesBetween(state.lastTime, time, 'tops', (text) => text)
      if (stream.covers !== covers) throw new Error(`a top covers ${stream.covers} and should cover ${covers}`)
    }
    state.lastTime = time
  }
}

/** A book in the history's notation, cut to the best levels. */
export function cutTo(text: string, depth: number | undefined): string {
  if (depth === undefined) return text
  const sides = JSON.parse(text) as [unknown[], unknown[]]
  return JSON.stringify(sides.map((side) => side.slice(0, depth)))
}

/** An attributed level may keep its amount, because its venues changed, or changed back. */
function applySide(side: Side, changes: readonly Level[], isAttributed: boolean): void {
  for (const { price, amount } of changes) {
    if (amount !== '0') {
      if (side.get(price) === amount && !isAttributed) throw new Error(`${price} has the amount ${amount} already`)
      side.set(price, amount)
    } else if (!side.delete(price)) {
      throw new Error(`removal of ${price}, which is not held`)
    }
  }
}

const MASK = (1n << 64n) - 1n

/** The digest, computed as documented. */
export function digestOf(book: { bids: Side; asks: Side } | undefined): string {
  let sum = 0n
  for (const [price, amount] of book?.bids ?? []) sum += levelHash(`bid|${price}|${amount}`)
  for (const [price, amount] of book?.asks ?? []) sum += levelHash(`ask|${price}|${amount}`)
  return (sum & MASK).toString(16).padStart(16, '0')
}

export function levelHash(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text, 'ascii')) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  return hash ^ (hash >> 33n)
}
