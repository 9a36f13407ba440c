/**
 * The schema of a text that is one of a few words. Its type stands next to the list: without it the validator compares
 * whatever was sent with every word, and finds repeated entries of an array in quadratic time.
 */
import { type TEnum, Type } from 'typebox'

export function textChoice<const Value extends string>(values: readonly Value[]): TEnum<Value[]> {
  return Type.Enum([...values], { type: 'string' })
}
