/**
 * What one socket may still take. It writes finished frames, at most one write a turn for what is fanned out, and it
 * is `blocked` while more than the mark waits in this process or while a long message is under way in fragments;
 * nothing may be handed to a blocked outbox. Memory it can hold: the mark, plus what one turn or one answer put on top.
 */
import type { Message } from '../channel/frame.ts'
import type { TransportPort } from './transport.ts'

/** Finished frames of one or more messages, shared by all connections that get the same. */
export interface Chunk {
  readonly frames: Buffer
  readonly messageCount: number
}

/** Totals over all connections, in plain numbers because they are counted for every write. */
export interface OutboxTotals {
  messages: number
  bytes: number
  /** Connections that are over the mark now. */
  behind: number
}

export interface OutboxOptions {
  readonly transport: TransportPort
  /** Bytes in this process from which a connection counts as behind. */
  readonly markBytes: number
  readonly totals: OutboxTotals
  readonly owner: OutboxOwner
}

/** Who is told when an outbox takes no more, and when it does again: methods, which all connections share. */
export interface OutboxOwner {
  onBlocked(): void
  onUnblocked(): void
}

export class Outbox {
  readonly #transport: TransportPort
  readonly #markBytes: number
  readonly #totals: OutboxTotals
  readonly #owner: OutboxOwner
  /** Made by the first write that is waited for, which most connections never have. */
  #onWritten: (() => void) | undefined
  readonly #chunks: Chunk[] = []
  #blocked = false
  #behind = false
  #ended = false
  #fragments: Message | undefined
  #nextFragment = 0

  constructor({ transport, markBytes, totals, owner }: OutboxOptions) {
    this.#transport = transport
    this.#markBytes = markBytes
    this.#totals = totals
    this.#owner = owner
  }

  get isBlocked(): boolean {
    return this.#blocked
  }

  /** Whether more waits in this process than the mark allows, and has not drained to half of it since. */
  get isBehind(): boolean {
    return this.#behind
  }

  /** Adds to what this turn writes. True for the turn's first chunk: the caller then calls `flush` at its end. */
  add(chunk: Chunk): boolean {
    return this.#chunks.push(chunk) === 1
  }

  /** Writes what was added in this turn, with one write. */
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

  /** Sends one message now; a message of several frames blocks until its last frame is with the kernel. */
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

  /** Sends a chunk now. */
  sendChunk(chunk: Chunk): void {
    this.#write(chunk)
    this.#blockIfFull()
  }

  /** Ends it: nothing is written any more, late callbacks do nothing. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#blocked = true
    this.#fragments = undefined
    this.#chunks.length = 0
    if (this.#behind) this.#totals.behind -= 1
    this.#behind = false
  }

  #write(chunk: Chunk): void {
    const { frames } = chunk
    this.#totals.messages += chunk.messageCount
    this.#totals.bytes += frames.length
    // A callback costs a sixth of a write, and only what lies beyond half the mark can be what unblocking waits for.
    const isWaitedFor = this.#transport.queuedBytes + frames.length > this.#markBytes / 2
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
    if (this.#ended || this.#transport.queuedBytes <= this.#markBytes) return
    if (!this.#behind) this.#totals.behind += 1
    this.#behind = true
    this.#block()
  }

  #block(): void {
    if (this.#blocked) return
    this.#blocked = true
    this.#owner.onBlocked()
  }

  #unblockIfDrained(): void {
    if (!this.#blocked || this.#ended || this.#fragments !== undefined) return
    // Half the mark: a connection that hovers at it would otherwise be woken for every few bytes.
    if (this.#transport.queuedBytes > this.#markBytes / 2) return
    if (this.#behind) this.#totals.behind -= 1
    this.#behind = false
    this.#blocked = false
    this.#owner.onUnblocked()
  }
}
