/** Identifiers for records and connections: UUID version 7 (RFC 9562), so they sort by creation time. */
import { uuidv7 } from 'uuidv7'

/**
 * A new identifier. It is copied through a buffer: the library concatenates it character by character, and V8 keeps
 * such a string as an 800-byte tree until something flattens it. A connection keeps its identifier as long as it lives.
 */
export function newId(): string {
  return Buffer.from(uuidv7(), 'latin1').toString('latin1')
}

/** Whether `text` has the UUID form, in lower or upper case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
