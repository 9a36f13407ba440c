/** The client of a Tidegate service. Everything is exported from here; bundlers leave out what a program does not use. */
export { ClientCredentials, type Credentials, type TokenSource } from './credentials.ts'
export { type ErrorCode, TidegateError } from './errors.ts'
export type { Book, BookChange, BookOptions, BookStatus } from './stream/book.ts'
export type { ConnectionLost } from './stream/connection.ts'
export type { ExecutionGap, ExecutionOptions, Executions } from './stream/executions.ts'
export type { Level } from './stream/level.ts'
export type { Execution, InstrumentState } from './stream/messages.ts'
export { StreamClient, type StreamEvent, type StreamOptions, type StreamService } from './stream/stream-client.ts'
