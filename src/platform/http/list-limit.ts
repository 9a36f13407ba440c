/** The parameter `limit` for all lists: how it is read, and how the API descriptions show it. */

export const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1_000
export const LIMIT_RULE = `must be a whole number from 1 to ${LIMIT_MAX}`

export const LIMIT_SCHEMA = {
  type: 'integer',
  format: 'int32',
  minimum: 1,
  maximum: LIMIT_MAX,
  default: LIMIT_DEFAULT,
  description: 'Maximum number of items: a page also ends at 2 MiB',
} as const

/** Undefined: the text breaks the rule. */
export function limitOf(text: string): number | undefined {
  const limit = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= LIMIT_MAX ? limit : undefined
}
