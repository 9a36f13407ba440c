/**
 * One market's publication, for relays: first the book with the instrument state, then, per tick, one message with all
 * changes: levels, executions, the instrument. Catch-up sends everything and makes one message for all commits since
 * the last one, so a lagging relay needs nothing else. Executions are never skipped silently: the message after a gap
 * reports them as missed. While the market is stale, the relay is notified and gets executions only.
 *
 * The number of a message that completes the book always names the book's version. A message with executions only has
 * another number form: a relay that resumes from it is sent a SNAPSHOT, because its book is older.
 */
import type { Instrument } from '../market/event.ts'
import { BASE, type FrameCount, type Message, messageHead, newFrameCounts } from '../sequencing/frame.ts'
import {
  type PublicationStream,
  type PublicationUpdate,
  publicationLost,
  publicationSnapshot,
  publicationUpdate,
} from '../sequencing/publication-text.ts'
import type { Replica } from '../sequencing/replica.ts'
import { NONE, type ViewFeed } from '../sequencing/view-feed.ts'
import type { CaughtUp, ChannelParams, ChannelState, MarketChannel, MarketSubscription } from './subscription.ts'

/** Executions in one message while more are owed. A message ends with a commit's last execution. */
const EXECUTIONS_PER_MESSAGE = 1_000

/** What one relay has been sent. */
interface Progress {
  /** Its book's version; NONE = it is owed a SNAPSHOT. */
  book: number
  /** Its last execution's number; NONE = none yet, and the SNAPSHOT decides. */
  execution: number
  /** Its last message's number in `epoch`. */
  seq: number | undefined
  epoch: string
  /** The last instrument state sent; 'unsent' after a resume, because it is not known which one. */
  instrument: Instrument | undefined | 'unsent'
  /** Whether it was notified that the market is stale. */
  isStale: boolean
}

interface CachedUpdate {
  readonly version: number
  readonly book: number
  readonly execution: number
  readonly seq: number | undefined
  readonly instrument: Instrument | undefined | 'unsent'
  readonly message: Message
}

export class PublicationChannel implements MarketChannel {
  readonly type = 'publication'
  readonly bit: number
  readonly place: number
  readonly #replica: Replica
  /** The published depth's view. */
  readonly #feed: ViewFeed
  readonly #progress = new Map<MarketSubscription, Progress>()
  /** The last relay's UPDATE. Relays that are up to date share it. */
  #cached: CachedUpdate | undefined

  constructor(replica: Replica, feed: ViewFeed, place: number) {
    this.place = place
    this.bit = 1 << place
    this.#replica = replica
    this.#feed = feed
  }

  get hasSubscribers(): boolean {
    return this.#progress.size > 0
  }

  subscribe(subscription: MarketSubscription, _state: ChannelState, { resume }: ChannelParams): boolean {
    const { publication, executions, skipped } = this.#replica
    const position = resume === undefined ? undefined : publication.resumable(resume)
    const isKnown = position !== undefined && !skipped.has(position.version)
    const execution = isKnown ? executions.numberAt(position.version) : undefined
    const resumes = isKnown && execution !== undefined
    this.#progress.set(subscription, {
      book: resumes && position.hasBook ? position.version : NONE,
      execution: resumes ? execution : NONE,
      seq: resumes ? position.seq : undefined,
      epoch: publication.epochText,
      instrument: resumes ? 'unsent' : undefined,
      isStale: false,
    })
    return resumes
  }

  unsubscribe(subscription: MarketSubscription): void {
    this.#progress.delete(subscription)
  }

  fannedOut(): FrameCount {
    // Never aligned, so never called.
    return newFrameCounts()[BASE]
  }

  encodeCommit(): void {
    // Nothing is fanned out: every message is made by catch-up.
  }

  isLeftToCatchUp(): boolean {
    return true
  }

  continues(): boolean {
    return false
  }

  advance(): void {
    // Never current, so never called.
  }

  isAligned(): boolean {
    return false
  }

  settle(): void {
    // Never aligned, so never called.
  }

  endTick(): void {
    this.#cached = undefined
  }

  catchUp(subscription: MarketSubscription, state: ChannelState): CaughtUp {
    const progress = this.#progress.get(subscription) as Progress
    const { outbox } = subscription
    const { isCrossed, live, publication } = this.#replica
    // Numbers begin again with each epoch.
    if (progress.epoch !== publication.epochText) progress.seq = undefined
    progress.epoch = publication.epochText
    while (!outbox.isBlocked) {
      if (isCrossed) return 'waiting'
      const message = live ? this.#nextMessage(progress) : this.#nextStaleMessage(progress)
      if (typeof message === 'string') return message
      outbox.send(message, state.usage)
    }
    return 'blocked'
  }

  #nextStaleMessage(progress: Progress): Message | 'waiting' {
    const { executions } = this.#replica
    if (!progress.isStale) {
      progress.isStale = true
      progress.book = NONE
      // The last message's number; no number is taken.
      return publicationLost(this.#replica, { ...this.#stream(progress, progress.seq ?? 0), prev: undefined })
    }
    if (progress.execution === NONE) progress.execution = executions.lastNumber
    if (progress.execution === executions.lastNumber) return 'waiting'
    return this.#executionsUpTo(progress, executions.lastNumber)
  }

  #nextMessage(progress: Progress): Message | 'done' | 'waiting' {
    const { executions, version } = this.#replica
    progress.isStale = false
    if (progress.book === NONE) return this.#snapshot(progress)
    if (executions.lastNumber - progress.execution > EXECUTIONS_PER_MESSAGE) {
      return this.#executionsUpTo(progress, executions.lastNumber)
    }
    if (progress.book === version && progress.execution === executions.lastNumber) return 'done'
    return this.#update(progress)
  }

  /** All changes since the last message. None when nothing changed. */
  #update(progress: Progress): Message | 'done' | 'waiting' {
    const { version, instrument, executions, publication } = this.#replica
    const cached = this.#cached
    if (cached !== undefined && cached.version === version && isAt(progress, cached)) {
      this.#advanceTo(progress, publication.seqAt(version))
      return cached.message
    }
    const changes = this.#feed.view.changesSince(progress.book)
    if (changes === 'too-old') {
      progress.book = NONE
      return this.#snapshot(progress)
    }
    const update: PublicationUpdate = {
      changes,
      ...this.#take(progress, executions.lastNumber),
      instrument: instrument === progress.instrument ? undefined : (instrument ?? null),
    }
    const isEmpty = changes.length + update.executions.length === 0 && update.missed === undefined
    const seq = publication.seqAt(version)
    if (isEmpty && seq <= (progress.seq ?? 0)) {
      // Commits that published nothing, not even another instrument state.
      progress.book = version
      return 'done'
    }
    const { book, execution, seq: prev, instrument: before } = progress
    const message = publicationUpdate(this.#replica, update, this.#bookStream(progress, seq, version))
    this.#cached = { version, book, execution, seq: prev, instrument: before, message }
    this.#advanceTo(progress, seq)
    return message
  }

  #advanceTo(progress: Progress, seq: number): void {
    const { version, instrument, executions } = this.#replica
    progress.book = version
    progress.execution = executions.lastNumber
    progress.seq = seq
    progress.instrument = instrument
  }

  #snapshot(progress: Progress): Message | 'waiting' {
    const { market, executions, instrument, publication } = this.#replica
    const snapshot = this.#feed.snapshot(BASE, 0)
    if (snapshot === undefined) return 'waiting'
    const number = executions.numberAt(snapshot.version) ?? executions.lastNumber
    if (progress.execution !== NONE && progress.execution < number) return this.#executionsUpTo(progress, number)
    if (progress.execution === NONE) progress.execution = number
    const seq = publication.seqAt(snapshot.version)
    const stream = this.#bookStream(progress, seq, snapshot.version)
    snapshot.head ??= messageHead(snapshot.message)
    progress.book = snapshot.version
    progress.seq = seq
    progress.instrument = instrument
    return publicationSnapshot(market, snapshot.head, instrument, stream)
  }

  /** An UPDATE with executions only, up to this number or to the end of an earlier commit. */
  #executionsUpTo(progress: Progress, number: number): Message {
    const { executions, publication } = this.#replica
    const first = Math.max(progress.execution + 1, executions.firstNumber)
    let last = Math.min(first + EXECUTIONS_PER_MESSAGE - 1, number)
    while (last < number && executions.at(last + 1).version === executions.at(last).version) last += 1
    const version = last < first ? this.#replica.version : executions.at(last).version
    const taken = this.#take(progress, last)
    const seq = publication.executionSeq(version)
    const message = publicationUpdate(
      this.#replica,
      { changes: [], ...taken, instrument: undefined },
      this.#stream(progress, seq),
    )
    progress.execution = Math.max(last, first - 1)
    progress.seq = seq
    return message
  }

  /** The executions after the relay's last one, up to a number, and why some before them were missed. */
  #take(progress: Progress, last: number): Pick<PublicationUpdate, 'executions' | 'missed'> {
    const { executions } = this.#replica
    const { firstNumber, missNumber } = executions
    const isMissing = progress.execution + 1 < firstNumber
    const taken: PublicationUpdate['executions'][number][] = []
    for (let number = Math.max(progress.execution + 1, firstNumber); number <= last; number++) {
      const { execution, commitMilliseconds } = executions.at(number)
      const id = execution.id ?? executions.idOf(number)
      taken.push({ execution: { ...execution, id }, commitMilliseconds })
    }
    if (!isMissing) return { executions: taken, missed: undefined }
    const missed =
      progress.execution < missNumber
        ? 'a source missed executions'
        : 'the relay lagged for longer than executions are kept'
    return { executions: taken, missed }
  }

  /** For a message that completes a version's book. */
  #bookStream(progress: Progress, seq: number, version: number): PublicationStream {
    return { ...this.#stream(progress, seq), origin: this.#replica.publication.relayedOriginAt(version) }
  }

  #stream({ seq: prev }: Progress, seq: number): PublicationStream {
    return { epoch: this.#replica.publication.epochText, seq, prev }
  }
}

function isAt(progress: Progress, cached: CachedUpdate): boolean {
  return (
    progress.book === cached.book &&
    progress.execution === cached.execution &&
    progress.seq === cached.seq &&
    progress.instrument === cached.instrument
  )
}
