/**
 * One view's receipts, shared by all sessions: at most one per full second, about the view then, and about the UPDATEs
 * and executions since the previous one. The book is captured at once, and hashed and signed in later ticks, so that
 * many views delay nothing. Only the last few receipts are kept. It sees no session.
 */

import type { ReceiptClaims, ReceiptWindow } from '../../contract/receipt.ts'
import { type Instant, nanosecondText } from '../../platform/base/clock.ts'
import type { LevelChange } from '../market/event.ts'
import type { View } from '../market/view.ts'
import type { Cursors } from './cursor.ts'
import {
  type EndedWindow,
  executionRecord,
  levelRecord,
  RecordHash,
  RecordWindow,
  updateRecord,
} from './receipt-records.ts'
import type { ReceiptSigner } from './receipt-signer.ts'
import type { Replica } from './replica.ts'

/** Receipts kept for sessions whose heartbeats are late. */
const RECEIPTS_KEPT = 8

/** Views deeper than this get a receipt only every `DEEP_SECONDS`. */
const SHALLOW_LEVELS = 100
const DEEP_SECONDS = 10

/** How long receipts are made without subscribers, for a client that reconnects and resumes. */
const LINGER_SECONDS = 60

/** Levels hashed per tick: about 1 ms. */
const SLICE_LEVELS = 4_096

export interface ReceiptedView {
  readonly signer: ReceiptSigner
  readonly replica: Replica
  readonly view: View
  readonly cursors: Cursors
  /** The current levels, which do not change when the market does. */
  readonly levels: () => readonly LevelChange[]
  /** A view's entry with its amount. */
  readonly levelOf: (level: LevelChange) => LevelChange
}

interface Receipt {
  /** The replica's version at the end of the receipt's second. */
  readonly version: number
  /** The version named by its cursor. */
  readonly changeVersion: number
  readonly text: string
}

/** A receipt to come: all it is about, with the hashes still to be computed. */
interface Job extends Omit<Receipt, 'text'> {
  readonly instant: Instant
  readonly cursor: string
  readonly origin: string | undefined
  readonly updates: EndedWindow & { readonly cursor: string }
  readonly executions: EndedWindow & { readonly cursor: string }
  readonly levels: readonly LevelChange[]
  readonly hash: RecordHash
  next: number
  claims: ReceiptClaims | undefined
}

export class ViewReceipts {
  readonly #view: ReceiptedView
  readonly #isDeep: boolean
  readonly #updates = new RecordWindow()
  readonly #executions = new RecordWindow()
  /** The last execution considered. */
  #executionNumber = 0
  #isActive = false
  /** Full seconds without subscribers. */
  #idleSeconds = 0
  /** In version order. */
  #receipts: readonly Receipt[] = []
  #job: Job | undefined
  /** The last receipt's second of the monotonic clock, and its change version. */
  #second = Number.NEGATIVE_INFINITY
  #changeVersion = -1

  constructor(view: ReceiptedView) {
    const { depth } = view.view
    this.#view = view
    this.#isDeep = depth === 0 || depth > SHALLOW_LEVELS
  }

  /** Whether receipts are made: there are subscribers, or there were some a short time ago. */
  get isActive(): boolean {
    return this.#isActive
  }

  /** Begins the windows at the current version, unless receipts are made already. */
  begin(): void {
    if (this.#isActive) return
    this.#isActive = true
    this.#executionNumber = this.#view.replica.executions.lastNumber
    this.#executions.restart(this.#executionNumber)
    this.#updates.restart(this.#view.view.changeVersion)
  }

  /**
   * Adds a commit with these changes to the view. `startsOver`: no UPDATE leads to its book. No window includes a repair
   * by a bus state, because other processes' subscribers may have been sent its commits one by one.
   */
  note(changes: readonly LevelChange[], startsOver: boolean): void {
    if (!this.#isActive) return
    const { replica, view, cursors, levelOf } = this.#view
    this.#noteExecutions()
    const { changeVersion } = view
    if (startsOver || this.#updates.after < replica.repairedVersion) {
      this.#updates.restart(changeVersion)
      return
    }
    if (changes.length === 0) return
    let records = updateRecord(cursors.token(replica.epoch, changeVersion), replica.instant)
    for (const change of changes) records += levelRecord(replica.market, levelOf(change))
    this.#updates.add(records)
  }

  /**
   * Begins the receipt at the end of a full second on the throttle grid, unless nothing has changed since the last one.
   * @param instant commit time of the view's last change
   */
  endSecond(second: number, instant: Instant, hasSubscribers: boolean): void {
    this.#idleSeconds = hasSubscribers ? 0 : this.#idleSeconds + 1
    this.#isActive &&= this.#idleSeconds <= LINGER_SECONDS
    if (!this.#isActive) return
    const { signer, replica, view, cursors, levels } = this.#view
    const { changeVersion } = view
    if (this.#isDeep && Math.floor(second / DEEP_SECONDS) === Math.floor(this.#second / DEEP_SECONDS)) return
    if (changeVersion === this.#changeVersion && this.#executions.count === 0) return
    // No recording has this epoch, to which it could be compared.
    if (replica.previous.isWithdrawnHere) return
    // With one still unfinished, the windows continue until the next second.
    if (this.#job !== undefined || !signer.hasKey || !replica.hasBook || replica.isCrossed) return
    this.#second = second
    this.#changeVersion = changeVersion
    const { version, epoch, live, publication } = replica
    const updates = this.#updates.end(changeVersion)
    const executions = this.#executions.end(this.#executionNumber)
    this.#job = {
      version,
      changeVersion,
      instant,
      cursor: cursors.token(epoch, changeVersion),
      origin: live ? publication.originAt(version) : undefined,
      updates: { ...updates, cursor: cursors.token(epoch, updates.after) },
      executions: { ...executions, cursor: replica.executions.idOf(executions.after) },
      levels: levels(),
      hash: new RecordHash(),
      next: 0,
      claims: undefined,
    }
  }

  /** True while a receipt is unfinished: `work` is then to be called once per tick. */
  get isWorking(): boolean {
    return this.#job !== undefined
  }

  /** Hashes a slice of the book, and signs the receipt once it is complete and the signer is not busy. */
  work(): void {
    const job = this.#job
    if (job === undefined) return
    const { market } = this.#view.replica
    const end = Math.min(job.next + SLICE_LEVELS, job.levels.length)
    let records = ''
    for (; job.next < end; job.next++) records += levelRecord(market, job.levels[job.next] as LevelChange)
    job.hash.add(records)
    if (job.next < job.levels.length) return
    job.claims ??= this.#claims(job)
    const { claims, version, changeVersion } = job
    const text = this.#view.signer.sign(claims)
    if (text === 'later') return
    this.#job = undefined
    if (text === undefined) return
    this.#receipts = [...this.#receipts.slice(1 - RECEIPTS_KEPT), { version, changeVersion, text }]
  }

  /** The kept receipts from a version on, whose books have change versions from the first to the last one. */
  since(version: number, [first, last]: readonly [first: number, last: number]): readonly Receipt[] {
    return this.#receipts.filter(
      ({ version: own, changeVersion }) => own >= version && changeVersion >= first && changeVersion <= last,
    )
  }

  #noteExecutions(): void {
    const { market, executions } = this.#view.replica
    // Executions that are not kept, or that the source missed, are in no window.
    const firstNumber = executions.firstNumber
    if (firstNumber > this.#executionNumber + 1) {
      this.#executionNumber = firstNumber - 1
      this.#executions.restart(this.#executionNumber)
    }
    while (this.#executionNumber < executions.lastNumber) {
      this.#executionNumber += 1
      this.#executions.add(executionRecord(market, executions, this.#executionNumber))
    }
  }

  #claims({ instant, cursor, origin, updates, executions, hash }: Job): ReceiptClaims {
    const { replica, view } = this.#view
    const { symbol, priceDecimals, amountDecimals } = replica.market
    return {
      market: symbol,
      depth: view.depth,
      price_decimals: priceDecimals,
      amount_decimals: amountDecimals,
      cursor,
      time: nanosecondText(instant.milliseconds, instant.nanoseconds),
      book: hash.sha256(),
      updates: windowOf(updates),
      executions: windowOf(executions),
      ...(origin === undefined ? {} : { origin }),
    }
  }
}

function windowOf({ cursor, count, hash }: Job['updates']): ReceiptWindow {
  return { after: cursor, count, sha256: hash.sha256() }
}
