/**
 * A market's executions as the stream sent them. Trades and candles over REST are compared with them: a trade by its
 * cursor, a candle by building it again. Decimals are exact. Pure.
 */
import type { JsonObject } from '../../../platform/base/json-value.ts'

const KEPT_MAX = 50_000
const MINUTE_MILLISECONDS = 60_000
/** How long the stream has to be ahead of a minute's end before its candle is compared: late trades, and slow nodes. */
const SETTLED_MILLISECONDS = 5_000
/** Minutes compared with one answer: fewer than it may have candles. */
const MINUTES_MAX = 100
const TRADE_MEMBERS = ['price', 'amount', 'executed_at', 'id', 'side', 'venue'] as const

/** Whole minutes, as query times. */
export interface Minutes {
  readonly from: string
  readonly to: string
}

/** Only times after the subscription's begin count: earlier executions are not known. */
export class SeenExecutions {
  #executions: JsonObject[] = []
  /** The number of executions dropped before the first kept one. */
  #dropped = 0
  readonly #numbers = new Map<unknown, number>()
  /** Milliseconds since the epoch, by the service's clock. */
  #since: number | undefined
  #latest = 0
  #compared = 0
  /** The newest execution some seconds ago, which every answer must have by then. */
  #due: { readonly number: number; readonly latest: number } | undefined
  /** Whether the last answer that was checked lacked it. A node that was just started may lack it too. */
  #isTapeSuspect = false
  /** A candle which differed once. The stream may have been slower: it counts when it differs again. */
  readonly #suspects = new Set<unknown>()

  reset(): void {
    this.#executions = []
    this.#dropped = 0
    this.#numbers.clear()
    this.#since = undefined
    this.#compared = 0
    this.#due = undefined
    this.#isTapeSuspect = false
  }

  /** A time that the service sent. */
  onTime(milliseconds: number): void {
    if (Number.isNaN(milliseconds)) return
    this.#since ??= milliseconds
    this.#latest = Math.max(this.#latest, milliseconds)
  }

  onExecution(payload: JsonObject, cursor: string): void {
    this.#numbers.set(cursor, this.#dropped + this.#executions.push({ ...payload, cursor }) - 1)
    if (this.#executions.length <= KEPT_MAX) return
    for (const old of this.#executions.splice(0, KEPT_MAX / 2)) {
      this.#numbers.delete(old.cursor)
      this.#since = Math.max(this.#since ?? 0, Date.parse(String(old.executed_at)))
    }
    this.#dropped += KEPT_MAX / 2
  }

  /** @param items the newest first */
  compareTrades(items: readonly JsonObject[]): { readonly count: number; readonly differences: string[] } {
    const differences: string[] = []
    let count = 0
    let newest = -1
    let last: { readonly number: number; readonly index: number } | undefined
    for (const [index, item] of items.entries()) {
      const number = this.#numbers.get(item.cursor)
      if (number === undefined) continue
      count++
      newest = Math.max(newest, number)
      const seen = this.#executions[number - this.#dropped] as JsonObject
      const wrong = TRADE_MEMBERS.filter((name) => item[name] !== seen[name])
      if (wrong.length > 0) differences.push(`trade ${item.cursor} differs from its execution in ${wrong.join(', ')}`)
      if (last !== undefined && last.number - number !== index - last.index)
        differences.push(`before trade ${item.cursor} there are others than on the stream`)
      last = { number, index }
    }
    return { count, differences: [...differences, ...this.#missingTrade(items, newest)] }
  }

  /** @param newest the number of the newest known execution in the answer. -1: none */
  #missingTrade(items: readonly JsonObject[], newest: number): string[] {
    const due = this.#due
    if (due !== undefined && this.#latest - due.latest <= SETTLED_MILLISECONDS) return []
    const number = this.#dropped + this.#executions.length - 1
    this.#due = this.#executions.length === 0 ? undefined : { number, latest: this.#latest }
    const seen = due === undefined ? undefined : this.#executions[due.number - this.#dropped]
    if (due === undefined || seen === undefined) return []
    // An answer with newer trades only is ahead of a lagging stream.
    const isAhead = newest === -1 && items.length > 0 && String(items[0]?.executed_at) >= String(seen.executed_at)
    const isMissing = newest < due.number && !isAhead
    const isSure = isMissing && this.#isTapeSuspect
    this.#isTapeSuspect = isMissing
    return isSure ? [`trade ${seen.cursor} is missing, seconds after its execution`] : []
  }

  /** The minutes to compare next: those during the subscription. Undefined: none yet. */
  get minutes(): Minutes | undefined {
    const since = this.#since
    if (since === undefined) return undefined
    const first = Math.ceil((since + SETTLED_MILLISECONDS) / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS
    const from = Math.max(first, this.#compared)
    const last = Math.floor((this.#latest - SETTLED_MILLISECONDS) / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS
    const to = Math.min(last, from + MINUTES_MAX * MINUTE_MILLISECONDS)
    return from < to ? { from: new Date(from).toISOString(), to: new Date(to).toISOString() } : undefined
  }

  /** @param items one-minute candles, all of the minutes asked for */
  compareCandles(
    items: readonly JsonObject[],
    { from, to }: Minutes,
  ): { readonly count: number; readonly differences: string[] } {
    const differences: string[] = []
    const byStart = new Map(items.map((item) => [Date.parse(String(item.time)), item]))
    let count = 0
    for (let start = Date.parse(from); start < Date.parse(to); start += MINUTE_MILLISECONDS) {
      const item = byStart.get(start)
      if (item?.incomplete !== true) {
        const wrong = this.#candleDifferences(item, start)
        const isDifferent = wrong.length > 0
        if (isDifferent && !this.#suspects.has(start)) {
          this.#suspects.add(start)
          break
        }
        if (item !== undefined) count++
        if (isDifferent) differences.push(`candle ${new Date(start).toISOString()}: ${wrong.join(', ')}`)
      }
      this.#compared = start + MINUTE_MILLISECONDS
    }
    return { count, differences }
  }

  /** @param item absent: the answer has no candle for this minute, as before a market's first execution */
  #candleDifferences(item: JsonObject | undefined, start: number): string[] {
    const timeOf = ({ executed_at }: JsonObject) => Date.parse(String(executed_at))
    const trades = this.#executions.filter((one) => timeOf(one) >= start && timeOf(one) < start + MINUTE_MILLISECONDS)
    if (item === undefined) return trades.length === 0 ? [] : [`it is missing, with ${trades.length} executions`]
    // A stable sort: commit order among equal times.
    const wanted = candleOf(trades.sort((left, right) => timeOf(left) - timeOf(right)))
    return Object.entries({ ...wanted, closed: true, incomplete: false })
      .filter(([name, value]) => !isSame(item[name], value))
      .map(([name, value]) => `${name} is ${item[name]}, from the executions ${shown(value)}`)
  }
}

/** An exact decimal: an integer in units of the last of its digits. */
interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

function candleOf(trades: readonly JsonObject[]): Readonly<Record<string, unknown>> {
  const [first, last] = [trades[0], trades.at(-1)]
  if (first === undefined || last === undefined) return { trades: 0, volume: decimal('0'), quote_volume: decimal('0') }
  const prices = trades.map(({ price }) => decimal(price))
  const products = trades.map(({ price, amount }) => product(decimal(price), decimal(amount)))
  return {
    open: decimal(first.price),
    high: prices.reduce((high, price) => (isLower(high, price) ? price : high)),
    low: prices.reduce((low, price) => (isLower(price, low) ? price : low)),
    close: decimal(last.price),
    volume: trades.map(({ amount }) => decimal(amount)).reduce(sum),
    quote_volume: products.reduce(sum),
    trades: trades.length,
    first_execution_id: first.id,
    last_execution_id: last.id,
  }
}

function decimal(text: unknown): Decimal {
  const [whole = '', fraction = ''] = String(text).split('.')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

function atScale({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale)
}

function sum(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale)
  return { digits: atScale(left, scale) + atScale(right, scale), scale }
}

function product(left: Decimal, right: Decimal): Decimal {
  return { digits: left.digits * right.digits, scale: left.scale + right.scale }
}

function isLower(left: Decimal, right: Decimal): boolean {
  const scale = Math.max(left.scale, right.scale)
  return atScale(left, scale) < atScale(right, scale)
}

function isDecimal(value: unknown): value is Decimal {
  return typeof value === 'object'
}

function isSame(given: unknown, wanted: unknown): boolean {
  if (!isDecimal(wanted)) return given === wanted
  if (typeof given !== 'string' || !/^\d+(\.\d+)?$/.test(given)) return false
  const value = decimal(given)
  return !isLower(value, wanted) && !isLower(wanted, value)
}

function shown(value: unknown): string {
  if (!isDecimal(value)) return String(value)
  const { digits, scale } = value
  const text = String(digits).padStart(scale + 1, '0')
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
}
