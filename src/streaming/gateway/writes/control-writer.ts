/** Writes one session's control frames: pings, pongs and the close frame. Each is counted. */
import type { UsageCell } from '../../../access/metering/meter.ts'
import { CLOSE_CODES, type CloseCause } from '../../../contract/stream-codes.ts'
import { CLOSE_MILLISECONDS_MAX, type TransportPort } from '../outbox.ts'

/** A session whose token or access was revoked ends within a second, whether its peer answers the close or not. */
const REVOKED_CUT_MILLISECONDS = 1_000
const REVOCATIONS: ReadonlySet<CloseCause> = new Set(['tokenRevoked', 'revoked'])

/** A server's control frame has a short payload and no mask (RFC 6455 section 5.5). */
const HEADER_BYTES = 2
const CLOSE_CODE_BYTES = 2

export class ControlWriter {
  readonly #transport: Pick<TransportPort, 'ping' | 'pong' | 'close'>
  readonly #usage: UsageCell
  /** The unanswered ping's data. A pong is never queued behind bytes that a slow peer has not read. */
  #owedPong: Buffer | undefined

  constructor(transport: Pick<TransportPort, 'ping' | 'pong' | 'close'>, usage: UsageCell) {
    this.#transport = transport
    this.#usage = usage
  }

  ping(data: Buffer): void {
    this.#count(data.length)
    this.#transport.ping(data)
  }

  /** Takes a ping's data. RFC 6455 section 5.5.3: only the most recent ping has to be answered. */
  owePong(data: Buffer): void {
    this.#owedPong = data
  }

  sendPong(): void {
    if (this.#owedPong === undefined) return
    this.#count(this.#owedPong.length)
    this.#transport.pong(this.#owedPong)
    this.#owedPong = undefined
  }

  close(cause: CloseCause): void {
    const { code, reason } = CLOSE_CODES[cause]
    this.countClose(code, Buffer.byteLength(reason))
    this.#transport.close(code, reason, REVOCATIONS.has(cause) ? REVOKED_CUT_MILLISECONDS : CLOSE_MILLISECONDS_MAX)
  }

  /** Counts a close frame. `code` undefined: an empty one. */
  countClose(code: number | undefined, reasonBytes: number): void {
    this.#count(code === undefined ? 0 : CLOSE_CODE_BYTES + reasonBytes)
  }

  #count(payloadBytes: number): void {
    this.#usage.count(1, HEADER_BYTES + payloadBytes)
  }
}
