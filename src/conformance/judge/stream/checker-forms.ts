/** Value formats in messages, as the checker verifies them. Pure. */
import { isObject } from '../../../platform/base/json-value.ts'
import type { WireLevel } from '../naive-book.ts'
import type { ViolationName } from './violations.ts'

/** Records a violation in the current message. */
export type Report = (name: ViolationName, market: string | undefined, detail: string) => void

const DECIMAL_TEXT = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/
const ZERO_TEXT = /^0(?:\.0+)?$/
const TIME_TEXT = {
  3: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/,
  9: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$/,
} as const

export function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && DECIMAL_TEXT.test(value)
}

export function isZero(text: string): boolean {
  return ZERO_TEXT.test(text)
}

/** RFC 3339, UTC as Z, with exactly this number of fraction digits, and on an existing day. */
export function isTimeText(value: unknown, fractionDigits: 3 | 9): value is string {
  if (typeof value !== 'string' || !TIME_TEXT[fractionDigits].test(value)) return false
  const milliseconds = Date.parse(value)
  // It takes 30 February for 2 March.
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(value.slice(0, 10))
}

export function fractionDigits(decimal: string): number {
  const point = decimal.indexOf('.')
  return point === -1 ? 0 : decimal.length - point - 1
}

/** One side's levels as sent. Undefined unless they are a list of {price, amount}. */
export function levelList(value: unknown): { readonly price: unknown; readonly amount: unknown }[] | undefined {
  if (!Array.isArray(value) || !value.every(isObject)) return undefined
  return value.map(({ price, amount }) => ({ price, amount }))
}

export function levelText(level: WireLevel | undefined): string {
  return level === undefined ? 'nothing' : `${level.price} x ${level.amount}`
}
