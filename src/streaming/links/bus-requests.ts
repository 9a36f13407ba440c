/**
 * Encodes a market follower's requests to its feed as bytes. `bus-codec` has the messages and states that answer them.
 */
import { ByteWriter } from './bus-bytes.ts'
import { BUS_FORMAT, decode, type MarketScale, readScale, startMessage } from './bus-codec.ts'

/** A follower's position in a market when it requests the state. Zeros and empty texts where it has nothing. */
export interface StateRequest extends MarketScale {
  readonly epoch: string
  readonly version: number
  readonly executionNumber: number
  /** The follower's last commit time. The answer's time is later. */
  readonly milliseconds: number
}

/** Requests a commit later than a time in milliseconds, or at any time (0). */
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
