/**
 * A socket whose drain a test controls: it accepts writes like a kernel with a small buffer, delivers what `drain`
 * permits, and parses the WebSocket frames as RFC 6455 requires from a client.
 */
import type { TransportPort } from '../../src/streaming/gateway/outbox.ts'

/** A client's token, for a session whose rights are not the matter. */
export const ANY_TOKEN = {
  clientId: 'client',
  customerId: 'customer',
  scopes: new Set<string>(),
  tokenId: 'token',
  keyId: 'key',
  issuedAtSeconds: 0,
  expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
}

interface Write {
  readonly bytes: Buffer
  readonly onWritten: (() => void) | undefined
}

export class FakeTransport implements TransportPort {
  isOpen = true
  clientAddress = '127.0.0.1'
  subprotocol = ''
  bytesWritten = 0
  isReading = true
  closed: { code: number; reason: string } | undefined
  /** The sent pings' data. */
  readonly pingData: (Buffer | undefined)[] = []
  readonly pongs: Buffer[] = []
  /** The maximum number of bytes queued in the process. */
  queuedBytesMost = 0
  /** Writes as seen by the kernel. */
  writeCount = 0
  #writes: Write[] = []
  #queued = 0
  #kernelFree: number
  readonly #kernelSize: number
  readonly #onText: (text: string) => void
  #received: Buffer[] = []
  #fragments: Buffer[] = []

  /**
   * `onText` receives every complete text message. `kernelBytes` is the kernel buffer's size, accepted without `drain`.
   */
  constructor(kernelBytes: number, onText: (text: string) => void) {
    this.#kernelFree = kernelBytes
    this.#kernelSize = kernelBytes
    this.#onText = onText
  }

  get queuedBytes(): number {
    return this.#queued
  }

  get isSaturated(): boolean {
    return this.#queued > 16_384
  }

  write(bytes: Buffer, onWritten?: () => void): void {
    if (!this.isOpen) return
    this.writeCount += 1
    this.#writes.push({ bytes, onWritten })
    this.bytesWritten += bytes.length
    this.#queued += bytes.length
    this.queuedBytesMost = Math.max(this.queuedBytesMost, this.#queued)
  }

  pauseReading(): void {
    this.isReading = false
  }

  resumeReading(): void {
    this.isReading = true
  }

  get pings(): number {
    return this.pingData.length
  }

  ping(data?: Buffer): void {
    this.pingData.push(data)
  }

  pong(data: Buffer): void {
    this.pongs.push(data)
  }

  close(code: number, reason: string): void {
    this.isOpen = false
    this.closed = { code, reason }
  }

  cut(): void {
    this.isOpen = false
    this.#writes = []
    this.#queued = 0
  }

  ended(): void {
    this.isOpen = false
  }

  /** The kernel accepts as much as fits into its buffer. Must be called between event-loop ticks. */
  flush(): void {
    while (this.#writes[0] !== undefined && this.#fits(this.#writes[0].bytes.length)) {
      const { bytes, onWritten } = this.#writes.shift() as Write
      this.#queued -= bytes.length
      this.#kernelFree -= bytes.length
      this.#received.push(bytes)
      onWritten?.()
    }
  }

  /** A write is accepted as a whole. One larger than the kernel's buffer is accepted when the buffer is empty. */
  #fits(length: number): boolean {
    return length <= this.#kernelFree || this.#kernelFree === this.#kernelSize
  }

  /** The peer reads everything in the kernel's buffer. */
  drain(): void {
    this.#kernelFree = this.#kernelSize
    const received = Buffer.concat(this.#received)
    this.#received = []
    let position = 0
    while (position < received.length) position = this.#readFrame(received, position)
    this.flush()
  }

  #readFrame(data: Buffer, start: number): number {
    const first = data.readUInt8(start)
    let length = data.readUInt8(start + 1)
    if (length >= 128) throw new Error('a server frame is masked')
    let position = start + 2
    if (length === 126) {
      length = data.readUInt16BE(position)
      position += 2
    } else if (length === 127) {
      length = Number(data.readBigUInt64BE(position))
      position += 8
    }
    const opcode = first & 0x0f
    if (opcode === 1 && this.#fragments.length > 0) throw new Error('a data frame between the fragments of another')
    if (opcode === 0 && this.#fragments.length === 0) throw new Error('a continuation of nothing')
    this.#fragments.push(data.subarray(position, position + length))
    if ((first & 0x80) !== 0) {
      const text = Buffer.concat(this.#fragments).toString('utf8')
      this.#fragments = []
      this.#onText(text)
    }
    return position + length
  }
}
