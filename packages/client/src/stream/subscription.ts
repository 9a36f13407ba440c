/** What one subscription of a client has to do, whatever its channel: `StreamClient` calls it, in the order of the stream. */
import { TidegateError } from '../errors.ts'
import type { BookStatement, ChannelType, DataMessage } from './messages.ts'

export interface Subscription {
  readonly channel: ChannelType
  readonly market: string
  /** The params of a subscribe request. `isExtended`: the connection speaks `tidegate.v1`. */
  params(isExtended: boolean): object
  /** The service accepted the request. `resumed`: whether it continues from the cursor, where the reply states it. */
  acknowledge(resumed: boolean | undefined): void
  /** Throws `Fault` when the message breaks a rule: the subscription is then begun again. */
  receive(message: DataMessage): void
  /** What a heartbeat states about this subscription; throws `Fault` like `receive`. */
  confirm(statement: BookStatement): void
  /** Nothing is received any more until the next `acknowledge`, for this reason. */
  suspend(reason: string): void
  /** As `suspend`, and nothing that was received before may be resumed. */
  reset(reason: string): void
  /** Nothing will be received ever again: closed by the user (without an error), or given up. */
  end(error: unknown): void
}

/** What a wait is rejected with when the program itself has closed what it waits for. */
export function closedError(what: string): TidegateError {
  return new TidegateError('CLOSED', `${what} was closed before it was complete`)
}
