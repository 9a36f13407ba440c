/**
 * The records that receipts hash: levels, UPDATEs and executions, with all text exactly as in the messages. Also the
 * records of one channel since a position, which the next receipt states.
 */
import { createHash, type Hash } from 'node:crypto'
import { receiptRecord } from '../../contract/receipt.ts'
import { type Instant, millisecondText } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import { BID, type LevelChange, type MarketDefinition } from '../market/event.ts'
import type { ExecutionLog } from './execution-log.ts'

/** Text collected before it is hashed, because a call costs as much as hashing some hundred characters. */
const BUFFERED_CHARACTERS = 8_192

export class RecordHash {
  #hash: Hash | undefined
  #text = ''

  add(records: string): void {
    this.#text += records
    if (this.#text.length < BUFFERED_CHARACTERS) return
    this.#hash = (this.#hash ?? createHash('sha256')).update(this.#text)
    this.#text = ''
  }

  /** Ends the hash. */
  sha256(): string {
    return (this.#hash ?? createHash('sha256')).update(this.#text).digest('base64url')
  }
}

/** A window without its hash, which is computed later. */
export interface EndedWindow {
  readonly after: number
  readonly count: number
  readonly hash: RecordHash
}

export class RecordWindow {
  /** The last position before the window. */
  #after = 0
  #count = 0
  #hash = new RecordHash()

  get after(): number {
    return this.#after
  }

  get count(): number {
    return this.#count
  }

  add(record: string): void {
    this.#count += 1
    this.#hash.add(record)
  }

  /** Ends the window at a position, after which the next one begins. */
  end(position: number): EndedWindow {
    const ended = { after: this.#after, count: this.#count, hash: this.#hash }
    this.restart(position)
    return ended
  }

  /** Forgets the records, and begins after another position. */
  restart(after: number): void {
    this.#after = after
    this.#count = 0
    this.#hash = new RecordHash()
  }
}

/** A removed level has the amount `0`, as in an UPDATE. */
export function levelRecord(market: MarketDefinition, { side, price, amount }: LevelChange): string {
  const priceText = formatDecimal(price, market.priceDecimals)
  const amountText = amount === 0 ? '0' : formatDecimal(amount, market.amountDecimals)
  return `1:${side === BID ? 'b' : 'a'},${priceText.length}:${priceText},${amountText.length}:${amountText},`
}

/** Without its levels. */
export function updateRecord(cursor: string, { milliseconds }: Instant): string {
  return receiptRecord('u', cursor, millisecondText(milliseconds))
}

export function executionRecord(market: MarketDefinition, executions: ExecutionLog, number: number): string {
  const { execution, commitMilliseconds } = executions.at(number)
  const { id, side = '', venue = '', executedAtMilliseconds } = execution
  const cursor = executions.idOf(number)
  const time = millisecondText(executedAtMilliseconds ?? commitMilliseconds)
  const price = formatDecimal(execution.price, market.priceDecimals)
  const amount = formatDecimal(execution.amount, market.amountDecimals)
  return receiptRecord('e', cursor, time, id ?? cursor, side, venue, price, amount)
}
