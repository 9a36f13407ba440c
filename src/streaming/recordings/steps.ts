/**
 * Reads a recording from any position, block by block, one block ahead. Keyframes are skipped while no block is
 * missing. After a gap, it reports the gap and continues with the next keyframe, so no book is built on missing data.
 */
import type { RecordedBlock, RecordingReader } from './reader.ts'
import type { RecordedEntry } from './recording.ts'

/**
 * - `entries`: the next entries; with `isState`, keyframe entries, which contain market states.
 * - `gap`: the state is unknown; the next entries begin with a state for every market that has one.
 */
export type RecordingStep =
  | { readonly kind: 'entries'; readonly entries: readonly RecordedEntry[]; readonly isState: boolean }
  | { readonly kind: 'gap'; readonly reason: string }

export class RecordingSteps {
  readonly #reader: RecordingReader
  /** The next block's index. */
  #next: number
  /**
   * - `following`: everything before is known, and keyframes contain nothing new.
   * - `searching`: only a keyframe's beginning is used.
   * - `restoring`: within a keyframe, whose rest is used too.
   */
  #state: 'following' | 'searching' | 'restoring'
  #ahead: Promise<RecordingStep | undefined>

  /**
   * Begins with the last keyframe before `fromMilliseconds` (since the epoch), or with the first entry. A keyframe at
   * exactly this millisecond is not used: entries in the same millisecond may precede it.
   */
  constructor(reader: RecordingReader, fromMilliseconds: number) {
    this.#reader = reader
    const keyframe = reader.blocks.findLastIndex(
      ({ kind, firstMilliseconds }) => kind === 'keyframe' && firstMilliseconds < fromMilliseconds,
    )
    this.#next = Math.max(0, keyframe)
    // A service's hourly files begin with a keyframe, which contains the state from before.
    const beginsWithState = keyframe >= 0 || reader.blocks[0]?.kind === 'keyframe'
    this.#state = beginsWithState ? 'searching' : 'following'
    this.#ahead = this.#step()
  }

  /** The next step. Undefined at the end. Calls must not overlap. */
  async next(): Promise<RecordingStep | undefined> {
    const step = await this.#ahead
    if (step !== undefined) this.#ahead = this.#step()
    return step
  }

  async #step(): Promise<RecordingStep | undefined> {
    for (;;) {
      const block = this.#reader.blocks[this.#next]
      if (block === undefined) return undefined
      if (this.#state !== 'searching' && !block.isContinuous) {
        this.#state = 'searching'
        return { kind: 'gap', reason: `the recording ${this.#reader.path} has a gap before byte ${block.offset}` }
      }
      this.#next += 1
      if (!this.#isUsed(block)) continue
      const step = await this.#read(block)
      if (step !== undefined) return step
    }
  }

  /** Whether the block is used; updates the state. */
  #isUsed({ kind }: RecordedBlock): boolean {
    if (kind === 'entries') {
      if (this.#state === 'restoring') this.#state = 'following'
      return this.#state === 'following'
    }
    if (kind === 'keyframe-rest') return this.#state === 'restoring'
    const isSearchedFor = this.#state === 'searching'
    // Directly after a used keyframe, another one means that nothing happened between them.
    this.#state = isSearchedFor ? 'restoring' : 'following'
    return isSearchedFor
  }

  /** A block's entries. Undefined for a damaged keyframe, after which the next one is searched. */
  async #read(block: RecordedBlock): Promise<RecordingStep | undefined> {
    const isFirstOfKeyframe = block.kind === 'keyframe'
    try {
      return { kind: 'entries', entries: await this.#reader.readBlock(block), isState: block.kind !== 'entries' }
    } catch (error) {
      this.#state = 'searching'
      return isFirstOfKeyframe ? undefined : { kind: 'gap', reason: (error as Error).message }
    }
  }
}
