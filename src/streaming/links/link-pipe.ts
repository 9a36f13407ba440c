/**
 * A link over a pipe between two processes on one machine. A frame has a length, a kind and bytes. The link never waits
 * for the other end: while more bytes than a limit are unsent, bus messages are dropped. The follower notices and
 * repairs the loss. Control and directory frames are few and never dropped.
 */
import type { Duplex } from 'node:stream'
import { assert } from '../../platform/base/assert.ts'

const PIPE_FRAMES = {
  messages: 1,
  heartbeats: 2,
  state: 3,
  stateRequest: 4,
  commitRequest: 5,
  digest: 7,
  /** Not a bus message. */
  control: 6,
  /** Not a bus message. */
  directory: 8,
} as const

export type PipeFrame = keyof typeof PIPE_FRAMES

const NAMES = Object.fromEntries(Object.entries(PIPE_FRAMES).map(([name, kind]) => [kind, name as PipeFrame]))

const HEAD_BYTES = 5

/** Messages are dropped above this many unsent bytes: a second of the fastest feeds, or one very large state. */
const UNSENT_BYTES_MAX = 32 * 1_048_576

export class PipeLink {
  readonly #pipe: Duplex
  readonly #onFrame: (name: PipeFrame, bytes: Buffer) => void
  #chunks: Buffer[] = []
  #received = 0
  #isCorked = false

  /** `onFrame` is called with each frame, in order. The link ends with the pipe. */
  constructor(pipe: Duplex, onFrame: (name: PipeFrame, bytes: Buffer) => void) {
    this.#pipe = pipe
    this.#onFrame = onFrame
    pipe.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  send(name: PipeFrame, bytes: Buffer): void {
    if (this.#pipe.destroyed) return
    const isBusMessage = name !== 'control' && name !== 'directory'
    if (isBusMessage && this.#pipe.writableLength > UNSENT_BYTES_MAX) return
    const head = Buffer.allocUnsafe(HEAD_BYTES)
    head.writeUInt32LE(bytes.length, 0)
    head[HEAD_BYTES - 1] = PIPE_FRAMES[name]
    this.#gather()
    this.#pipe.write(head)
    this.#pipe.write(bytes)
  }

  /** One tick's frames leave in one write. */
  #gather(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#pipe.cork()
    process.nextTick(() => {
      this.#isCorked = false
      this.#pipe.uncork()
    })
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#received += chunk.length
    while (this.#received >= HEAD_BYTES) {
      const head = this.#peek(HEAD_BYTES)
      const length = head.readUInt32LE(0)
      if (this.#received < HEAD_BYTES + length) return
      const name = NAMES[head[HEAD_BYTES - 1] as number]
      // Both ends run the same program, so anything else is a bug.
      assert(name !== undefined, 'a pipe frame has an unknown kind')
      const frame = this.#peek(HEAD_BYTES + length)
      this.#drop(HEAD_BYTES + length)
      this.#onFrame(name, frame.subarray(HEAD_BYTES))
    }
  }

  /** The first bytes, joined when they span several chunks. */
  #peek(length: number): Buffer {
    const [first] = this.#chunks as [Buffer]
    if (first.length < length) this.#chunks = [Buffer.concat(this.#chunks)]
    return (this.#chunks[0] as Buffer).subarray(0, length)
  }

  #drop(length: number): void {
    const first = this.#chunks[0] as Buffer
    this.#received -= length
    if (first.length === length) this.#chunks.shift()
    else this.#chunks[0] = first.subarray(length)
  }
}
