/**
 * A peer that completes the handshake and then writes arbitrary frames: reserved bits, wrong lengths, no mask. It
 * parses the service's frames (RFC 6455 section 5), keeps replies and the close, and drops market data.
 */
import { type RawAnswer, RawPeer, readAnswer, type Target } from './raw-peer.ts'

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameShape {
  readonly opcode: number
  readonly payload?: Buffer | string
  /** Default true. */
  readonly isFinal?: boolean
  /** The three reserved bits, 0 to 7. */
  readonly reserved?: number
  /** Default true. */
  readonly isMasked?: boolean
  /** The length field's value; by default the true length. */
  readonly declaredLength?: bigint
  /** The length field's size in bits; by default the minimum. */
  readonly lengthBits?: 7 | 16 | 64
}

const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d])

export function frameBytes(shape: FrameShape): Buffer {
  const payload = Buffer.from(shape.payload ?? '')
  const isMasked = shape.isMasked ?? true
  const declared = shape.declaredLength ?? BigInt(payload.length)
  const bits = shape.lengthBits ?? (declared < 126n ? 7 : declared < 65_536n ? 16 : 64)
  const extended = Buffer.alloc(bits === 7 ? 0 : bits / 8)
  if (bits === 16) extended.writeUInt16BE(Number(declared))
  if (bits === 64) extended.writeBigUInt64BE(declared)
  const first = ((shape.isFinal ?? true) ? 0x80 : 0) | ((shape.reserved ?? 0) << 4) | shape.opcode
  const length = bits === 7 ? Number(declared) : bits === 16 ? 126 : 127
  const head = Buffer.concat([Buffer.from([first, (isMasked ? 0x80 : 0) | length]), extended])
  if (!isMasked) return Buffer.concat([head, payload])
  const masked = Buffer.from(payload)
  for (let index = 0; index < masked.length; index++)
    masked[index] = (masked[index] as number) ^ (MASK[index % 4] as number)
  return Buffer.concat([head, MASK, masked])
}

export function closePayload(code: number, reason: Buffer | string = ''): Buffer {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(code)
  return Buffer.concat([head, Buffer.from(reason)])
}

/** A valid handshake's head with a token. */
export function handshakeHead(token: string): string {
  return [
    'GET / HTTP/1.1',
    'Host: tidegate.test',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n')
}

export class StreamPeer {
  readonly peer: RawPeer
  /** Replies and errors, as text, in order. Market data is not kept. */
  readonly replies: string[] = []
  /** Every pong's payload. */
  readonly pongs: string[] = []
  dataMessages = 0
  close: { readonly code: number | undefined; readonly reason: string } | undefined
  #rest: Buffer
  #fragments: Buffer[] = []

  private constructor(peer: RawPeer, rest: Buffer) {
    this.peer = peer
    this.#rest = rest
    peer.onData = (data) => this.#read(data)
  }

  /** Opens the stream. `behind` is sent in the same write, after the request. */
  static async open(target: Target, token: string, behind: Buffer = Buffer.alloc(0)): Promise<StreamPeer> {
    const peer = await RawPeer.connect(target)
    peer.send(Buffer.concat([Buffer.from(handshakeHead(token)), behind]))
    await peer.until('the handshake', () => readAnswer(peer.received) !== undefined)
    const answer = readAnswer(peer.received) as RawAnswer
    if (answer.status !== 101) throw new Error(`the handshake was refused with ${answer.status}: ${answer.body}`)
    const stream = new StreamPeer(peer, Buffer.alloc(0))
    stream.#read(peer.received.subarray(peer.received.indexOf('\r\n\r\n') + 4))
    return stream
  }

  send(shape: FrameShape): void {
    this.peer.send(frameBytes(shape))
  }

  sendText(text: string): void {
    this.send({ opcode: OPCODES.text, payload: text })
  }

  /** Sends a text and resolves with the next reply, or undefined if the service closed instead. */
  async ask(text: string): Promise<string | undefined> {
    const position = this.replies.length
    this.sendText(text)
    return this.reply(position)
  }

  /** The reply at a position, once received, or undefined if the service closed instead. */
  async reply(position: number): Promise<string | undefined> {
    await this.peer.until('a reply or a close', () => this.replies.length > position || this.hasClosed)
    return this.replies[position]
  }

  get hasClosed(): boolean {
    return this.close !== undefined || this.peer.hasEnded
  }

  /** The code in the service's close frame, or undefined if the connection ended without one. */
  async closeCode(limitMilliseconds?: number): Promise<number | undefined> {
    await this.peer.until('a close', () => this.hasClosed, limitMilliseconds)
    return this.close?.code
  }

  destroy(): void {
    this.peer.destroy()
  }

  #read(data: Buffer): void {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data])
    for (;;) {
      const rest = this.#rest
      if (rest.length < 2) return
      const short = (rest[1] as number) & 0x7f
      const headLength = short < 126 ? 2 : short === 126 ? 4 : 10
      if (rest.length < headLength) return
      const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2))
      if (rest.length < headLength + length) return
      this.#onFrame(rest[0] as number, rest.subarray(headLength, headLength + length))
      this.#rest = rest.subarray(headLength + length)
    }
  }

  #onFrame(first: number, payload: Buffer): void {
    const opcode = first & 0x0f
    if (opcode === OPCODES.close) {
      this.close ??= {
        code: payload.length < 2 ? undefined : payload.readUInt16BE(0),
        reason: payload.toString('utf8', 2),
      }
    } else if (opcode === OPCODES.pong) {
      this.pongs.push(payload.toString('latin1'))
    } else if (opcode === OPCODES.text || opcode === OPCODES.continuation) {
      this.#fragments.push(Buffer.from(payload))
      if ((first & 0x80) === 0) return
      const text = Buffer.concat(this.#fragments).toString('utf8')
      this.#fragments = []
      if (text.startsWith('{"channel":')) this.dataMessages++
      else this.replies.push(text)
    }
  }
}
