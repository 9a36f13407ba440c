/**
 * Encodes bus messages as bytes, for links between processes. Integers are LEB128 (seven bits per byte, least
 * significant first), so most levels take 8 to 10 bytes. Amounts may exceed the safe integers. Every message begins
 * with this format's version, and a reader rejects every other version by its number. Decoding validates its input.
 * Pure.
 */
import { type Execution, INSTRUMENT_STATES, type Instrument } from '../market/event.ts'
import type { Commit, Continuation, KeptExecution, MarketState, MarketStatus } from '../sequencing/bus.ts'
import { BusFormatError, ByteReader as Reader, ByteWriter as Writer } from './bus-bytes.ts'
import { readAttribution, readLevels, writeAttribution, writeLevels } from './bus-levels.ts'

/** Increased by every change that an earlier release cannot read. */
export const BUS_FORMAT = 1

/** A process sends these to another one about one market per tick, in publishing order. */
export type SentMessage = Commit | MarketStatus

/**
 * Names a market and its integers' scale. Processes that configure different scales do not follow each other's books.
 */
export interface MarketScale {
  readonly market: string
  readonly priceDecimals: number
  readonly amountDecimals: number
}

/**
 * A market's newest version, sent once a second. Nothing else reveals the loss of the last message before a silence.
 */
export interface Heartbeat extends MarketScale {
  readonly epoch: string
  readonly version: number
  readonly live: boolean
  readonly reason: string
}

/** Message kinds. A commit with an attribution has it at its end. */
const COMMIT = 1
const STATUS = 2
const ATTRIBUTED_COMMIT = 3

export function encodeMessages(scale: MarketScale, messages: readonly SentMessage[]): Buffer {
  const writer = startMessage(scale)
  writer.integer(messages.length)
  for (const message of messages) {
    if (message.type === 'commit') writeCommit(writer, message)
    else writeStatus(writer, message)
  }
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeMessages(bytes: Buffer): { readonly scale: MarketScale; readonly messages: SentMessage[] } {
  return decode(bytes, (reader) => {
    const scale = readScale(reader)
    return { scale, messages: reader.list(() => readMessage(reader, scale.market)) }
  })
}

export function encodeState(scale: MarketScale, state: MarketState): Buffer {
  const writer = startMessage(scale)
  writeState(writer, state)
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeState(bytes: Buffer): { readonly scale: MarketScale; readonly state: MarketState } {
  return decode(bytes, (reader) => {
    const scale = readScale(reader)
    return { scale, state: readState(reader, scale.market) }
  })
}

export function encodeHeartbeats(heartbeats: readonly Heartbeat[]): Buffer {
  const writer = new Writer()
  writer.byte(BUS_FORMAT)
  writer.integer(heartbeats.length)
  for (const heartbeat of heartbeats) {
    const { epoch, version, live, reason } = heartbeat
    writeScale(writer, heartbeat)
    writer.text(epoch)
    writer.integer(version)
    writer.byte(live ? 1 : 0)
    writer.text(reason)
  }
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeHeartbeats(bytes: Buffer): Heartbeat[] {
  return decode(bytes, (reader) =>
    reader.list(() => ({
      ...readScale(reader),
      epoch: reader.text(),
      version: reader.integer(),
      live: reader.byte() === 1,
      reason: reader.text(),
    })),
  )
}

export function startMessage(scale: MarketScale): Writer {
  const writer = new Writer()
  writer.byte(BUS_FORMAT)
  writeScale(writer, scale)
  return writer
}

function writeScale(writer: Writer, { market, priceDecimals, amountDecimals }: MarketScale): void {
  writer.text(market)
  writer.byte(priceDecimals)
  writer.byte(amountDecimals)
}

export function readScale(reader: Reader): MarketScale {
  return { market: reader.text(), priceDecimals: reader.byte(), amountDecimals: reader.byte() }
}

/** @throws {BusFormatError} */
export function decode<Value>(bytes: Buffer, read: (reader: Reader) => Value): Value {
  const reader = new Reader(bytes)
  const format = reader.byte()
  if (format !== BUS_FORMAT) {
    throw new BusFormatError(`a message has the format ${format}, but this release reads format ${BUS_FORMAT}`)
  }
  const value = read(reader)
  reader.end()
  return value
}

/** Optional members and flags of a commit, as bits. */
const MISSED = 1
const BOOK = 2
const BEGINS_BOOK = 4
const WITHDRAWS = 8
const ORIGIN = 16
const INSTRUMENT = 32
const NO_INSTRUMENT = 64
const CONTINUES = 128

function writeCommit(writer: Writer, commit: Commit): void {
  const { missedAt, book, beginsBook, withdraws, origin, instrument, continues, attribution } = commit
  writer.byte(attribution === undefined ? COMMIT : ATTRIBUTED_COMMIT)
  writer.byte(
    (missedAt === undefined ? 0 : MISSED) |
      (book === undefined ? 0 : BOOK) |
      (beginsBook ? BEGINS_BOOK : 0) |
      (withdraws ? WITHDRAWS : 0) |
      (origin === undefined ? 0 : ORIGIN) |
      (instrument === undefined ? 0 : INSTRUMENT) |
      (instrument === null ? NO_INSTRUMENT : 0) |
      (continues === undefined ? 0 : CONTINUES),
  )
  writeHead(writer, commit)
  writer.integer(commit.executionNumber)
  writeLevels(writer, commit.changes)
  writer.integer(commit.executions.length)
  for (const execution of commit.executions) writeExecution(writer, execution)
  if (missedAt !== undefined) writer.integer(missedAt)
  if (book !== undefined) writeLevels(writer, book)
  if (origin !== undefined) writer.text(origin)
  if (instrument !== undefined && instrument !== null) writeInstrument(writer, instrument)
  if (continues !== undefined) writeContinuation(writer, continues)
  if (attribution !== undefined) writeAttribution(writer, attribution)
}

function readCommit(reader: Reader, market: string, isAttributed: boolean): Commit {
  const bits = reader.byte()
  const head = readHead(reader, market)
  const executionNumber = reader.integer()
  const changes = readLevels(reader)
  const executions = reader.list(() => readExecution(reader))
  const missedAt = (bits & MISSED) === 0 ? undefined : reader.integer()
  if (missedAt !== undefined && missedAt > executions.length) throw new BusFormatError('a miss is at no execution')
  const book = (bits & BOOK) === 0 ? undefined : readLevels(reader)
  const origin = (bits & ORIGIN) === 0 ? undefined : reader.text()
  let instrument: Instrument | null | undefined
  if ((bits & NO_INSTRUMENT) !== 0) instrument = null
  else if ((bits & INSTRUMENT) !== 0) instrument = readInstrument(reader)
  const continues = (bits & CONTINUES) === 0 ? undefined : readContinuation(reader)
  return {
    type: 'commit',
    ...head,
    changes,
    attribution: isAttributed ? readAttribution(reader) : undefined,
    executions,
    missedAt,
    executionNumber,
    continues,
    book,
    beginsBook: (bits & BEGINS_BOOK) !== 0 || undefined,
    withdraws: (bits & WITHDRAWS) !== 0 || undefined,
    origin,
    instrument,
  }
}

function writeContinuation(writer: Writer, { epoch, executionNumber }: Continuation): void {
  writer.text(epoch)
  writer.integer(executionNumber)
}

function readContinuation(reader: Reader): Continuation {
  return { epoch: reader.text(), executionNumber: reader.integer() }
}

function writeStatus(writer: Writer, { epoch, version, live, reason }: MarketStatus): void {
  writer.byte(STATUS)
  writer.text(epoch)
  writer.integer(version)
  writer.byte(live ? 1 : 0)
  writer.text(reason)
}

function readStatus(reader: Reader, market: string): MarketStatus {
  const [epoch, version] = [reader.text(), reader.integer()]
  return { type: 'status', market, epoch, version, live: reader.byte() === 1, reason: reader.text() }
}

/** Optional members and flags of a state, as bits. */
const HAS_BOOK = 1
const WITHDRAWN = 2
const LIVE = 4
const ATTRIBUTED = 64

function writeState(writer: Writer, state: MarketState): void {
  const { hasBook, isWithdrawn, live, origin, instrument, continues, attribution } = state
  writer.byte(
    (hasBook ? HAS_BOOK : 0) |
      (isWithdrawn ? WITHDRAWN : 0) |
      (live ? LIVE : 0) |
      (origin === undefined ? 0 : ORIGIN) |
      (instrument === undefined ? 0 : INSTRUMENT) |
      (attribution === undefined ? 0 : ATTRIBUTED) |
      (continues === undefined ? 0 : CONTINUES),
  )
  writeHead(writer, state)
  writer.text(state.reason)
  writer.integer(state.executionNumber)
  writer.integer(state.executions.length)
  for (const { execution, version, commitMilliseconds } of state.executions) {
    writer.integer(version)
    writer.integer(commitMilliseconds)
    writeExecution(writer, execution)
  }
  writeLevels(writer, state.levels)
  if (origin !== undefined) writer.text(origin)
  if (instrument !== undefined) writeInstrument(writer, instrument)
  if (continues !== undefined) writeContinuation(writer, continues)
  if (attribution !== undefined) writeAttribution(writer, attribution)
}

function readState(reader: Reader, market: string): MarketState {
  const bits = reader.byte()
  const head = readHead(reader, market)
  const reason = reader.text()
  const executionNumber = reader.integer()
  const executions = reader.list(
    (): KeptExecution => ({
      version: reader.integer(),
      commitMilliseconds: reader.integer(),
      execution: readExecution(reader),
    }),
  )
  if (executions.length > executionNumber) throw new BusFormatError('a state has more executions than it counts')
  const levels = readLevels(reader)
  const origin = (bits & ORIGIN) === 0 ? undefined : reader.text()
  const instrument = (bits & INSTRUMENT) === 0 ? undefined : readInstrument(reader)
  const continues = (bits & CONTINUES) === 0 ? undefined : readContinuation(reader)
  const attribution = (bits & ATTRIBUTED) === 0 ? undefined : readAttribution(reader)
  return {
    type: 'state',
    ...head,
    levels,
    ...(attribution === undefined ? {} : { attribution }),
    hasBook: (bits & HAS_BOOK) !== 0,
    isWithdrawn: (bits & WITHDRAWN) !== 0,
    live: (bits & LIVE) !== 0,
    reason,
    executionNumber,
    executions,
    ...(origin === undefined ? {} : { origin }),
    ...(instrument === undefined ? {} : { instrument }),
    ...(continues === undefined ? {} : { continues }),
  }
}

function readMessage(reader: Reader, market: string): SentMessage {
  const kind = reader.byte()
  if (kind === COMMIT || kind === ATTRIBUTED_COMMIT) return readCommit(reader, market, kind === ATTRIBUTED_COMMIT)
  if (kind === STATUS) return readStatus(reader, market)
  throw new BusFormatError(`there is no message kind ${kind}`)
}

type Head = Pick<Commit, 'market' | 'epoch' | 'version' | 'milliseconds' | 'nanoseconds' | 'receivedMilliseconds'>

function writeHead(writer: Writer, head: Head): void {
  writer.text(head.epoch)
  writer.integer(head.version)
  writer.integer(head.milliseconds)
  writer.integer(head.nanoseconds)
  writer.float(head.receivedMilliseconds)
}

function readHead(reader: Reader, market: string): Head {
  return {
    market,
    epoch: reader.text(),
    version: reader.integer(),
    milliseconds: reader.integer(),
    nanoseconds: reader.integer(),
    receivedMilliseconds: reader.float(),
  }
}

/** Optional members and the taker side of an execution, as bits. */
const EXECUTION_ID = 1
const BUYER = 2
const SELLER = 4
const EXECUTED_AT = 8
const VENUE = 16

function writeExecution(writer: Writer, { price, amount, id, side, executedAtMilliseconds, venue }: Execution): void {
  writer.byte(
    (id === undefined ? 0 : EXECUTION_ID) |
      (side === 'buy' ? BUYER : 0) |
      (side === 'sell' ? SELLER : 0) |
      (executedAtMilliseconds === undefined ? 0 : EXECUTED_AT) |
      (venue === undefined ? 0 : VENUE),
  )
  writer.integer(price)
  writer.scaled(amount)
  if (id !== undefined) writer.text(id)
  if (executedAtMilliseconds !== undefined) writer.integer(executedAtMilliseconds)
  if (venue !== undefined) writer.text(venue)
}

function readExecution(reader: Reader): Execution {
  const bits = reader.byte()
  const [price, amount] = [reader.integer(), reader.scaled()]
  const id = (bits & EXECUTION_ID) === 0 ? undefined : reader.text()
  const executedAtMilliseconds = (bits & EXECUTED_AT) === 0 ? undefined : reader.integer()
  const venue = (bits & VENUE) === 0 ? undefined : reader.text()
  return {
    price,
    amount,
    ...(id === undefined ? {} : { id }),
    ...((bits & BUYER) === 0 ? {} : { side: 'buy' as const }),
    ...((bits & SELLER) === 0 ? {} : { side: 'sell' as const }),
    ...(executedAtMilliseconds === undefined ? {} : { executedAtMilliseconds }),
    ...(venue === undefined ? {} : { venue }),
  }
}

function writeInstrument(writer: Writer, { state, reason, simulated }: Instrument): void {
  writer.byte(INSTRUMENT_STATES.indexOf(state))
  writer.byte(simulated === true ? 1 : 0)
  writer.text(reason)
}

function readInstrument(reader: Reader): Instrument {
  const state = INSTRUMENT_STATES[reader.byte()]
  if (state === undefined) throw new BusFormatError('there is no such instrument state')
  const simulated = reader.byte() === 1
  const reason = reader.text()
  return simulated ? { state, reason, simulated } : { state, reason }
}
