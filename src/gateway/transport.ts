/**
 * One accepted WebSocket: `ws` reads, pings and closes; finished frames are written straight to the socket under it.
 * A frame is one write, so what `ws` writes itself (pongs, close) only ever falls between frames. Nothing is written
 * once the connection is closing.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../base/clock.ts'

/** How long a peer may take to finish the close handshake before the socket is cut. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/** What a connection needs of its transport; a test may stand in for it. */
export type TransportPort = Pick<Transport, keyof Transport>

export class Transport {
  /** Where the peer connects from. */
  readonly clientAddress: string
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #clock: Clock
  #cutTimer: Timer | undefined

  constructor(webSocket: WebSocket, socket: Socket, clock: Clock, clientAddress: string) {
    this.clientAddress = clientAddress
    this.#webSocket = webSocket
    this.#socket = socket
    this.#clock = clock
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN
  }

  /** The subprotocol that was selected; empty when none was. */
  get subprotocol(): string {
    return this.#webSocket.protocol
  }

  /** Bytes handed to the socket since it was opened, what waits in this process included. */
  get bytesWritten(): number {
    return this.#socket.bytesWritten
  }

  /** Bytes that wait in this process because the kernel has not taken them. */
  get queuedBytes(): number {
    return this.#socket.writableLength
  }

  /** True while the socket has asked to be given no more for now. */
  get isSaturated(): boolean {
    return this.#socket.writableNeedDrain
  }

  /** Writes one finished frame; `onWritten` comes when the kernel has taken it, or never. */
  write(frame: Buffer, onWritten?: () => void): void {
    if (this.isOpen) this.#socket.write(frame, onWritten)
  }

  /** Gathers the writes of `work` into one. */
  gather(work: () => void): void {
    this.#socket.cork()
    work()
    this.#socket.uncork()
  }

  pauseReading(): void {
    if (this.isOpen) this.#webSocket.pause()
  }

  resumeReading(): void {
    if (this.isOpen) this.#webSocket.resume()
  }

  ping(): void {
    if (this.isOpen) this.#webSocket.ping()
  }

  pong(data: Buffer): void {
    if (this.isOpen) this.#webSocket.pong(data)
  }

  /** Starts the close handshake; a peer that has not finished it after `cutMilliseconds` is cut. */
  close(code: number, reason: string, cutMilliseconds: number): void {
    // The peer's half of the handshake has to be read, also of a peer that was not read because it lagged.
    this.#webSocket.resume()
    this.#webSocket.close(code, reason)
    this.#cutTimer ??= this.#clock.schedule(cutMilliseconds, () => this.cut())
  }

  cut(): void {
    this.#webSocket.terminate()
  }

  /** To be called when the socket is gone. */
  ended(): void {
    this.#cutTimer?.cancel()
  }
}
