/**
 * Checks single members in a publisher's message. Each check returns the typed value, or throws `Broken` with the
 * member's path and the rule. `message` catches it, so it never leaves this folder. Pure.
 */
import { isObject, type JsonObject } from '../../../platform/base/json-value.ts'
import { readInstant } from '../../../platform/http/list-times.ts'
import type { TakerSide } from '../../market/event.ts'

/** Digits before and after the point, as many as `platform/base/decimal` reads. */
const DECIMAL = /^[0-9]{1,40}(?:\.[0-9]{1,40})?$/
const ZERO = /^[0.]+$/
const EPOCH = /^[A-Za-z0-9_-]{1,64}$/
const ORIGIN = /^[A-Za-z0-9_-]{1,64}\.(0|[1-9][0-9]{0,15})$/
const IDENTIFIER = /^[\x20-\x7e]{1,64}$/
const DIGEST = /^[0-9a-f]{16}$/
const MARKET_CHARACTERS_MAX = 64

/** Ends a message's check. */
export class Broken extends Error {
  readonly member: string
  readonly rule: string
  readonly market: string | undefined

  constructor(member: string, rule: string, market?: string) {
    super(rule)
    this.member = member
    this.rule = rule
    this.market = market
  }
}

export function object(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value
  throw new Broken(path, value === undefined ? 'is missing' : 'is not an object')
}

export function array(value: unknown, path: string, entriesMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new Broken(path, value === undefined ? 'is missing' : 'is not a list')
  if (value.length > entriesMax) throw new Broken(path, `has more than ${entriesMax} entries`)
  return value
}

export function list<Entry>(
  value: unknown,
  path: string,
  entriesMax: number,
  read: (entry: JsonObject, path: string) => Entry,
): readonly Entry[] {
  return array(value, path, entriesMax).map((entry, index) => {
    const place = `${path}[${index}]`
    return read(object(entry, place), place)
  })
}

export function marketOf(value: unknown, path: string): string {
  const fits = typeof value === 'string' && value.length > 0 && value.length <= MARKET_CHARACTERS_MAX
  if (fits) return value
  throw new Broken(path, value === undefined ? 'is missing' : `is not 1 to ${MARKET_CHARACTERS_MAX} characters`)
}

function matching(value: unknown, pattern: RegExp, path: string, rule: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw new Broken(path, value === undefined ? 'is missing' : rule)
}

export function epochOf(value: unknown, path: string): string {
  return matching(value, EPOCH, path, 'is not 1 to 64 characters of A-Z a-z 0-9 _ -')
}

export function originOf(value: unknown, path: string): string {
  return matching(value, ORIGIN, path, 'is not EPOCH.SEQ')
}

export function digestOf(value: unknown, path: string): string {
  return matching(value, DIGEST, path, 'is not 16 lower-case hexadecimal digits')
}

export function identifier(value: unknown, path: string): string {
  return matching(value, IDENTIFIER, path, 'is not 1 to 64 printable ASCII characters')
}

export function sideOf(value: unknown, path: string): TakerSide {
  if (value === 'buy' || value === 'sell') return value
  throw new Broken(path, value === undefined ? 'is missing' : 'is neither buy nor sell')
}

export function whole(
  value: unknown,
  minimum: number,
  path: string,
  maximum: number = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum)
    return value as number
  const most = maximum === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : maximum
  throw new Broken(path, value === undefined ? 'is missing' : `is not a whole number from ${minimum} to ${most}`)
}

export function time(value: unknown, path: string): number {
  const instant = typeof value === 'string' && value.endsWith('Z') ? readInstant(value) : undefined
  if (instant !== undefined) return instant.milliseconds
  throw new Broken(
    path,
    value === undefined ? 'is missing' : 'is not an RFC 3339 time in UTC, like 2026-11-20T12:00:00.123456789Z',
  )
}

export function checkPrice(value: unknown, path: string, index?: number): string {
  const price = checkDecimal(value, path, index, 'price')
  if (!ZERO.test(price)) return price
  throw new Broken(memberOf(path, index, 'price'), 'is not above 0')
}

export function checkAmount(value: unknown, path: string, index?: number): string {
  const amount = checkDecimal(value, path, index, 'amount')
  if (!ZERO.test(amount)) return amount
  throw new Broken(memberOf(path, index, 'amount'), 'is not above 0')
}

/** By level list, how many entries were checked, from the first one on. */
export type CheckedLevels = ReadonlyMap<unknown, number>

/** Throws `Broken` when an entry in a level list is invalid. */
export function checkLevel(entry: unknown, path: string, index: number, mayBeZero: boolean): void {
  if (!isObject(entry)) throw new Broken(`${path}[${index}]`, 'is not an object')
  checkPrice(entry.price, path, index)
  if (mayBeZero) checkDecimal(entry.amount, path, index, 'amount')
  else checkAmount(entry.amount, path, index)
}

/** Paths are built only for problems: a message may have 100,000 levels. */
function checkDecimal(value: unknown, path: string, index: number | undefined, member: string): string {
  if (typeof value === 'string' && DECIMAL.test(value)) return value
  const rule =
    value === undefined
      ? 'is missing'
      : typeof value === 'number'
        ? 'is a JSON number, but prices and amounts are text'
        : 'is not digits with an optional fraction, as text'
  throw new Broken(memberOf(path, index, member), rule)
}

export function memberOf(path: string, index: number | undefined, member: string): string {
  return index === undefined ? `${path}.${member}` : `${path}[${index}].${member}`
}
