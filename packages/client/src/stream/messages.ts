/**
 * The stream's messages, parsed and validated, so that the other files never meet a missing member or one with another
 * type. Unknown members and channels are ignored, because services add some.
 */
import { Level, type VenueShare } from './level.ts'

/** A message that breaks a rule of the API, or contradicts an earlier message. */
export class Fault extends Error {
  override name = 'Fault'
}

/** A message's position in its channel, only in `tidegate.v1`. */
export interface Position {
  readonly cursor: string
  /** The previous message's cursor. Absent in the first message. */
  readonly prev: string | undefined
}

export interface BookMessage {
  readonly kind: 'book'
  readonly market: string
  readonly isSnapshot: boolean
  readonly time: string
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
  readonly position: Position | undefined
}

/** Each side's best level, where there is one. */
export interface TopMessage {
  readonly kind: 'top'
  readonly market: string
  /** RFC 3339 with nanoseconds. */
  readonly time: string
  readonly bid: Level | undefined
  readonly ask: Level | undefined
  readonly position: Position | undefined
}

export interface ExecutionMessage {
  readonly kind: 'execution'
  readonly market: string
  readonly execution: Execution
  readonly position: Position | undefined
}

/** One trade. */
export interface Execution {
  readonly type: 'EXECUTION'
  readonly price: string
  readonly amount: string
  /** When the trade happened: RFC 3339 with milliseconds. */
  readonly executedAt: string
  /** Unique within the market. This and the next two members exist only in `tidegate.v1`. */
  readonly id?: string
  /** The taker's side. */
  readonly side?: 'buy' | 'sell'
  readonly venue?: string
}

/** Whether the instrument trades at its venue. */
export type InstrumentState = 'OPEN' | 'HALTED' | 'AUCTION' | 'CLOSED'

/** A heartbeat's statement about a book, in `tidegate.v1`. */
export interface BookStatement {
  readonly market: string
  /** When the service stated it, on its clock: RFC 3339 with nanoseconds. */
  readonly time: string
  readonly cursor: string
  readonly digest: string | undefined
  readonly isLive: boolean
  readonly instrumentState: InstrumentState | undefined
}

export interface ReplyEntry {
  readonly channel: string
  readonly market: string | undefined
  readonly isSuccess: boolean
  readonly resumed: boolean | undefined
  readonly error: string
  readonly text: string
}

/** The messages from channels subscribed per market. */
export type DataMessage = BookMessage | TopMessage | ExecutionMessage

/** The channel for each message kind. */
export const CHANNELS = {
  book: 'market_data',
  top: 'market_data.top_of_book',
  execution: 'execution_data',
} as const

export type ChannelType = (typeof CHANNELS)[keyof typeof CHANNELS]

export type Message =
  | DataMessage
  /** `time` and `milliseconds`: when it was sent, on the service's clock. */
  | {
      readonly kind: 'heartbeat'
      readonly time: string
      readonly milliseconds: number
      readonly books: readonly BookStatement[]
    }
  | { readonly kind: 'reply'; readonly isSubscribe: boolean; readonly entries: readonly ReplyEntry[] }
  /** A request that failed as a whole. */
  | { readonly kind: 'error'; readonly error: string; readonly text: string }
  | { readonly kind: 'other' }

type Members = Readonly<Record<string, unknown>>

/**
 * More digits than any number from the service has, and no leading zeros, because prices are compared by their length.
 */
const DECIMAL = /^(0|[1-9]\d{0,39})(\.\d{1,40})?$/
/** UTC with a fixed number of digits, so that times compare as text. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const NANOSECOND_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/
const INSTRUMENT_STATES: readonly unknown[] = ['OPEN', 'HALTED', 'AUCTION', 'CLOSED']

/** Throws `Fault` for anything but a message of the API. */
export function parseMessage(data: unknown): Message {
  const message = membersOf(parsed(data))
  switch (message.channel) {
    case CHANNELS.book:
      return bookMessage(message)
    case CHANNELS.top:
      return topMessage(message)
    case CHANNELS.execution:
      return executionMessage(message)
    case 'heartbeat':
      return heartbeat(message)
  }
  if (message.type === 'error') return { kind: 'error', error: String(message.error), text: String(message.message) }
  if (message.type !== 'subscribe' && message.type !== 'unsubscribe') return { kind: 'other' }
  const entries = listOf(message.channels).map(replyEntry)
  return { kind: 'reply', isSubscribe: message.type === 'subscribe', entries }
}

function parsed(data: unknown): unknown {
  try {
    return JSON.parse(data as string)
  } catch {
    throw new Fault('a message is not JSON')
  }
}

function bookMessage({ payload, stream }: Members): BookMessage {
  const { market, type, time, bids, asks } = membersOf(payload)
  if (type !== 'SNAPSHOT' && type !== 'UPDATE') throw new Fault(`a book message has the type ${type}`)
  return {
    kind: 'book',
    market: textOf(market),
    isSnapshot: type === 'SNAPSHOT',
    time: textOf(time, TIME),
    bids: levelsOf(bids),
    asks: levelsOf(asks),
    position: positionOf(stream),
  }
}

function topMessage({ payload, stream }: Members): TopMessage {
  const { market, timestamp, bids, asks } = membersOf(payload)
  return {
    kind: 'top',
    market: textOf(market),
    time: textOf(timestamp, NANOSECOND_TIME),
    bid: bestOf(levelsOf(bids)),
    ask: bestOf(levelsOf(asks)),
    position: positionOf(stream),
  }
}

function bestOf(levels: readonly Level[]): Level | undefined {
  if (levels.length > 1) throw new Fault(`the top of a book has ${levels.length} levels on a side`)
  return levels[0]
}

function executionMessage({ payload, stream }: Members): ExecutionMessage {
  const { market, price, amount, executed_at, id, side, venue } = membersOf(payload)
  const execution: Execution = {
    type: 'EXECUTION',
    price: textOf(price, DECIMAL),
    amount: textOf(amount, DECIMAL),
    executedAt: textOf(executed_at, TIME),
    ...(typeof id === 'string' ? { id } : {}),
    ...(side === 'buy' || side === 'sell' ? { side } : {}),
    ...(typeof venue === 'string' ? { venue } : {}),
  }
  return { kind: 'execution', market: textOf(market), execution, position: positionOf(stream) }
}

function heartbeat({ payload }: Members): Message {
  const { timestamp, books } = membersOf(payload)
  const time = textOf(timestamp, NANOSECOND_TIME)
  // `Date` has milliseconds: the first 23 characters.
  const milliseconds = Date.parse(`${time.slice(0, 23)}Z`)
  if (Number.isNaN(milliseconds)) throw new Fault(`a heartbeat has the time ${time}`)
  const statements = listOf(books ?? []).map((entry) => bookStatement(entry, time))
  return { kind: 'heartbeat', time, milliseconds, books: statements }
}

function positionOf(stream: unknown): Position | undefined {
  if (stream === undefined) return undefined
  const { cursor, prev } = membersOf(stream)
  return { cursor: textOf(cursor), prev: prev === undefined ? undefined : textOf(prev) }
}

function bookStatement(entry: unknown, time: string): BookStatement {
  const { market, cursor, digest, live, instrument_state: state } = membersOf(entry)
  return {
    market: textOf(market),
    time,
    cursor: textOf(cursor),
    digest: digest === undefined ? undefined : textOf(digest),
    isLive: live === true,
    instrumentState: INSTRUMENT_STATES.includes(state) ? (state as InstrumentState) : undefined,
  }
}

function replyEntry(value: unknown): ReplyEntry {
  const entry = membersOf(value)
  const { market } = membersOf(entry.params ?? {})
  return {
    channel: textOf(entry.type),
    market: typeof market === 'string' ? market : undefined,
    isSuccess: entry.success === true,
    resumed: typeof entry.resumed === 'boolean' ? entry.resumed : undefined,
    error: String(entry.error),
    text: String(entry.message),
  }
}

function levelsOf(value: unknown): Level[] {
  return listOf(value).map((entry) => {
    const { price, amount, venues } = membersOf(entry)
    const shares = venues === undefined ? undefined : listOf(venues).map(shareOf)
    return new Level(textOf(price, DECIMAL), textOf(amount, DECIMAL), shares)
  })
}

function shareOf(value: unknown): VenueShare {
  const [venue, amount] = listOf(value)
  return { venue: textOf(venue), amount: textOf(amount, DECIMAL) }
}

function membersOf(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Fault(`a message has ${excerpt(value)} for an object`)
  return value as Members
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Fault(`a message has ${excerpt(value)} for a list`)
  return value
}

function textOf(value: unknown, form = /./): string {
  if (typeof value !== 'string' || !form.test(value)) throw new Fault(`a message has ${excerpt(value)} for a text`)
  return value
}

function excerpt(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 80)
}

/** Identifies a subscription on a connection and in replies. */
export function subscriptionKey(channel: string, market: string | undefined): string {
  return market === undefined ? channel : `${channel} ${market}`
}
