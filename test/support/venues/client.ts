/** One connection of a test venue, as the venue sees it, and what it can be made to suffer. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** Stands in a frame for its number, where a venue numbers all frames of a connection: near the frame's beginning. */
export const NUMBER_MARK = '"sequence_num":-1'
/** Where the mark is looked for: not in every text of a large snapshot. */
const MARKED_CHARACTERS = 200

export class VenueClient {
  readonly #socket: WebSocket
  readonly #wire: Socket
  readonly #subscriptions = new Set<string>()
  /** Channels of symbols that are subscribed, and of which nothing comes. */
  readonly #silenced = new Set<string>()
  #marks = 0
  #frames = 0
  #isMute = false
  #isCutAtBeginning = false

  constructor(socket: WebSocket, wire: Socket) {
    this.#socket = socket
    this.#wire = wire
    // What a closed socket would have taken is lost, as on any network; its end is handled by its 'close' event.
    socket.on('error', () => undefined)
    socket.on('ping', (data) => {
      if (!this.#isMute) socket.pong(data)
    })
  }

  /** Whether its socket has not yet taken all that it was sent. */
  get isLagging(): boolean {
    return !this.#isMute && this.#socket.bufferedAmount > 0
  }

  get isMute(): boolean {
    return this.#isMute
  }

  /** Whoever takes a number has sent a frame, also when the frame is lost on its way. */
  takeNumber(): number {
    return this.#frames++
  }

  /** `number`: of a frame that was numbered before; absent = the next, where the frame has one. */
  send(text: string, number?: number): void {
    const frame = this.#numbered(text, number)
    if (!this.#isMute) this.#socket.send(frame, () => undefined)
  }

  ping(text = ''): void {
    if (this.#isMute || this.#socket.readyState !== this.#socket.OPEN) return
    this.#socket.ping(text, undefined, () => undefined)
  }

  /** Resolves when it has read all that it was sent so far, which its answer to a ping tells, or when it has gone. */
  heard(): Promise<void> {
    const socket = this.#socket
    const mark = `heard ${this.#marks++}`
    return new Promise((resolve) => {
      const end = (): void => {
        socket.off('pong', onPong).off('close', end)
        resolve()
      }
      // An answer to an earlier ping proves less.
      const onPong = (data: Buffer): void => {
        if (String(data) === mark) end()
      }
      socket.on('pong', onPong).on('close', end)
      this.ping(mark)
    })
  }

  /** What a channel begins with: the message that can be cut in its middle. */
  sendBeginning(text: string): void {
    if (this.#isCutAtBeginning) this.#cutInside(this.#numbered(text))
    else this.send(text)
  }

  subscribe(channel: string, symbol: string): void {
    this.#subscriptions.add(`${channel} ${symbol}`)
    this.#silenced.delete(`${channel} ${symbol}`)
  }

  /** A channel of a symbol goes silent until it is subscribed again; everything else goes on. */
  silenceChannel(channel: string, symbol: string): void {
    this.#silenced.add(`${channel} ${symbol}`)
  }

  /** Whether it is sent what happens in a channel of a symbol. */
  hears(channel: string, symbol: string): boolean {
    return this.isSubscribed(channel, symbol) && !this.#silenced.has(`${channel} ${symbol}`)
  }

  /** False when it was not subscribed. */
  unsubscribe(channel: string, symbol: string): boolean {
    return this.#subscriptions.delete(`${channel} ${symbol}`)
  }

  isSubscribed(channel: string, symbol: string): boolean {
    return this.#subscriptions.has(`${channel} ${symbol}`)
  }

  /** Symbols that it is subscribed to in one channel. */
  symbolsOf(channel: string): string[] {
    const prefix = `${channel} `
    return [...this.#subscriptions].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
  }

  /** Stays connected, and nothing comes any more: no data, no sign of life, no answer to a ping. */
  silence(): void {
    this.#isMute = true
  }

  /** As when the machine behind it has died: nothing is sent, nothing is read, and no end is told. */
  abandon(): void {
    this.#isMute = true
    this.#socket.pause()
  }

  /** The next snapshot ends in its middle, and the connection with it. */
  cutAtNextBeginning(): void {
    this.#isCutAtBeginning = true
  }

  /** An orderly end from the venue's side. */
  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  /** Cut without a close frame. */
  terminate(): void {
    this.#socket.terminate()
  }

  #numbered(text: string, number?: number): string {
    if (!text.slice(0, MARKED_CHARACTERS).includes(NUMBER_MARK)) return text
    return text.replace(NUMBER_MARK, `"sequence_num":${number ?? this.takeNumber()}`)
  }

  /** The head of a whole frame, half of what it promises, and then a reset. */
  #cutInside(text: string): void {
    const payload = Buffer.from(text)
    const head = Buffer.alloc(10)
    head.writeUInt8(0x81, 0)
    head.writeUInt8(127, 1)
    head.writeBigUInt64BE(BigInt(payload.length), 2)
    this.#isMute = true
    this.#wire.write(Buffer.concat([head, payload.subarray(0, payload.length >> 1)]), () =>
      this.#wire.resetAndDestroy(),
    )
  }
}
