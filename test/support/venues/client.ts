/** One of a test venue's connections, from the venue's side, and the faults that can be injected. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** Placeholder for a frame's number near its beginning, where a venue numbers all frames on a connection. */
export const NUMBER_MARK = '"sequence_num":-1'
/** The number of characters searched for the placeholder, so that large snapshots are not searched as a whole. */
const MARKED_CHARACTERS = 200

export class VenueClient {
  readonly #socket: WebSocket
  readonly #wire: Socket
  readonly #subscriptions = new Set<string>()
  /** Silenced subscribed channels, by symbol. */
  readonly #silenced = new Set<string>()
  #marks = 0
  #frames = 0
  #isMute = false
  #isCutAtBeginning = false

  constructor(socket: WebSocket, wire: Socket) {
    this.#socket = socket
    this.#wire = wire
    // Data for a closed socket is lost, as on any network. Its end is handled by its 'close' event.
    socket.on('error', () => undefined)
    socket.on('ping', (data) => {
      if (!this.#isMute) socket.pong(data)
    })
  }

  /** Whether its socket has not drained. */
  get isLagging(): boolean {
    return !this.#isMute && this.#socket.bufferedAmount > 0
  }

  get isMute(): boolean {
    return this.#isMute
  }

  /** Every frame takes a number, even a lost one. */
  takeNumber(): number {
    return this.#frames++
  }

  /** `number`: for a frame numbered before; absent = the next, where the frame has one. */
  send(text: string, number?: number): void {
    const frame = this.#numbered(text, number)
    if (!this.#isMute) this.#socket.send(frame, () => undefined)
  }

  ping(text = ''): void {
    if (this.#isMute || this.#socket.readyState !== this.#socket.OPEN) return
    this.#socket.ping(text, undefined, () => undefined)
  }

  /** Resolves when it has read everything sent so far, as its answer to a ping shows, or when it has disconnected. */
  heard(): Promise<void> {
    const socket = this.#socket
    const mark = `heard ${this.#marks++}`
    return new Promise((resolve) => {
      const end = (): void => {
        socket.off('pong', onPong).off('close', end)
        resolve()
      }
      // An answer to an earlier ping shows less.
      const onPong = (data: Buffer): void => {
        if (String(data) === mark) end()
      }
      socket.on('pong', onPong).on('close', end)
      this.ping(mark)
    })
  }

  /** Sends a channel's first message, which a test can cut off in its middle. */
  sendBeginning(text: string): void {
    if (this.#isCutAtBeginning) this.#cutInside(this.#numbered(text))
    else this.send(text)
  }

  subscribe(channel: string, symbol: string): void {
    this.#subscriptions.add(`${channel} ${symbol}`)
    this.#silenced.delete(`${channel} ${symbol}`)
  }

  /** Silences a symbol's channel until it is subscribed again. All other channels continue. */
  silenceChannel(channel: string, symbol: string): void {
    this.#silenced.add(`${channel} ${symbol}`)
  }

  /** Whether it receives the messages on a symbol's channel. */
  hears(channel: string, symbol: string): boolean {
    return this.isSubscribed(channel, symbol) && !this.#silenced.has(`${channel} ${symbol}`)
  }

  /** Returns false when it was not subscribed. */
  unsubscribe(channel: string, symbol: string): boolean {
    return this.#subscriptions.delete(`${channel} ${symbol}`)
  }

  isSubscribed(channel: string, symbol: string): boolean {
    return this.#subscriptions.has(`${channel} ${symbol}`)
  }

  /** Symbols subscribed in one channel. */
  symbolsOf(channel: string): string[] {
    const prefix = `${channel} `
    return [...this.#subscriptions].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
  }

  /** Stays connected, but sends nothing any more: no data, no heartbeat, no answer to a ping. */
  silence(): void {
    this.#isMute = true
  }

  /** As when the remote machine has crashed: nothing is sent or read, and the connection is not closed. */
  abandon(): void {
    this.#isMute = true
    this.#socket.pause()
  }

  /** Cuts the next snapshot off in its middle, and closes the connection. */
  cutAtNextBeginning(): void {
    this.#isCutAtBeginning = true
  }

  /** A clean close by the venue. */
  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  /** Terminates without a close frame. */
  terminate(): void {
    this.#socket.terminate()
  }

  #numbered(text: string, number?: number): string {
    if (!text.slice(0, MARKED_CHARACTERS).includes(NUMBER_MARK)) return text
    return text.replace(NUMBER_MARK, `"sequence_num":${number ?? this.takeNumber()}`)
  }

  /** Sends a frame's head and half its payload, and then resets the connection. */
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
