/**
 * The entries of a block as text, one line of JSON each: `[market, milliseconds after the first entry of the block,
 * event …]`, so that a decompressed recording can be read by people and by any program. Prices and amounts are integers
 * at the scale of the market; values beyond the safe integers are text. Every value is checked when it is read. Pure.
 */
import type { Scaled } from '../../base/decimal.ts'
import { BID, type Execution, type LevelChange, type MarketEvent } from '../../market/event.ts'
import { type RecordedEntry, RecordingError } from './recording.ts'

/** Prices and amounts, alternating. */
type FlatLevels = (number | string)[]

type EventText =
  | { readonly snapshot: readonly [bids: FlatLevels, asks: FlatLevels] }
  | { readonly update: readonly [bids: FlatLevels, asks: FlatLevels, executions?: unknown[][]] }
  | { readonly lost: string }
  | { readonly missed: string }

/** Most digits of an amount. */
const DIGITS_MAX = 60

export function encodeEntry({ market, atMilliseconds, events }: RecordedEntry, firstMilliseconds: number): string {
  return `${JSON.stringify([market, atMilliseconds - firstMilliseconds, ...events.map(encodeEvent)])}\n`
}

/** @throws {RecordingError} which names the line */
export function decodeEntries(text: string, firstMilliseconds: number, marketCount: number): RecordedEntry[] {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new RecordingError('the last entry has no end')
  return lines.map((line, index) => {
    const entry = decodeEntry(line, firstMilliseconds, marketCount)
    if (entry === undefined) throw new RecordingError(`entry ${index} cannot be read: ${line.slice(0, 100)}`)
    return entry
  })
}

function encodeEvent(event: MarketEvent): EventText {
  if (event.type === 'lost') return { lost: event.reason }
  if (event.type === 'missed') return { missed: event.reason }
  if (event.type === 'snapshot') return { snapshot: encodeLevels(event.levels) }
  const levels = encodeLevels(event.changes)
  if (event.executions.length === 0) return { update: levels }
  return { update: [...levels, event.executions.map(encodeExecution)] }
}

function encodeLevels(levels: readonly LevelChange[]): [bids: FlatLevels, asks: FlatLevels] {
  const bids: FlatLevels = []
  const asks: FlatLevels = []
  for (const { side, price, amount } of levels) (side === BID ? bids : asks).push(price, encodeScaled(amount))
  return [bids, asks]
}

function encodeExecution({ price, amount, executedAtMilliseconds }: Execution): unknown[] {
  const execution = [price, encodeScaled(amount)]
  if (executedAtMilliseconds !== undefined) execution.push(executedAtMilliseconds)
  return execution
}

function encodeScaled(value: Scaled): number | string {
  return typeof value === 'number' ? value : String(value)
}

function decodeEntry(line: string, firstMilliseconds: number, marketCount: number): RecordedEntry | undefined {
  const value = parse(line)
  if (!Array.isArray(value)) return undefined
  const [market, offset, ...texts] = value as unknown[]
  if (!isCount(market) || market >= marketCount || !isCount(offset)) return undefined
  const events: MarketEvent[] = []
  for (const text of texts) {
    const event = decodeEvent(text)
    if (event === undefined) return undefined
    events.push(event)
  }
  return { market, atMilliseconds: firstMilliseconds + offset, events }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function decodeEvent(text: unknown): MarketEvent | undefined {
  if (typeof text !== 'object' || text === null) return undefined
  const { lost, missed, snapshot, update } = text as Readonly<Record<string, unknown>>
  if (typeof lost === 'string') return { type: 'lost', reason: lost }
  if (typeof missed === 'string') return { type: 'missed', reason: missed }
  const levels = decodeSides(snapshot ?? update)
  if (levels === undefined) return undefined
  if (snapshot !== undefined) return { type: 'snapshot', levels }
  const executions = decodeExecutions((update as unknown[])[2] ?? [])
  return executions === undefined ? undefined : { type: 'update', changes: levels, executions }
}

function decodeSides(sides: unknown): LevelChange[] | undefined {
  if (!Array.isArray(sides) || sides.length < 2) return undefined
  const levels: LevelChange[] = []
  for (const side of [0, 1] as const) {
    const flat: unknown = sides[side]
    if (!Array.isArray(flat) || flat.length % 2 !== 0) return undefined
    for (let index = 0; index < flat.length; index += 2) {
      const price: unknown = flat[index]
      const amount = decodeScaled(flat[index + 1])
      if (!isCount(price) || amount === undefined) return undefined
      levels.push({ side, price, amount })
    }
  }
  return levels
}

function decodeExecutions(texts: unknown): Execution[] | undefined {
  if (!Array.isArray(texts)) return undefined
  const executions: Execution[] = []
  for (const text of texts as unknown[]) {
    if (!Array.isArray(text)) return undefined
    const [price, amountText, executedAtMilliseconds] = text as unknown[]
    const amount = decodeScaled(amountText)
    if (!isCount(price) || amount === undefined) return undefined
    if (executedAtMilliseconds === undefined) executions.push({ price, amount })
    else if (isCount(executedAtMilliseconds)) executions.push({ price, amount, executedAtMilliseconds })
    else return undefined
  }
  return executions
}

/** Text is accepted only beyond the safe integers, so that equal values have one form. */
function decodeScaled(value: unknown): Scaled | undefined {
  if (isCount(value)) return value
  if (typeof value !== 'string' || value.length > DIGITS_MAX || !/^[1-9][0-9]*$/.test(value)) return undefined
  const amount = BigInt(value)
  return amount > Number.MAX_SAFE_INTEGER ? amount : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
