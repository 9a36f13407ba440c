/** A subscription's tasks, whatever its channel. `StreamClient` calls them in the order of the stream. */
import { TidegateError } from '../errors.ts'
import type { BookStatement, ChannelType, DataMessage } from './messages.ts'

export interface Subscription {
  readonly channel: ChannelType
  readonly market: string
  /** The params for a subscribe request. `isExtended`: the connection speaks `tidegate.v1`. */
  params(isExtended: boolean): object
  /** The service accepted the request. `resumed`: whether it continues from the cursor, where the reply states it. */
  acknowledge(resumed: boolean | undefined): void
  /** Throws `Fault` when the message breaks a rule: the subscription then begins again. */
  receive(message: DataMessage): void
  /** Receives a heartbeat's statement about this subscription. Throws `Fault` like `receive`. */
  confirm(statement: BookStatement): void
  /** No more messages until the next `acknowledge`, for this reason. */
  suspend(reason: string): void
  /** Like `suspend`, and no earlier message may be resumed from. */
  reset(reason: string): void
  /** No more messages ever: closed by the program (without an error), or given up. */
  end(error: unknown): void
}

/** The error for a waiting program that has itself closed the subscription. */
export function closedError(what: string): TidegateError {
  return new TidegateError('CLOSED', `${what} was closed before it was complete`)
}
