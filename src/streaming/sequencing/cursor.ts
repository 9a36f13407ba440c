/**
 * The extended protocol's cursors: opaque tokens for a position in one channel of one market within one epoch. A token
 * is bound to market, channel, depth, attribution and epoch, so a token for another binding is never accepted. It
 * contains no client information. The file also has the sources for cursors: each message's epoch, and the changes to
 * the top.
 */
import { createHash } from 'node:crypto'
import type { ChannelType } from '../../contract/channels.ts'
import { isSameTop, type TopOfBook } from './frame.ts'

/**
 * One run of a market's sequencer, as seen by a process. Positions in a process continue when the epoch changes.
 * Positions in a token are counted from the start of the epoch, so that every process gives a position the same token.
 */
export interface Epoch {
  /** As in commits. Empty before the first. */
  readonly id: string
  /** The process's position for position 0 of the epoch. */
  readonly base: number
}

export const NO_EPOCH: Epoch = { id: '', base: 0 }

/** Bytes of the digest for a token's binding: two bindings have the same digest with a probability of 2^-48. */
const BINDING_BYTES = 6

export class Cursors {
  readonly #market: string
  readonly #channel: ChannelType
  readonly #depth: number
  readonly #isAttributed: boolean
  #epoch: string | undefined
  #binding = ''

  /**
   * @param depth levels per side of the view, 0 = all; 0 for channels without depths
   * @param isAttributed whether the view's levels name their venues
   */
  constructor(market: string, channel: ChannelType, depth: number, isAttributed = false) {
    this.#market = market
    this.#channel = channel
    this.#depth = depth
    this.#isAttributed = isAttributed
  }

  /** The token for a position in the epoch, at or after its base. */
  token(epoch: Epoch, position: number): string {
    return `${this.binding(epoch)}.${position - epoch.base}`
  }

  /** A token's position. Undefined for another channel's or epoch's token. */
  position(epoch: Epoch, token: string): number | undefined {
    const [binding, digits, ...rest] = token.split('.')
    if (binding !== this.binding(epoch) || rest.length > 0) return undefined
    return /^(0|[1-9][0-9]{0,14})$/.test(digits ?? '') ? epoch.base + Number(digits) : undefined
  }

  /** The common prefix of an epoch's tokens. */
  binding({ id }: Epoch): string {
    if (id !== this.#epoch) {
      const bound = [this.#market, this.#channel, this.#depth, id, ...(this.#isAttributed ? ['attribution'] : [])]
      const digest = createHash('sha256').update(JSON.stringify(bound)).digest()
      this.#binding = digest.subarray(0, BINDING_BYTES).toString('base64url')
      this.#epoch = id
    }
    return this.#binding
  }
}

/** Before all versions. */
const NEVER = -1

/**
 * The epoch for an earlier book message's token, so that `prev` names a message received by the subscriber. Positions
 * are versions in this process.
 */
export class PreviousMessages {
  #epoch = NO_EPOCH
  /** The epoch's first version. */
  #beganVersion = 0
  /** The epoch whose book was withdrawn by the present one, with its first version. */
  #withdrawn: { readonly epoch: Epoch; readonly beganVersion: number } | undefined
  #withdrawnVersion = NEVER

  /** The book begins again, with no difference to the one before. */
  begin(epoch: Epoch, version: number): void {
    this.#epoch = epoch
    this.#beganVersion = version
    this.#withdrawn = undefined
  }

  /** The book is empty from this version on, in a later epoch where the sequencer did not withdraw it. */
  withdraw(version: number, epoch: Epoch = this.#epoch): void {
    this.#withdrawnVersion = version
    if (epoch === this.#epoch) return
    const withdrawn = { epoch: this.#epoch, beganVersion: this.#beganVersion }
    this.begin(epoch, version)
    this.#withdrawn = withdrawn
  }

  /** Whether the present epoch is a withdrawal's own, which no other process and no recording has. */
  get isWithdrawnHere(): boolean {
    return this.#withdrawn !== undefined
  }

  /** Whether this version's message is about the present book, which has not restarted since. */
  isOfBook(version: number): boolean {
    return version >= this.#beganVersion
  }

  /** A message's epoch. Undefined where the message withdrew the book, or where a later one does not follow it. */
  epochOf(version: number): Epoch | undefined {
    if (version === this.#withdrawnVersion) return undefined
    if (version >= this.#beganVersion) return this.#epoch
    return version >= (this.#withdrawn?.beganVersion ?? Number.POSITIVE_INFINITY) ? this.#withdrawn?.epoch : undefined
  }
}

/** A ring before its first entry. */
const NONE = new Float64Array()

/** Number of top changes with known versions. */
const TOPS_KEPT = 4_096

/** The book's top, and the versions at which it last changed. */
export class TopChanges {
  #top: TopOfBook = { bid: undefined, ask: undefined }
  #number = 0
  /** A ring: the version for change n is at n modulo the size. */
  #versions = NONE

  get top(): TopOfBook {
    return this.#top
  }

  /** Number of changes so far. Equal numbers mean an unchanged top. */
  get number(): number {
    return this.#number
  }

  /** Version of the last commit with a change to the top. 0 before the first. */
  get version(): number {
    return this.#versions[this.#number % TOPS_KEPT] ?? 0
  }

  /** Number of changes to the top after a version. 'too-old' when no longer known. */
  since(version: number): number | 'too-old' {
    const oldest = Math.max(0, this.#number - TOPS_KEPT + 1)
    for (let number = this.#number; number >= oldest; number--) {
      if ((this.#versions[number % TOPS_KEPT] ?? 0) <= version) return this.#number - number
    }
    return 'too-old'
  }

  /**
   * Returns whether it changed.
   * @param isNew the top counts as changed, because its cursor must belong to the new epoch
   */
  move(top: TopOfBook, version: number, isNew: boolean): boolean {
    if (isSameTop(top, this.#top) && !isNew) return false
    this.#top = top
    this.#number += 1
    if (this.#versions === NONE) this.#versions = new Float64Array(TOPS_KEPT)
    this.#versions[this.#number % TOPS_KEPT] = version
    return true
  }
}
