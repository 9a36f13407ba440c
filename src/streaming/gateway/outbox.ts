/**
 * One accepted WebSocket (`Transport`), the frames written to it (`Chunk`), and its write side (`Outbox`): write
 * coalescing and backpressure. `ws` reads, pings and closes. Finished frames are written straight to the socket under
 * it. A frame is one write, so frames from `ws` itself (pongs, close) are only ever between them, and nothing is written
 * once the connection is closing.
 *
 * Frames fanned out in a tick leave in one write. With a write interval, the frames of several ticks do: they are
 * gathered until the hub flushes the outbox, another message is sent, or more bytes than the high-water mark wait. The
 * outbox is blocked while more bytes than the high-water mark wait in this process, or while a long message is written
 * in fragments. A blocked outbox must be given nothing. It holds at most the high-water mark plus one tick's or one
 * reply's bytes.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { UsageCell } from '../../access/metering/meter.ts'
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

/**
 * Finished frames that leave together. Chunks that follow one another are joined into one chunk, once for all sessions
 * that are given the same chunks in the same order, however many markets and ticks they come from. The bytes are copied
 * when the first of these sessions writes them.
 */
export class Chunk {
  readonly messageCount: number
  readonly byteCount: number
  /** Undefined until a joined chunk is written. */
  #frames: Buffer | undefined
  /** A joined chunk's two parts, until its bytes are copied. */
  #earlier: Chunk | undefined
  #later: Chunk | undefined
  /** The chunk that followed last, and the join with it. Nearly all sessions continue with the same one. */
  #follower: Chunk | undefined
  #joined: Chunk | undefined
  /** The joins with every other follower. */
  #others: Map<Chunk, Chunk> | undefined

  constructor(frames: Buffer | undefined, messageCount: number, byteCount = frames?.length ?? 0) {
    this.#frames = frames
    this.messageCount = messageCount
    this.byteCount = byteCount
  }

  get frames(): Buffer {
    if (this.#frames !== undefined) return this.#frames
    const parts: Buffer[] = []
    let chunk: Chunk = this
    while (chunk.#frames === undefined) {
      parts.push((chunk.#later as Chunk).frames)
      chunk = chunk.#earlier as Chunk
    }
    parts.push(chunk.#frames)
    this.#frames = Buffer.concat(parts.reverse(), this.byteCount)
    this.#earlier = undefined
    this.#later = undefined
    return this.#frames
  }

  /** This chunk and then `follower`, as one chunk. */
  followedBy(follower: Chunk): Chunk {
    if (this.#follower === follower) return this.#joined as Chunk
    return this.#others?.get(follower) ?? this.#join(follower)
  }

  #join(follower: Chunk): Chunk {
    const messageCount = this.messageCount + follower.messageCount
    const joined = new Chunk(undefined, messageCount, this.byteCount + follower.byteCount)
    joined.#earlier = this
    joined.#later = follower
    if (this.#follower === undefined) {
      this.#follower = follower
      this.#joined = joined
    } else {
      this.#others ??= new Map()
      this.#others.set(follower, joined)
    }
    return joined
  }
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
export type OutboxTransport = Pick<TransportPort, 'queuedBytes' | 'write'>

export interface OutboxOptions {
  readonly transport: OutboxTransport
  /** Bytes waiting in this process above which the session is lagging. */
  readonly highWaterBytes: number
  /** Whether chunks stay here over the ticks until `flush`. Otherwise `flush` must be called in every tick. */
  readonly gathers: boolean
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
  readonly #gathers: boolean
  readonly #totals: OutboxTotals
  readonly #owner: OutboxOwner
  /** Created by the first write with a callback, which most sessions never have. */
  #onWritten: (() => void) | undefined
  #gathered: Chunk | undefined
  #blocked = false
  #generation = 1
  #lagging = false
  #ended = false
  #conflated = 0
  #fragments: Message | undefined
  /** Where the fragments are counted. */
  #fragmentUsage: UsageCell | undefined
  #nextFragment = 0

  constructor({ transport, highWaterBytes, gathers, totals, owner }: OutboxOptions) {
    this.#transport = transport
    this.#highWaterBytes = highWaterBytes
    this.#gathers = gathers
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

  /** Bytes waiting in this process: gathered, or not accepted by the kernel. */
  get queuedBytes(): number {
    return this.#transport.queuedBytes + (this.#gathered?.byteCount ?? 0)
  }

  /** Adds a chunk to the next write. True for its first chunk: the caller then has to call `flush`. */
  add(chunk: Chunk): boolean {
    const isFirst = this.#gathered === undefined
    this.#gathered = isFirst ? chunk : (this.#gathered as Chunk).followedBy(chunk)
    if (!this.#gathers || this.queuedBytes <= this.#highWaterBytes) return isFirst
    this.flush()
    return false
  }

  /** Writes the chunks added since the last write with one write, if there are any. */
  flush(): void {
    const gathered = this.#gathered
    if (gathered === undefined) return
    this.#gathered = undefined
    this.#write(gathered)
    this.#blockIfFull()
  }

  /**
   * Writes one message now. A message with several frames blocks the outbox until the kernel has accepted its last
   * frame. It is counted in `usage`: each frame as it is written, and the message with its last one.
   */
  send(message: Message, usage: UsageCell): void {
    if (message.length === 1) {
      this.sendChunk(new Chunk(message[0], 1), usage)
    } else {
      this.flush()
      this.#totals.messages += 1
      this.#fragments = message
      this.#fragmentUsage = usage
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

  /** Writes a chunk now, in one write with everything added before, and counts it in `usage`. */
  sendChunk(chunk: Chunk, usage: UsageCell): void {
    usage.count(chunk.messageCount, chunk.byteCount)
    this.#gathered = this.#gathered === undefined ? chunk : this.#gathered.followedBy(chunk)
    this.flush()
  }

  /** Nothing is written after this, and late callbacks do nothing. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#blocked = true
    this.#fragments = undefined
    this.#gathered = undefined
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
    const isLast = this.#nextFragment === (this.#fragments as Message).length
    this.#fragmentUsage?.count(isLast ? 1 : 0, frame.length)
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
