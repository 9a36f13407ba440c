/**
 * Goes through a recording from any place on, block by block, reading one block ahead. Keyframes are passed over as
 * long as nothing is missing. Where something is, it says so and goes on with the next keyframe, so that nobody builds
 * on a book that may be wrong.
 */
import type { RecordedBlock, RecordingReader } from './reader.ts'
import type { RecordedEntry } from './recording.ts'

/**
 * - `entries`: what comes next.
 * - `gap`: nothing that was known holds any more; the next entries begin with a state of every market that has one.
 */
export type CursorStep =
  | { readonly kind: 'entries'; readonly entries: readonly RecordedEntry[] }
  | { readonly kind: 'gap'; readonly reason: string }

export class RecordingCursor {
  readonly #reader: RecordingReader
  /** Index of the next block to look at. */
  #next: number
  /**
   * - `following`: everything before is known; keyframes say nothing new.
   * - `searching`: nothing is of use but the beginning of a keyframe.
   * - `restoring`: within a keyframe, whose rest is needed too.
   */
  #state: 'following' | 'searching' | 'restoring'
  #ahead: Promise<CursorStep | undefined>

  /**
   * Begins with the last keyframe before `fromMilliseconds` (since the epoch), or with the first entry. Not with one of
   * that very millisecond: entries of the same may stand before it.
   */
  constructor(reader: RecordingReader, fromMilliseconds: number) {
    this.#reader = reader
    const keyframe = reader.blocks.findLastIndex(
      ({ kind, firstMilliseconds }) => kind === 'keyframe' && firstMilliseconds < fromMilliseconds,
    )
    this.#next = Math.max(0, keyframe)
    this.#state = keyframe >= 0 ? 'searching' : 'following'
    this.#ahead = this.#step()
  }

  /** What comes next; undefined at the end. One call at a time. */
  async next(): Promise<CursorStep | undefined> {
    const step = await this.#ahead
    if (step !== undefined) this.#ahead = this.#step()
    return step
  }

  async #step(): Promise<CursorStep | undefined> {
    for (;;) {
      const block = this.#reader.blocks[this.#next]
      if (block === undefined) return undefined
      if (this.#state !== 'searching' && !block.isContinuous) {
        this.#state = 'searching'
        return { kind: 'gap', reason: `the recording ${this.#reader.path} lacks something before byte ${block.offset}` }
      }
      this.#next += 1
      if (!this.#wants(block)) continue
      const step = await this.#read(block)
      if (step !== undefined) return step
    }
  }

  /** Whether the block tells anything new; moves the state on to it. */
  #wants({ kind }: RecordedBlock): boolean {
    if (kind === 'entries') {
      if (this.#state === 'restoring') this.#state = 'following'
      return this.#state === 'following'
    }
    if (kind === 'keyframe-rest') return this.#state === 'restoring'
    const isSearchedFor = this.#state === 'searching'
    // Behind a keyframe that was taken, another one at once says that nothing happened between them.
    this.#state = isSearchedFor ? 'restoring' : 'following'
    return isSearchedFor
  }

  /** Nothing when a keyframe that was found cannot be read: then the next one is looked for. */
  async #read(block: RecordedBlock): Promise<CursorStep | undefined> {
    const isFirstOfKeyframe = block.kind === 'keyframe'
    try {
      return { kind: 'entries', entries: await this.#reader.readBlock(block) }
    } catch (error) {
      this.#state = 'searching'
      return isFirstOfKeyframe ? undefined : { kind: 'gap', reason: (error as Error).message }
    }
  }
}
