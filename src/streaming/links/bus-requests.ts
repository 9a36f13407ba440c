/** What the follower of a market asks of its feed, as bytes: `bus-codec` has the messages and states that answer it. */
import { ByteWriter } from './bus-bytes.ts'
import { BUS_FORMAT, decode, type MarketScale, readScale, startMessage } from './bus-codec.ts'

/** What a follower has of a market when it asks for its state; zeros and empty texts where it has nothing. */
export interface StateRequest extends MarketScale {
  readonly epoch: string
  readonly version: number
  readonly executionNumber: number
  /** Time of its last commit: that of the answer is later. */
  readonly milliseconds: number
}

/** Requests a commit, later than a time in milliseconds, or at any time (0). */
export interface CommitRequest {
  readonly market: string
  readonly laterThanMilliseconds: number
}

export function encodeStateRequest(request: StateRequest): Buffer {
  const { epoch, version, executionNumber, milliseconds } = request
  const writer = startMessage(request)
  writer.text(epoch)
  writer.integer(version)
  writer.integer(executionNumber)
  writer.integer(milliseconds)
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeStateRequest(bytes: Buffer): StateRequest {
  return decode(bytes, (reader) => ({
    ...readScale(reader),
    epoch: reader.text(),
    version: reader.integer(),
    executionNumber: reader.integer(),
    milliseconds: reader.integer(),
  }))
}

export function encodeCommitRequest({ market, laterThanMilliseconds }: CommitRequest): Buffer {
  const writer = new ByteWriter()
  writer.byte(BUS_FORMAT)
  writer.text(market)
  writer.integer(laterThanMilliseconds)
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeCommitRequest(bytes: Buffer): CommitRequest {
  return decode(bytes, (reader) => ({ market: reader.text(), laterThanMilliseconds: reader.integer() }))
}
