/**
 * The schema for a string enumeration. It states `type: string` next to `enum`: without it the validator compares
 * values of any type with every word, and finds repeated array entries in quadratic time.
 */
import { type TEnum, Type } from 'typebox'

export function textChoice<const Value extends string>(values: readonly Value[]): TEnum<Value[]> {
  return Type.Enum([...values], { type: 'string' })
}
