/**
 * Reads a publisher's messages by docs/reference/publication.schema.json: returns the typed message, or the first
 * broken rule with the member and, where it can be read, the market. Three rules which no schema can express are
 * checked here too: `prev` below `seq`, the number of levels on both sides, and days beyond the end of a month. It
 * shares no code with the service's own reader, and keeps nothing.
 */
import { Compile, type Validator } from 'typebox/schema'
import { PUBLICATION_SCHEMA, PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import { isObject, type JsonObject, membersOf } from '../../../platform/base/json-value.ts'

/** Price and amount as text: digits with an optional fraction. */
export interface PublishedLevel {
  readonly price: string
  readonly amount: string
}

interface ExecutionMembers extends PublishedLevel {
  readonly id: string
  readonly side?: Side
  readonly venue?: string
  readonly executed_at?: string
}

export interface PublishedExecution extends PublishedLevel {
  readonly id: string
  readonly side: Side | undefined
  readonly venue: string | undefined
  /** The message's time, where the trade has none. */
  readonly executedAtMilliseconds: number
}

/** `buy` rests among the bids. */
export type Side = 'buy' | 'sell'

export interface PublishedOrder extends PublishedLevel {
  readonly order_id: string
  readonly side: Side
}

export type PublishedOrderChange =
  | ({ readonly type: 'order_add' } & PublishedOrder)
  | {
      readonly type: 'order_modify'
      readonly order_id: string
      readonly amount: string
      readonly price?: string | undefined
    }
  | { readonly type: 'order_delete'; readonly order_id: string }
  | ({ readonly type: 'trade'; readonly order_id: string | undefined } & PublishedExecution)

export interface PublishedInstrument {
  readonly priceDecimals: number
  readonly amountDecimals: number
  readonly state: unknown
  readonly reason: unknown
  readonly simulated: unknown
}

interface Numbered {
  readonly market: string
  /** Engine time, cut to whole milliseconds since the epoch. */
  readonly timeMilliseconds: number
  readonly epoch: string
  readonly seq: number
  /** The position in the first publication, behind a chain of relays. */
  readonly origin: string | undefined
}

/**
 * A message with a number of its own. It covers all numbers after `prev`, which is `seq - 1` where the publisher omits
 * it.
 */
interface Counted extends Numbered {
  readonly prev: number
}

export interface SnapshotMessage extends Numbered {
  readonly type: 'SNAPSHOT'
  /** No execution is missing between this message and the SNAPSHOT. */
  readonly prev: number | undefined
  /** An earlier epoch's last message, `EPOCH.SEQ`. */
  readonly continues: string | undefined
  readonly instrument: PublishedInstrument
  readonly bids: readonly PublishedLevel[]
  readonly asks: readonly PublishedLevel[]
  /** Replaces the levels, which are then empty. */
  readonly orders: readonly PublishedOrder[] | undefined
}

export interface UpdateMessage extends Counted {
  readonly type: 'UPDATE'
  readonly bids: readonly PublishedLevel[]
  readonly asks: readonly PublishedLevel[]
  readonly executions: readonly PublishedExecution[]
  readonly missed: unknown
  readonly instrument: PublishedInstrument | undefined
  /** Replaces the levels, which are then empty. */
  readonly orders: readonly PublishedOrderChange[] | undefined
}

export interface InstrumentMessage extends Counted {
  readonly type: 'INSTRUMENT'
  readonly instrument: PublishedInstrument
}

interface LostMessage extends Numbered {
  readonly type: 'LOST'
}

export type PublicationMessage = SnapshotMessage | UpdateMessage | InstrumentMessage | LostMessage

/** The digest of a market's levels after message `seq`. */
export interface HeartbeatBook {
  readonly market: string
  readonly epoch: string
  readonly seq: number
  readonly digest: string
}

interface Heartbeat {
  readonly type: 'heartbeat'
  readonly books: readonly HeartbeatBook[]
}

/** What a message breaks, besides its form in general. */
export type SpecialProblem = 'number-not-text' | 'snapshot-without-instrument' | 'orders-and-levels-mixed'

export interface MessageProblem {
  readonly type: 'problem'
  /** The market it names, where it can be read. */
  readonly market: string | undefined
  readonly isSnapshot: boolean
  /** A sentence without its end: `payload.bids[3].price must be string`. */
  readonly text: string
  readonly special: SpecialProblem | undefined
}

const DEFINITION_OF: Readonly<Record<string, string>> = {
  SNAPSHOT: 'Snapshot',
  UPDATE: 'Update',
  INSTRUMENT: 'InstrumentChange',
  LOST: 'Lost',
}

/** Reads one message. */
export function readMessage(value: JsonObject): PublicationMessage | Heartbeat | MessageProblem {
  const { channel, payload } = value
  const { type, market, books } = membersOf(payload)
  const problem = problemIn(value)
  if (problem !== undefined) {
    const failing = channel === 'heartbeat' ? membersOf(at(books, problem.bookIndex)).market : market
    const named = typeof failing === 'string' && failing !== '' ? failing : undefined
    const isSnapshot = channel === 'publication' && type === 'SNAPSHOT'
    return { type: 'problem', market: named, isSnapshot, text: problem.text, special: problem.special }
  }
  return channel === 'heartbeat' ? { type: 'heartbeat', books: digestsOf(books) } : messageOf(value)
}

interface Found {
  readonly text: string
  readonly special?: SpecialProblem | undefined
  /** The index of a heartbeat's failing book. */
  readonly bookIndex?: number
}

function problemIn(value: JsonObject): Found | undefined {
  const { channel, payload, stream } = value
  const { type, bids, asks, time } = membersOf(payload)
  if (channel === 'heartbeat') return mismatch('PublisherHeartbeat', value)
  if (channel !== 'publication') return { text: 'channel is neither publication nor heartbeat' }
  const definition = typeof type === 'string' && Object.hasOwn(DEFINITION_OF, type) ? DEFINITION_OF[type] : undefined
  if (definition === undefined) return { text: 'payload.type is not one of SNAPSHOT, UPDATE, INSTRUMENT, LOST' }
  const found = mismatch(definition, value)
  if (found !== undefined) return found
  const { seq, prev } = membersOf(stream)
  const isCounted = type === 'UPDATE' || type === 'INSTRUMENT'
  if (isCounted && typeof prev === 'number' && prev >= (seq as number)) {
    return { text: 'stream.prev is not below stream.seq' }
  }
  if (countOf(bids) + countOf(asks) > PUBLISHED_ENTRIES_MAX) {
    return { text: `payload has more than ${PUBLISHED_ENTRIES_MAX} levels` }
  }
  const wrongDay = isDay(time as string) ? (type === 'UPDATE' ? wrongTradeDay(payload as Content) : undefined) : 'time'
  return wrongDay === undefined ? undefined : { text: `payload.${wrongDay} is on a day that does not exist` }
}

/** The first trade time on a day that does not exist. */
function wrongTradeDay({ executions = [], orders = [] }: Content): string | undefined {
  const isWrong = ({ executed_at: time }: JsonObject): boolean => typeof time === 'string' && !isDay(time)
  const execution = executions.findIndex((entry) => isWrong({ ...entry }))
  if (execution !== -1) return `executions[${execution}].executed_at`
  const trade = orders.map(membersOf).findIndex((change) => change.type === 'trade' && isWrong(change))
  return trade === -1 ? undefined : `orders[${trade}].executed_at`
}

const validators = new Map<string, Validator>()

/** The first mismatch between a value and a definition in the schema. */
function mismatch(definition: string, value: unknown): Found | undefined {
  const validator = validatorOf(definition, { $defs: PUBLICATION_SCHEMA.$defs, $ref: `#/$defs/${definition}` })
  if (validator.Check(value)) return undefined
  const [, [error]] = validator.Errors(value)
  if (error === undefined) return { text: 'the message does not match the schema' }
  const [, index] = /^\/payload\/orders\/([0-9]+)/.exec(error.instancePath) ?? []
  if (definition === 'Update' && index !== undefined) return orderMismatch(value, Number(index))
  const found = describe(error, value, '')
  const [, book] = /^\/payload\/books\/([0-9]+)/.exec(error.instancePath) ?? []
  return book === undefined ? found : { ...found, bookIndex: Number(book) }
}

/** An order change has one alternative per type. The one for its type says what is wrong. */
function orderMismatch(message: unknown, index: number): Found {
  const path = `/payload/orders/${index}`
  const entry = valueAt(message, path)
  const type = membersOf(entry).type
  const isOfType = ({ properties }: OrderChangeSchema) => properties.type.const === type
  const schema = (PUBLICATION_SCHEMA.$defs.OrderChange as { anyOf: readonly OrderChangeSchema[] }).anyOf.find(isOfType)
  if (schema === undefined) return { text: `${memberAt(path)}.type is not an order change type` }
  const [, [error]] = validatorOf(`OrderChange ${type}`, schema).Errors(entry)
  if (error === undefined) return { text: `${memberAt(path)} does not match the schema` }
  return describe(error, entry, path)
}

interface OrderChangeSchema {
  readonly properties: { readonly type: { readonly const: string } }
}

function validatorOf(name: string, schema: object): Validator {
  const known = validators.get(name)
  if (known !== undefined) return known
  const validator = Compile(schema)
  validators.set(name, validator)
  return validator
}

type SchemaError = ReturnType<Validator['Errors']>[1][number]

/** @param place the value's place in the message, as a JSON pointer */
function describe({ keyword, instancePath, params, message }: SchemaError, value: unknown, place: string): Found {
  const path = place + instancePath
  if (keyword === 'required') {
    const [missing] = (params as { readonly requiredProperties: readonly string[] }).requiredProperties
    const member = memberAt(`${path}/${missing}`)
    const special = member === 'payload.instrument' ? 'snapshot-without-instrument' : undefined
    return { text: `${member} is missing`, special }
  }
  const failing = valueAt(value, instancePath)
  if (typeof failing === 'number' && /\/(price|amount)$/.test(path)) {
    const text = `${memberAt(path)} is a JSON number, but prices and amounts are text`
    return { text, special: 'number-not-text' }
  }
  // The validator names no cause of a failing `then`, which the schema has in two places.
  if (keyword === 'if' && path === '/payload') {
    const text = 'payload.orders stands beside bids or asks, but a message has either orders or levels'
    return { text, special: 'orders-and-levels-mixed' }
  }
  if (keyword === 'if') return { text: `${memberAt(path)} lacks a valid market, epoch, seq or digest` }
  const special = path === '/payload/instrument' ? 'snapshot-without-instrument' : undefined
  return { text: `${path === '' ? 'the message' : memberAt(path)} ${message}`, special }
}

/** `/payload/bids/3/price` as `payload.bids[3].price`. */
function memberAt(pointer: string): string {
  return pointer
    .replace(/\/([0-9]+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
    .slice(1)
}

function valueAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((one: unknown, name) => (Array.isArray(one) ? one[Number(name)] : membersOf(one)[name]), value)
}

function at(list: unknown, index: number | undefined): unknown {
  return Array.isArray(list) && index !== undefined ? list[index] : undefined
}

function countOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}

/** Types a message which matches the schema. */
function messageOf(value: JsonObject): PublicationMessage {
  const payload = membersOf(value.payload)
  const { epoch, seq, prev, continues, origin } = membersOf(value.stream) as unknown as StreamMembers
  const { type, market, time } = payload as { readonly type: string; readonly market: string; readonly time: string }
  const timeMilliseconds = millisecondsOf(time)
  const numbered = { market, timeMilliseconds, epoch, seq, origin }
  const counted = { ...numbered, prev: prev ?? seq - 1 }
  const { bids = [], asks = [], executions = [], orders, instrument, missed } = payload as Content
  switch (type) {
    case 'SNAPSHOT': {
      const restingOrders = orders as readonly PublishedOrder[] | undefined
      return {
        type,
        ...numbered,
        prev,
        continues,
        instrument: instrumentOf(instrument),
        bids,
        asks,
        orders: restingOrders,
      }
    }
    case 'UPDATE':
      return {
        type,
        ...counted,
        bids,
        asks,
        missed,
        instrument: instrument === undefined ? undefined : instrumentOf(instrument),
        executions: executions.map((entry) => executionOf(entry, timeMilliseconds)),
        orders: orders?.map((entry) => orderChangeOf(entry as OrderChangeMembers, timeMilliseconds)),
      }
    case 'INSTRUMENT':
      return { type, ...counted, instrument: instrumentOf(payload) }
    default:
      return { type: 'LOST', ...numbered }
  }
}

interface StreamMembers {
  readonly epoch: string
  readonly seq: number
  readonly prev?: number
  readonly continues?: string
  readonly origin?: string
}

type OrderChangeMembers =
  | Exclude<PublishedOrderChange, { readonly type: 'trade' }>
  | ({ readonly type: 'trade'; readonly order_id?: string } & ExecutionMembers)

interface Content {
  readonly bids?: readonly PublishedLevel[]
  readonly asks?: readonly PublishedLevel[]
  readonly executions?: readonly ExecutionMembers[]
  readonly orders?: readonly unknown[]
  readonly instrument?: JsonObject
  readonly missed?: unknown
}

function executionOf(
  { id, side, venue, price, amount, executed_at: executedAt }: ExecutionMembers,
  timeMilliseconds: number,
): PublishedExecution {
  const executedAtMilliseconds = executedAt === undefined ? timeMilliseconds : millisecondsOf(executedAt)
  return { id, side, venue, price, amount, executedAtMilliseconds }
}

function orderChangeOf(change: OrderChangeMembers, timeMilliseconds: number): PublishedOrderChange {
  const { type, order_id } = change
  switch (type) {
    case 'order_add':
      return { type, order_id, side: change.side, price: change.price, amount: change.amount }
    case 'order_modify':
      return { type, order_id, amount: change.amount, price: change.price }
    case 'order_delete':
      return { type, order_id }
    case 'trade':
      return { type, order_id, ...executionOf(change, timeMilliseconds) }
  }
}

function instrumentOf(members: JsonObject = {}): PublishedInstrument {
  const { price_decimals: priceDecimals, amount_decimals: amountDecimals, state, reason, simulated } = members
  return {
    priceDecimals: priceDecimals as number,
    amountDecimals: amountDecimals as number,
    state,
    reason: reason ?? '',
    simulated: simulated ?? false,
  }
}

/** Entries without a digest belong to another kind of book. */
function digestsOf(books: unknown): readonly HeartbeatBook[] {
  const entries = Array.isArray(books) ? books.filter(isObject) : []
  return entries.filter(
    ({ epoch, digest }) => epoch !== undefined && digest !== undefined,
  ) as unknown as HeartbeatBook[]
}

/** Reads a time in the schema's form. */
function millisecondsOf(time: string): number {
  const [, day, clock, fraction = ''] = /^(.{10})[Tt](.{8})(?:\.([0-9]+))?Z$/.exec(time) ?? []
  return Date.parse(`${day}T${clock}Z`) + Number(fraction.padEnd(3, '0').slice(0, 3))
}

function isDay(time: string): boolean {
  const milliseconds = millisecondsOf(time)
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().slice(0, 10) === time.slice(0, 10)
}
