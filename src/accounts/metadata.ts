/**
 * The metadata of accounts: any JSON object of a customer's own, kept as text, because a number in it may have more
 * digits than a program's numbers have. What comes back is equal to what was sent.
 */
import { compactText } from '../base/json-text.ts'
import { invalidRequest } from '../http/problem.ts'

export const METADATA_DEFAULT = '{}'
export const METADATA_BYTES_MAX = 16_384
export const METADATA_LEVELS_MAX = 8

/**
 * The compact form of an object's text, in which its size is measured (UTF-8).
 * @param pointer where in the request it stands
 */
export function readMetadata(text: string, pointer: string): string {
  const compact = compactText(text)
  if (compact.levels > METADATA_LEVELS_MAX) {
    throw invalidRequest([{ pointer, detail: `must be nested at most ${METADATA_LEVELS_MAX} levels deep` }])
  }
  if (Buffer.byteLength(compact.text) > METADATA_BYTES_MAX) {
    throw invalidRequest([{ pointer, detail: `must have at most ${METADATA_BYTES_MAX} bytes as compact JSON` }])
  }
  return compact.text
}
