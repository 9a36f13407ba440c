/**
 * Account metadata: any JSON object from the customer. It is stored as text, because parsing would round numbers with
 * many digits. Responses return an equal object.
 */
import { compactText } from '../../platform/base/json-text.ts'
import { invalidRequest } from '../../platform/http/problem.ts'

export const METADATA_DEFAULT = '{}'
export const METADATA_BYTES_MAX = 16_384
export const METADATA_LEVELS_MAX = 8

/**
 * The compact form of an object's JSON text. Throws 400 when it has too many bytes or levels.
 * @param pointer the object's place in the request
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
