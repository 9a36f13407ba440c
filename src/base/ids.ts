/** Identifiers of records and connections: UUID version 7 (RFC 9562), so that they sort by the time they were made. */
export { uuidv7 as newId } from 'uuidv7'
