/**
 * A publisher's messages (docs/how-to/feeding-your-own-book.md). It checks one text, or one object from a module, and
 * returns it typed. Otherwise it returns the first broken rule, with the member and, where readable, the market. Prices
 * and amounts stay text, because only the market has their scale; their form is checked here. Every list and every text
 * has a limit. Unknown members are ignored. It never throws, and keeps no state between messages. Pure.
 */
import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import type { JsonObject } from '../../../platform/base/json-value.ts'
import { INSTRUMENT_STATES, type InstrumentState, type TakerSide } from '../../market/event.ts'
import {
  array,
  Broken,
  type CheckedLevels,
  checkAmount,
  checkLevel,
  checkPrice,
  digestOf,
  epochOf,
  identifier,
  list,
  marketOf,
  object,
  originOf,
  sideOf,
  time,
  whole,
} from './member-checks.ts'
import type { PreparedBook } from './prepared-book.ts'

/** Executions in one message, trades in `orders` not included. */
const EXECUTIONS_MAX = 100_000
/** Markets in one heartbeat. */
const HEARTBEAT_BOOKS_MAX = 10_000
const REASON_CHARACTERS_MAX = 200
const DECIMALS_MAX = 18

/** Price and amount as text: digits with an optional fraction. */
export interface PublishedLevel {
  readonly price: string
  readonly amount: string
}

export interface PublishedExecution extends PublishedLevel {
  readonly id: string
  readonly side: TakerSide | undefined
  /** Where it was traded; undefined where the publisher names no venue. */
  readonly venue?: string | undefined
  /** Trade time, cut to whole milliseconds since the epoch; the message's time where the trade has none. */
  readonly executedAtMilliseconds: number
}

export interface PublishedOrder extends PublishedLevel {
  readonly orderId: string
  /** `buy` rests among the bids. */
  readonly side: TakerSide
}

export type PublishedOrderChange =
  | ({ readonly type: 'order_add' } & PublishedOrder)
  | {
      readonly type: 'order_modify'
      readonly orderId: string
      readonly amount: string
      readonly price: string | undefined
    }
  | { readonly type: 'order_delete'; readonly orderId: string }
  | ({ readonly type: 'trade'; readonly orderId: string | undefined } & PublishedExecution)

export interface PublishedInstrument {
  readonly priceDecimals: number
  readonly amountDecimals: number
  /** Undefined while a relay does not know it. */
  readonly state: InstrumentState | undefined
  readonly reason: string
  readonly simulated: boolean
}

/** What every message has. */
interface Numbered {
  readonly market: string
  /** Engine time, cut to whole milliseconds since the epoch. */
  readonly timeMilliseconds: number
  readonly epoch: string
  readonly seq: number
  /** Position in the first publication in a chain of relays; undefined where this one is the first. */
  readonly origin: string | undefined
}

/** A message with a number. It covers all numbers after `prev`. */
interface Counted extends Numbered {
  /** `seq - 1` where the publisher omits it. */
  readonly prev: number
}

export interface SnapshotMessage extends Numbered {
  readonly type: 'SNAPSHOT'
  /** No execution is missing between this message and the SNAPSHOT. */
  readonly prev: number | undefined
  /** The last message in an earlier epoch, followed by message 1 in this one: `EPOCH.SEQ`. */
  readonly continues?: string | undefined
  readonly instrument: PublishedInstrument
  readonly bids: readonly PublishedLevel[]
  readonly asks: readonly PublishedLevel[]
  /** Replaces levels, which are then empty. */
  readonly orders: readonly PublishedOrder[] | undefined
  /** Its levels, already built into these markets' books; absent: the reader builds them. */
  readonly prepared?: readonly PreparedBook[]
}

export interface UpdateMessage extends Counted {
  readonly type: 'UPDATE'
  readonly bids: readonly PublishedLevel[]
  readonly asks: readonly PublishedLevel[]
  readonly executions: readonly PublishedExecution[]
  /** Why the publisher lost executions before this message's. */
  readonly missed: string | undefined
  /** The instrument state, where it changed. */
  readonly instrument: PublishedInstrument | undefined
  /** Replaces levels, which are then empty. */
  readonly orders: readonly PublishedOrderChange[] | undefined
}

export interface InstrumentMessage extends Counted {
  readonly type: 'INSTRUMENT'
  readonly instrument: PublishedInstrument
}

export interface LostMessage extends Numbered {
  readonly type: 'LOST'
  readonly reason: string
}

export type PublicationMessage = SnapshotMessage | UpdateMessage | InstrumentMessage | LostMessage

/** The digest over a market's levels after message `seq`. */
export interface HeartbeatBook {
  readonly market: string
  readonly epoch: string
  readonly seq: number
  readonly digest: string
}

export interface PublisherHeartbeat {
  readonly type: 'heartbeat'
  readonly books: readonly HeartbeatBook[]
}

/** A message that breaks a rule. */
export interface PublicationProblem {
  readonly type: 'problem'
  /** The market in the message, where readable. */
  readonly market: string | undefined
  /** Whether it is the market's SNAPSHOT, which then has to be requested again. */
  readonly isSnapshot: boolean
  /** The member's path: `payload.bids[3].price`; empty for the message as a whole. */
  readonly member: string
  /** The broken rule, as the end of a sentence that begins with the member. */
  readonly rule: string
}

export type PublishedMessage = PublicationMessage | PublisherHeartbeat | PublicationProblem

/** Checks one message's text. */
export function parsePublication(text: string): PublishedMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { type: 'problem', market: undefined, isSnapshot: false, member: '', rule: 'is not JSON' }
  }
  return readPublication(value)
}

/**
 * Checks one message in object form.
 * @param checked how many entries in its level lists have already been checked (`checkLevel`)
 */
export function readPublication(value: unknown, checked?: CheckedLevels): PublishedMessage {
  let market: string | undefined
  let isSnapshot = false
  try {
    const message = object(value, '')
    const payload = object(message.payload, 'payload')
    if (message.channel === 'heartbeat') return { type: 'heartbeat', books: heartbeatBooks(payload.books) }
    if (message.channel !== 'publication') throw new Broken('channel', 'is neither publication nor heartbeat')
    market = marketOf(payload.market, 'payload.market')
    isSnapshot = payload.type === 'SNAPSHOT'
    return publication(market, payload, object(message.stream, 'stream'), checked)
  } catch (error) {
    if (error instanceof Broken) {
      return { type: 'problem', market: error.market ?? market, isSnapshot, member: error.member, rule: error.rule }
    }
    // A module's object may have members that throw.
    return { type: 'problem', market, isSnapshot, member: '', rule: `cannot be read: ${String(error)}` }
  }
}

/** A problem as a sentence: `payload.bids[3].price is not text`. */
export function problemText({ member, rule }: Pick<PublicationProblem, 'member' | 'rule'>): string {
  return `${member === '' ? 'the message' : member} ${rule}`
}

function publication(
  market: string,
  payload: JsonObject,
  stream: JsonObject,
  checked: CheckedLevels | undefined,
): PublicationMessage {
  const { type } = payload
  const timeMilliseconds = time(payload.time, 'payload.time')
  const epoch = epochOf(stream.epoch, 'stream.epoch')
  const origin = stream.origin === undefined ? undefined : originOf(stream.origin, 'stream.origin')
  if (type === 'SNAPSHOT' || type === 'LOST') {
    const numbered = { market, timeMilliseconds, epoch, seq: whole(stream.seq, 0, 'stream.seq'), origin }
    if (type === 'LOST') return { type, ...numbered, reason: relayedReason(payload.reason, 'payload.reason') }
    const prev = stream.prev === undefined ? undefined : whole(stream.prev, 0, 'stream.prev')
    const continues = stream.continues === undefined ? undefined : originOf(stream.continues, 'stream.continues')
    const instrument = instrumentOf(object(payload.instrument, 'payload.instrument'), 'payload.instrument')
    return { type, ...numbered, prev, continues, instrument, ...snapshotContent(payload, checked) }
  }
  const seq = whole(stream.seq, 1, 'stream.seq')
  const prev = stream.prev === undefined ? seq - 1 : whole(stream.prev, 0, 'stream.prev')
  if (prev >= seq) throw new Broken('stream.prev', 'is not below stream.seq')
  const counted = { market, timeMilliseconds, epoch, seq, prev, origin }
  switch (type) {
    case 'UPDATE': {
      const { instrument } = payload
      const changed =
        instrument === undefined
          ? undefined
          : instrumentOf(object(instrument, 'payload.instrument'), 'payload.instrument')
      return { type, ...counted, instrument: changed, ...updateContent(payload, timeMilliseconds, checked) }
    }
    case 'INSTRUMENT':
      return { type, ...counted, instrument: instrumentOf(payload, 'payload') }
    default:
      throw new Broken('payload.type', 'is not one of SNAPSHOT, UPDATE, INSTRUMENT, LOST')
  }
}

function snapshotContent(
  payload: JsonObject,
  checked: CheckedLevels | undefined,
): Pick<SnapshotMessage, 'bids' | 'asks' | 'orders'> {
  const { orders } = payload
  if (orders !== undefined) {
    requireNoLevels(payload)
    return { bids: [], asks: [], orders: list(orders, 'payload.orders', PUBLISHED_ENTRIES_MAX, orderOf) }
  }
  const bids = levels(payload.bids, 'payload.bids', false, checked)
  const asks = levels(payload.asks, 'payload.asks', false, checked)
  return { bids, asks: withinLimit(bids, asks), orders: undefined }
}

function updateContent(
  payload: JsonObject,
  timeMilliseconds: number,
  checked: CheckedLevels | undefined,
): Pick<UpdateMessage, 'bids' | 'asks' | 'orders' | 'executions' | 'missed'> {
  const { orders, executions } = payload
  const missed = payload.missed === undefined ? undefined : relayedReason(payload.missed, 'payload.missed')
  const trades =
    executions === undefined
      ? []
      : list(executions, 'payload.executions', EXECUTIONS_MAX, (entry, path) =>
          executionOf(entry, path, timeMilliseconds),
        )
  if (orders !== undefined) {
    requireNoLevels(payload)
    const changes = list(orders, 'payload.orders', PUBLISHED_ENTRIES_MAX, (entry, path) =>
      orderChangeOf(entry, path, timeMilliseconds),
    )
    return { bids: [], asks: [], orders: changes, executions: trades, missed }
  }
  const bids = payload.bids === undefined ? [] : levels(payload.bids, 'payload.bids', true, checked)
  const asks = payload.asks === undefined ? [] : levels(payload.asks, 'payload.asks', true, checked)
  return { bids, asks: withinLimit(bids, asks), orders: undefined, executions: trades, missed }
}

function requireNoLevels({ bids, asks }: JsonObject): void {
  if (bids !== undefined || asks !== undefined) {
    throw new Broken('payload.orders', 'stands beside bids or asks, but a message has either orders or levels')
  }
}

function withinLimit(bids: readonly PublishedLevel[], asks: readonly PublishedLevel[]): readonly PublishedLevel[] {
  if (bids.length + asks.length <= PUBLISHED_ENTRIES_MAX) return asks
  throw new Broken('payload', `has more than ${PUBLISHED_ENTRIES_MAX} levels`)
}

/** The levels as they were sent, without a copy: large snapshots would need their memory twice. */
function levels(
  value: unknown,
  path: string,
  mayBeZero: boolean,
  checked: CheckedLevels | undefined,
): readonly PublishedLevel[] {
  const entries = array(value, path, PUBLISHED_ENTRIES_MAX)
  for (let index = checked?.get(entries) ?? 0; index < entries.length; index++) {
    checkLevel(entries[index], path, index, mayBeZero)
  }
  return entries as readonly PublishedLevel[]
}

function executionOf(entry: JsonObject, path: string, timeMilliseconds: number): PublishedExecution {
  const { id, side, venue, price, amount, executed_at: executedAt } = entry
  return {
    id: identifier(id, `${path}.id`),
    side: side === undefined ? undefined : sideOf(side, `${path}.side`),
    venue: venue === undefined ? undefined : identifier(venue, `${path}.venue`),
    price: checkPrice(price, path),
    amount: checkAmount(amount, path),
    executedAtMilliseconds: executedAt === undefined ? timeMilliseconds : time(executedAt, `${path}.executed_at`),
  }
}

function orderOf({ order_id: orderId, side, price, amount }: JsonObject, path: string): PublishedOrder {
  return {
    orderId: identifier(orderId, `${path}.order_id`),
    side: sideOf(side, `${path}.side`),
    price: checkPrice(price, path),
    amount: checkAmount(amount, path),
  }
}

function orderChangeOf(entry: JsonObject, path: string, timeMilliseconds: number): PublishedOrderChange {
  const { type, order_id: orderId, price } = entry
  switch (type) {
    case 'order_add':
      return { type, ...orderOf(entry, path) }
    case 'order_modify':
      return {
        type,
        orderId: identifier(orderId, `${path}.order_id`),
        amount: checkAmount(entry.amount, path),
        price: price === undefined ? undefined : checkPrice(price, path),
      }
    case 'order_delete':
      return { type, orderId: identifier(orderId, `${path}.order_id`) }
    case 'trade':
      return {
        type,
        orderId: orderId === undefined ? undefined : identifier(orderId, `${path}.order_id`),
        ...executionOf(entry, path, timeMilliseconds),
      }
    default:
      throw new Broken(`${path}.type`, 'is not one of order_add, order_modify, order_delete, trade')
  }
}

function instrumentOf(entry: JsonObject, path: string): PublishedInstrument {
  const { state: named, reason = '', simulated = false } = entry
  const state = INSTRUMENT_STATES.find((one) => one === named)
  if (state === undefined && named !== undefined)
    throw new Broken(`${path}.state`, `is not one of ${INSTRUMENT_STATES.join(', ')}`)
  if (typeof reason !== 'string') throw new Broken(`${path}.reason`, 'is not text')
  if (reason.length > REASON_CHARACTERS_MAX) {
    throw new Broken(`${path}.reason`, `is longer than ${REASON_CHARACTERS_MAX} characters`)
  }
  if (typeof simulated !== 'boolean') throw new Broken(`${path}.simulated`, 'is neither true nor false')
  return {
    priceDecimals: whole(entry.price_decimals, 0, `${path}.price_decimals`, DECIMALS_MAX),
    amountDecimals: whole(entry.amount_decimals, 0, `${path}.amount_decimals`, DECIMALS_MAX),
    state,
    reason,
    simulated,
  }
}

/** Entries without a digest belong to another kind of book. */
function heartbeatBooks(value: unknown): readonly HeartbeatBook[] {
  if (value === undefined) return []
  const books: HeartbeatBook[] = []
  for (const [index, entry] of array(value, 'payload.books', HEARTBEAT_BOOKS_MAX).entries()) {
    const path = `payload.books[${index}]`
    const { market: named, epoch, seq, digest } = object(entry, path)
    if (epoch === undefined || digest === undefined) continue
    const market = marketOf(named, `${path}.market`)
    try {
      books.push({
        market,
        epoch: epochOf(epoch, `${path}.epoch`),
        seq: whole(seq, 0, `${path}.seq`),
        digest: digestOf(digest, `${path}.digest`),
      })
    } catch (error) {
      throw error instanceof Broken ? new Broken(error.member, error.rule, market) : error
    }
  }
  return books
}

/** A relay's reason may contain other relays' reasons. It is cut, because it is only shown. */
function relayedReason(value: unknown, path: string): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') throw new Broken(path, 'is not text')
  return value.slice(0, REASON_CHARACTERS_MAX)
}
