/**
 * An accepted WebSocket's transport with disturbed delivery: a scenario can hold all data back, send a few bytes at a
 * time, or send an acknowledgement twice. It reports every text message sent. Without a disturbance it behaves as the
 * product's transport.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { Transport } from '../../../streaming/gateway/outbox.ts'

/** Slow delivery: a piece's size, and the time between two pieces. */
const PIECE_BYTES = 64
const PIECE_MILLISECONDS = 2

interface HeldWrite {
  readonly bytes: Buffer
  readonly onWritten: (() => void) | undefined
}

type Delivery = 'normal' | 'held' | 'slow'

export class ScriptedTransport extends Transport {
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #onText: (text: string) => void
  #delivery: Delivery = 'normal'
  #queue: HeldWrite[] = []
  /** Whether a part of the queue's first write was sent. */
  #isInsideWrite = false
  #pieceTimer: Timer | undefined
  #repeatsAcknowledgement = false

  constructor(
    webSocket: WebSocket,
    socket: Socket,
    clock: Clock,
    clientAddress: string,
    onText: (text: string) => void,
  ) {
    super(webSocket, socket, clock, clientAddress)
    this.#webSocket = webSocket
    this.#socket = socket
    this.#clock = clock
    this.#onText = onText
  }

  override get queuedBytes(): number {
    return super.queuedBytes + this.#queue.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  override get isSaturated(): boolean {
    return this.#delivery === 'held' || super.isSaturated
  }

  override write(frames: Buffer, onWritten?: () => void): void {
    for (const text of textsOf(frames)) this.#onText(text)
    const repeats =
      this.#repeatsAcknowledgement && textsOf(frames).some((text) => text.startsWith('{"type":"subscribe"'))
    if (repeats) this.#repeatsAcknowledgement = false
    const bytes = repeats ? Buffer.concat([frames, frames]) : frames
    if (this.#delivery === 'normal') super.write(bytes, onWritten)
    else this.#queue.push({ bytes, onWritten })
    if (this.#delivery === 'slow') this.#sendPieces()
  }

  /** Whether pings are sent: not while delivery is disturbed. */
  get canPing(): boolean {
    return this.#delivery === 'normal'
  }

  override ping(data?: Buffer): void {
    if (this.canPing) super.ping(data)
  }

  /** A client may take a connection without pongs for lost, so slow delivery sends them, ahead of waiting data. */
  override pong(data: Buffer): void {
    if (this.canPing) super.pong(data)
    if (this.#delivery !== 'slow') return
    const frame = Buffer.concat([Buffer.from([PONG_FRAME, data.length]), data])
    this.#queue.splice(this.#isInsideWrite ? 1 : 0, 0, { bytes: frame, onWritten: undefined })
    this.#sendPieces()
  }

  override close(code: number, reason: string, cutMilliseconds: number): void {
    this.deliver('normal')
    super.close(code, reason, cutMilliseconds)
  }

  override ended(): void {
    this.#pieceTimer?.cancel()
    super.ended()
  }

  /** `held`: nothing is sent or read. `slow`: in pieces. `normal`: held data is sent at once. */
  deliver(delivery: Delivery): void {
    this.#delivery = delivery
    if (delivery === 'held') this.#webSocket.pause()
    if (delivery !== 'normal') return
    this.#pieceTimer?.cancel()
    this.#pieceTimer = undefined
    const queue = this.#queue
    this.#queue = []
    this.#isInsideWrite = false
    for (const { bytes, onWritten } of queue) super.write(bytes, onWritten)
    this.#webSocket.resume()
  }

  /** Sends the next subscribe acknowledgement twice. */
  repeatAcknowledgement(): void {
    this.#repeatsAcknowledgement = true
  }

  /** Ends the TCP connection without a close frame, like a broken network path. */
  break(): void {
    this.#socket.destroy()
  }

  #sendPieces(): void {
    if (this.#pieceTimer !== undefined || this.#delivery !== 'slow') return
    const [next, ...rest] = this.#queue
    if (next === undefined) return
    const piece = next.bytes.subarray(0, PIECE_BYTES)
    const left = next.bytes.subarray(PIECE_BYTES)
    this.#queue = left.length === 0 ? rest : [{ ...next, bytes: left }, ...rest]
    this.#isInsideWrite = left.length > 0
    super.write(piece, left.length === 0 ? next.onWritten : undefined)
    this.#pieceTimer = this.#clock.schedule(PIECE_MILLISECONDS, () => {
      this.#pieceTimer = undefined
      this.#sendPieces()
    })
  }
}

const FINAL_TEXT_FRAME = 0x81
/** A control frame's data has at most 125 bytes (RFC 6455 section 5.5), so its length is one byte. */
const PONG_FRAME = 0x8a

/** The texts of unfragmented messages in finished server frames (RFC 6455 section 5.2, unmasked). */
function textsOf(frames: Buffer): string[] {
  const texts: string[] = []
  for (let start = 0; start < frames.length; ) {
    const short = frames.readUInt8(start + 1)
    const header = short < 126 ? 2 : short === 126 ? 4 : 10
    const length = short < 126 ? short : header === 4 ? frames.readUInt16BE(start + 2) : frames.readUInt32BE(start + 6)
    const end = start + header + length
    if (frames.readUInt8(start) === FINAL_TEXT_FRAME) texts.push(frames.toString('utf8', start + header, end))
    start = end
  }
  return texts
}
