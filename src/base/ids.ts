/** Identifiers of records and connections: UUID version 7 (RFC 9562), so that they sort by the time they were made. */
export { uuidv7 as newId } from 'uuidv7'

/** Whether `text` has the form of a UUID, in lower or upper case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
