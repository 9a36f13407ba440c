/**
 * One accepted WebSocket (`Transport`), and its write side (`Outbox`): write coalescing and backpressure. `ws` reads,
 * pings and closes. Finished frames are written straight to the socket under it. A frame is one write, so frames from
 * `ws` itself (pongs, close) are only ever between them, and nothing is written once the connection is closing.
 *
 * Frames fanned out in a tick leave in one write. The outbox is blocked while more bytes than the high-water mark wait
 * in this process, or while a long message is written in fragments. A blocked outbox must be given nothing. It holds at
 * most the high-water mark plus one tick's or one reply's bytes.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Message } from '../sequencing/frame.ts'

/** How long a peer may take to finish the close handshake before the socket is cut. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/** A transport's interface; tests implement it without a socket. */
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

  /** The selected subprotocol. Empty when none was. */
  get subprotocol(): string {
    return this.#webSocket.protocol
  }

  /** Bytes handed to the socket since it was opened, what waits in this process included. */
  get bytesWritten(): number {
    return this.#socket.bytesWritten
  }

  /** Bytes waiting in this process because the kernel has not accepted them. */
  get queuedBytes(): number {
    return this.#socket.writableLength
  }

  /** True while the socket has asked to be given no more for now. */
  get isSaturated(): boolean {
    return this.#socket.writableNeedDrain
  }

  /** Writes one finished frame. `onWritten` is called when the kernel has accepted it, or never. */
  write(frame: Buffer, onWritten?: () => void): void {
    if (this.isOpen) this.#socket.write(frame, onWritten)
  }

  /** Gathers the writes in `work` into one. */
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

  ping(data?: Buffer): void {
    if (this.isOpen) this.#webSocket.ping(data)
  }

  pong(data: Buffer): void {
    if (this.isOpen) this.#webSocket.pong(data)
  }

  /** Starts the close handshake. A peer that has not finished it after `cutMilliseconds` is cut. */
  close(code: number, reason: string, cutMilliseconds: number): void {
    // The peer's half of the handshake has to be read, even when a lagging peer was not read.
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

/** One or more messages as finished frames, shared by all sessions that get the same. */
export interface Chunk {
  readonly frames: Buffer
  readonly messageCount: number
}

/** Totals over all sessions. Plain numbers, because they are counted on every write. */
export interface OutboxTotals {
  messages: number
  bytes: number
  /** Conflated UPDATEs. */
  conflated: number
  /** Sessions above their high-water mark. */
  lagging: number
}

/** The transport methods used by an outbox. */
export type OutboxTransport = Pick<TransportPort, 'queuedBytes' | 'write' | 'gather'>

export interface OutboxOptions {
  readonly transport: OutboxTransport
  /** Bytes waiting in this process above which the session is lagging. */
  readonly highWaterBytes: number
  readonly totals: OutboxTotals
  readonly owner: OutboxOwner
}

/** Notified when the outbox blocks and unblocks. Methods, because closures per session would take memory. */
export interface OutboxOwner {
  onBlocked(): void
  onUnblocked(): void
}

export class Outbox {
  readonly #transport: OutboxTransport
  readonly #highWaterBytes: number
  readonly #totals: OutboxTotals
  readonly #owner: OutboxOwner
  /** Created by the first write with a callback, which most sessions never have. */
  #onWritten: (() => void) | undefined
  readonly #chunks: Chunk[] = []
  #blocked = false
  #generation = 1
  #lagging = false
  #ended = false
  #conflated = 0
  #fragments: Message | undefined
  #nextFragment = 0

  constructor({ transport, highWaterBytes, totals, owner }: OutboxOptions) {
    this.#transport = transport
    this.#highWaterBytes = highWaterBytes
    this.#totals = totals
    this.#owner = owner
  }

  get isBlocked(): boolean {
    return this.#blocked
  }

  /** Increases whenever the outbox blocks: what was current in an earlier generation missed messages since. */
  get generation(): number {
    return this.#generation
  }

  /** From exceeding the high-water mark until half of it has drained. */
  get isLagging(): boolean {
    return this.#lagging
  }

  /** Adds a chunk to this tick's write. True for the first chunk: the caller then calls `flush` once. */
  add(chunk: Chunk): boolean {
    return this.#chunks.push(chunk) === 1
  }

  /** Writes this tick's chunks with one write. */
  flush(): void {
    const chunks = this.#chunks
    if (chunks.length === 1) this.#write(chunks[0] as Chunk)
    else
      this.#transport.gather(() => {
        for (const chunk of chunks) this.#write(chunk)
      })
    chunks.length = 0
    this.#blockIfFull()
  }

  /**
   * Writes one message now. A message with several frames blocks the outbox until the kernel has accepted its last
   * frame.
   */
  send(message: Message): void {
    if (message.length === 1) {
      this.sendChunk({ frames: message[0] as Buffer, messageCount: 1 })
    } else {
      this.#totals.messages += 1
      this.#fragments = message
      this.#nextFragment = 0
      this.#block()
      this.#sendFragment()
    }
  }

  countConflated(): void {
    this.#totals.conflated += 1
    this.#conflated += 1
  }

  /** Conflated UPDATEs made for this session. */
  get conflated(): number {
    return this.#conflated
  }

  /** Writes a chunk now. */
  sendChunk(chunk: Chunk): void {
    this.#write(chunk)
    this.#blockIfFull()
  }

  /** Nothing is written after this, and late callbacks do nothing. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#blocked = true
    this.#fragments = undefined
    this.#chunks.length = 0
    if (this.#lagging) this.#totals.lagging -= 1
    this.#lagging = false
  }

  #write(chunk: Chunk): void {
    const { frames } = chunk
    this.#totals.messages += chunk.messageCount
    this.#totals.bytes += frames.length
    // A callback costs a sixth of a write, and unblocking waits only for bytes above half the high-water mark.
    const isWaitedFor = this.#transport.queuedBytes + frames.length > this.#highWaterBytes / 2
    if (isWaitedFor) this.#onWritten ??= () => this.#unblockIfDrained()
    this.#transport.write(frames, isWaitedFor ? this.#onWritten : undefined)
  }

  #sendFragment(): void {
    const frame = (this.#fragments as Message)[this.#nextFragment++] as Buffer
    this.#totals.bytes += frame.length
    this.#transport.write(frame, () => {
      if (this.#fragments === undefined) return
      if (this.#nextFragment < this.#fragments.length) {
        this.#sendFragment()
      } else {
        this.#fragments = undefined
        this.#unblockIfDrained()
      }
    })
  }

  #blockIfFull(): void {
    if (this.#ended || this.#transport.queuedBytes <= this.#highWaterBytes) return
    if (!this.#lagging) this.#totals.lagging += 1
    this.#lagging = true
    this.#block()
  }

  #block(): void {
    if (this.#blocked) return
    this.#blocked = true
    this.#generation += 1
    this.#owner.onBlocked()
  }

  #unblockIfDrained(): void {
    if (!this.#blocked || this.#ended || this.#fragments !== undefined) return
    // Half the high-water mark: a session near it would otherwise be woken for every few bytes.
    if (this.#transport.queuedBytes > this.#highWaterBytes / 2) return
    if (this.#lagging) this.#totals.lagging -= 1
    this.#lagging = false
    this.#blocked = false
    this.#owner.onUnblocked()
  }
}
