/**
 * A market's book as the stream's messages make it, kept at each position while a REST answer for it is awaited. An answer
 * may be ahead of the stream: it is compared once the stream has reached its cursor or time. Pure.
 */
import { isObject, type JsonObject } from '../../../platform/base/json-value.ts'
import { BOOK_SIDES, type BookSide, NaiveBook, standsBefore, type WireLevel } from '../naive-book.ts'

/** A REST answer, its members checked. */
export interface BookAnswer {
  readonly cursor: string
  readonly time: string
  readonly depth: number
  readonly digest: string
  readonly bids: readonly WireLevel[]
  readonly asks: readonly WireLevel[]
}

/** The book after one message. */
interface KeptBook {
  readonly cursor: string
  readonly time: string
  /** The previous message's time, if it is known. */
  readonly previousTime: string
  readonly sides: Readonly<Record<BookSide, Map<string, string>>>
}

/** A request on its way, with the books since it was sent. */
export interface AwaitedBook {
  readonly kept: KeptBook[]
  answer: BookAnswer | undefined
  /** Whether the answer has all published levels, and therefore the stream's cursor. */
  isWhole: boolean
}

/** A comparison's result: the differences, none for equal books. Undefined: no book of this cursor or time was kept. */
export type Comparison = readonly string[] | undefined

const KEPT_MAX = 1_000
const AWAITED_MAX = 50
/** A book this much older than the stream's at the time of the request is old. Nodes may follow a little later. */
const OLD_MILLISECONDS = 5_000

export class KeptBooks {
  #now: KeptBook | undefined
  #awaited: AwaitedBook[] = []
  readonly #onCompared: (comparison: Comparison) => void

  constructor(onCompared: (comparison: Comparison) => void) {
    this.#onCompared = onCompared
  }

  /** A new connection or subscription. */
  reset(): void {
    this.#now = undefined
    this.#awaited = []
  }

  /** Must be called before the request is sent. Undefined: the stream has no book yet. */
  expect(): AwaitedBook | undefined {
    if (this.#now === undefined) return undefined
    const awaited = { kept: [this.#now], answer: undefined, isWhole: false }
    this.#awaited.push(awaited)
    if (this.#awaited.length > AWAITED_MAX) this.#awaited.shift()
    return awaited
  }

  forget(awaited: AwaitedBook): void {
    this.#awaited = this.#awaited.filter((other) => other !== awaited)
  }

  answered(awaited: AwaitedBook, answer: BookAnswer, isWhole: boolean): void {
    awaited.answer = answer
    awaited.isWhole = isWhole
    this.#settle(awaited)
  }

  /** A SNAPSHOT or UPDATE with its position. */
  onMessage({ type, time, bids, asks }: JsonObject, cursor: string): void {
    const before = type === 'UPDATE' ? this.#now : undefined
    // A book that an awaited answer may need is copied before it changes.
    const isKept = before === undefined || this.#awaited.length > 0
    const sides = isKept ? { bids: new Map(before?.sides.bids), asks: new Map(before?.sides.asks) } : before.sides
    for (const [side, levels] of [['bids', bids] as const, ['asks', asks] as const]) {
      for (const { price, amount } of levelsOf(levels) ?? []) {
        if (amount === '0') sides[side].delete(price)
        else sides[side].set(price, amount)
      }
    }
    this.#now = { cursor, time: String(time), previousTime: before?.time ?? '', sides }
    for (const awaited of [...this.#awaited]) {
      awaited.kept.push(this.#now)
      if (awaited.kept.length > KEPT_MAX) this.forget(awaited)
      else if (awaited.answer !== undefined) this.#settle(awaited)
    }
  }

  #settle(awaited: AwaitedBook): void {
    const { kept, answer, isWhole } = awaited
    if (answer === undefined) return
    const first = kept[0] as KeptBook
    // An unchanged view has an earlier time than the stream's book when the request was sent.
    const book = isWhole
      ? kept.find(({ cursor }) => cursor === answer.cursor)
      : answer.time <= first.time
        ? first
        : kept.find(({ time }) => time === answer.time)
    // Its view has not changed since, or its node follows a little later: only equal levels tell.
    const isEarlier = !isWhole && answer.time < first.time && !isOld(answer.time, first.time)
    if (book !== undefined) this.#end(awaited, differences(book, answer, { isWhole, isEarlier }))
    else if (isWhole && isOld(answer.time, first.time)) this.#end(awaited, [oldText(answer, first)])
    else if ((kept.at(-1) as KeptBook).time > answer.time) this.#end(awaited, undefined)
  }

  #end(awaited: AwaitedBook, comparison: Comparison): void {
    this.forget(awaited)
    this.#onCompared(comparison)
  }
}

/** Levels as text, in the order sent. Undefined for anything else. */
export function levelsOf(value: unknown): readonly WireLevel[] | undefined {
  const isLevel = (level: unknown): level is WireLevel =>
    isObject(level) && typeof level.price === 'string' && typeof level.amount === 'string'
  return Array.isArray(value) && value.every(isLevel) ? value : undefined
}

function isOld(time: string, streamTime: string): boolean {
  return Date.parse(streamTime) - Date.parse(time) > OLD_MILLISECONDS
}

function oldText({ cursor, time }: BookAnswer, first: KeptBook): string {
  return `the book ${cursor} of ${time}, when the stream had ${first.cursor} of ${first.time}`
}

/** @param which `isEarlier`: with other levels, the answer may be right and is not compared */
function differences(
  kept: KeptBook,
  answer: BookAnswer,
  which: { readonly isWhole: boolean; readonly isEarlier: boolean },
): Comparison {
  const { isWhole, isEarlier } = which
  const book = new NaiveBook()
  const found: string[] = []
  for (const side of BOOK_SIDES) {
    // The stream has the same levels as a whole book, whatever depth its answer names.
    const wanted = best(kept.sides[side], side, isWhole ? 0 : answer.depth)
    const levels = answer[side]
    for (const { price, amount } of wanted) book.set(side, price, amount)
    const at = Math.max(wanted.length, levels.length)
    for (let index = 0; index < at; index++) {
      const [one, other] = [levels[index], wanted[index]]
      if (one?.price === other?.price && one?.amount === other?.amount) continue
      found.push(`${side} level ${index + 1} is ${shown(one)}, the stream's ${shown(other)}`)
      break
    }
  }
  if (isEarlier && found.length > 0) return undefined
  if (answer.digest !== book.digest()) found.push(`the digest is ${answer.digest}, the stream's ${book.digest()}`)
  // A lagging subscriber's message may have a later time than the change itself.
  const isTimely = answer.time <= kept.time && (!isWhole || answer.time > kept.previousTime)
  if (!isTimely) found.push(`the time is ${answer.time}, the stream's ${kept.time} after ${kept.previousTime}`)
  return found.map((text) => `at ${answer.cursor}, depth ${answer.depth}: ${text}`)
}

function best(levels: ReadonlyMap<string, string>, side: BookSide, depth: number): readonly WireLevel[] {
  const sorted = Array.from(levels, ([price, amount]) => ({ price, amount })).sort((left, right) =>
    standsBefore(side, left.price, right.price) ? -1 : 1,
  )
  return depth === 0 ? sorted : sorted.slice(0, depth)
}

function shown(level: WireLevel | undefined): string {
  return level === undefined ? 'absent' : `${level.price} x ${level.amount}`
}
