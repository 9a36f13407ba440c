/**
 * The receipts of one `prove` call and what became of each book: matched (its hash equals the rebuilt book's), unreached
 * (valid, but the messages do not contain its version), or failed. It also counts how much of the files the receipts
 * cover, and finds receipts that contradict each other. A statement counts once, however often it is signed: one
 * signature can be written in several ways, and several nodes sign the same statement. It is bounded.
 */
import { type Finding, Findings } from '../findings.ts'
import { RECEIPT_FAULTS, type ReceiptFault } from './receipt-faults.ts'
import { type Receipt, type ReceiptKeys, readReceipt } from './receipt-proof.ts'

/** Receipts in one call, about 2 KB each: three books for a day, at one per second. */
const RECEIPTS_MAX = 300_000
const EXAMPLES_KEPT = 5

/** A receipt with a valid signature. */
export interface ListedReceipt {
  readonly receipt: Receipt
  /** `unreached`: the messages around its time are conflated. */
  state: 'unknown' | 'matched' | 'unreached' | 'failed'
  /** Whether the messages in its windows were compared and are the same. */
  hasUpdates: boolean
  hasExecutions: boolean
  /** The matched book's origin, where a recording has it. */
  origin?: string
}

export interface ReceiptFinding extends Finding<ReceiptFault, string> {
  readonly rule: string
}

/** One view's matched receipts. */
export interface MatchedView {
  readonly market: string
  readonly depth: number
  readonly matched: number
  /** The first and the last commit time. */
  readonly first: string
  readonly last: string
  /** Origins of these two books (docs/how-to/feeding-your-own-book.md). Absent where none is recorded. */
  readonly firstOrigin?: string
  readonly lastOrigin?: string
}

export interface Covered {
  covered: number
  total: number
}

export class ReceiptList {
  /** UPDATEs, or a recording's commits: how many are in a window with the same hash. */
  readonly updates: Covered = { covered: 0, total: 0 }
  /** How many SNAPSHOTs are of a receipt's book. */
  readonly snapshots: Covered = { covered: 0, total: 0 }
  readonly executions: Covered = { covered: 0, total: 0 }
  readonly #keys: ReceiptKeys
  /** By text. Undefined where it is not valid. */
  readonly #texts = new Map<string, ListedReceipt | undefined>()
  readonly #listed: ListedReceipt[] = []
  /** By the signed part, the text without its signature. */
  readonly #statements = new Map<string, ListedReceipt>()
  /** Texts of listed statements with another signature. */
  #signedAgain = 0
  readonly #findings = new Findings<ReceiptFinding>(EXAMPLES_KEPT, (name) => ({ name, rule: RECEIPT_FAULTS[name] }))
  readonly #byCursor = new Map<string, ListedReceipt[]>()
  readonly #byUpdates = new Map<string, ListedReceipt[]>()
  readonly #byExecutions = new Map<string, ListedReceipt[]>()
  /** Values that all receipts have to state alike. */
  readonly #stated = new Map<string, string>()

  constructor(keys: ReceiptKeys) {
    this.#keys = keys
  }

  /** `market`: named by the entry around the receipt, where it is known. */
  add(text: string, market?: string): void {
    if (this.#texts.has(text)) return
    if (this.#texts.size >= RECEIPTS_MAX)
      throw new Error(`there are more than ${RECEIPTS_MAX} receipts: check parts of the file`)
    this.#texts.set(text, undefined)
    const reading = readReceipt(text, this.#keys)
    if (!reading.ok) {
      this.report(reading.fault, reading.detail)
      return
    }
    const { receipt } = reading
    if (market !== undefined && market !== receipt.market) {
      this.report('market-differs', `${receipt.market} in an entry of ${market}`)
      return
    }
    const statement = text.slice(0, text.lastIndexOf('.'))
    const known = this.#statements.get(statement)
    if (known !== undefined) {
      this.#texts.set(text, known)
      this.#signedAgain += 1
      return
    }
    const listed: ListedReceipt = { receipt, state: 'unknown', hasUpdates: false, hasExecutions: false }
    this.#reportContradictions(listed)
    this.#statements.set(statement, listed)
    this.#texts.set(text, listed)
    this.#listed.push(listed)
    index(this.#byCursor, keyOf(receipt.market, receipt.cursor), listed)
    index(this.#byUpdates, keyOf(receipt.market, receipt.updates.after), listed)
    index(this.#byExecutions, keyOf(receipt.market, receipt.executions.after), listed)
  }

  /** A valid receipt with this text. */
  find(text: string): ListedReceipt | undefined {
    return this.#texts.get(text)
  }

  get all(): readonly ListedReceipt[] {
    return this.#listed
  }

  get count(): number {
    return this.#texts.size - this.#signedAgain
  }

  /** A market's receipts for a cursor. */
  of(market: string, cursor: string): readonly ListedReceipt[] {
    return this.#byCursor.get(keyOf(market, cursor)) ?? []
  }

  withUpdatesAfter(market: string, cursor: string): readonly ListedReceipt[] {
    return this.#byUpdates.get(keyOf(market, cursor)) ?? []
  }

  withExecutionsAfter(market: string, cursor: string): readonly ListedReceipt[] {
    return this.#byExecutions.get(keyOf(market, cursor)) ?? []
  }

  /** Marks a receipt as matched, with the book's origin if known, unless it differed from another book before. */
  match(listed: ListedReceipt, origin?: string): void {
    if (listed.state === 'failed') return
    listed.state = 'matched'
    if (origin !== undefined) listed.origin = origin
  }

  fail(listed: ListedReceipt, fault: ReceiptFault, detail: string): void {
    if (listed.state === 'failed') return
    listed.state = 'failed'
    this.reportOf(listed, fault, detail)
  }

  /** A fault in a receipt's window, or in what it says beside the book. */
  reportOf({ receipt: { market, time, cursor } }: ListedReceipt, fault: ReceiptFault, detail: string): void {
    this.report(fault, `${market} at ${time} (${cursor}): ${detail}`)
  }

  report(name: ReceiptFault, detail: string): void {
    this.#findings.add(name, () => detail)
  }

  get findings(): readonly ReceiptFinding[] {
    return this.#findings.all
  }

  /** The receipts' books: how many were compared and are the same. */
  get books(): Covered {
    return { covered: this.countOf('matched'), total: this.count }
  }

  /** The receipts' windows with messages. */
  get executionWindows(): Covered {
    const covered = this.#listed.filter(({ hasExecutions }) => hasExecutions).length
    return { covered, total: this.#listed.filter(({ receipt }) => receipt.executions.count > 0).length }
  }

  get updateWindows(): Covered {
    const covered = this.#listed.filter(({ hasUpdates }) => hasUpdates).length
    return { covered, total: this.#listed.filter(({ receipt }) => receipt.updates.count > 0).length }
  }

  countOf(state: ListedReceipt['state']): number {
    return this.#listed.filter((listed) => listed.state === state).length
  }

  #reportContradictions(listed: ListedReceipt): void {
    const { market, cursor, depth, book, executions, issuer, keyId } = listed.receipt
    const { after, count, sha256 } = executions
    this.#state(listed, 'issuer-differs', keyOf(keyId), issuer)
    this.#state(listed, 'books-equivocal', keyOf(market, cursor, String(depth)), book)
    this.#state(listed, 'executions-equivocal', keyOf(market, after, String(count)), sha256)
  }

  /** Reports a receipt which states another value than an earlier one. */
  #state(listed: ListedReceipt, fault: ReceiptFault, subject: string, value: string): void {
    const key = keyOf(fault, subject)
    const stated = this.#stated.get(key)
    if (stated === undefined) this.#stated.set(key, value)
    else if (stated !== value) this.reportOf(listed, fault, `${stated} and ${value}`)
  }

  /** Issuers and keys with a valid signature. */
  signers(): readonly { readonly issuer: string; readonly keyId: string }[] {
    const signers = this.#listed.map(
      ({ receipt: { issuer, keyId } }) => [keyOf(issuer, keyId), { issuer, keyId }] as const,
    )
    return [...new Map(signers).values()]
  }

  views(): MatchedView[] {
    const matched = new Map<string, ListedReceipt[]>()
    for (const listed of this.#listed) {
      if (listed.state !== 'matched') continue
      const key = keyOf(listed.receipt.market, String(listed.receipt.depth))
      const ofBook = matched.get(key)
      if (ofBook === undefined) matched.set(key, [listed])
      else ofBook.push(listed)
    }
    return [...matched.values()].map(matchedView)
  }
}

function matchedView(listed: readonly ListedReceipt[]): MatchedView {
  const sorted = listed.toSorted((left, right) => (left.receipt.time < right.receipt.time ? -1 : 1))
  const [first, last] = [sorted[0], sorted.at(-1)] as [ListedReceipt, ListedReceipt]
  const { market, depth } = first.receipt
  return {
    market,
    depth,
    matched: sorted.length,
    first: first.receipt.time,
    last: last.receipt.time,
    ...(first.origin === undefined ? {} : { firstOrigin: first.origin }),
    ...(last.origin === undefined ? {} : { lastOrigin: last.origin }),
  }
}

function index(lists: Map<string, ListedReceipt[]>, key: string, listed: ListedReceipt): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [listed])
  else list.push(listed)
}

function keyOf(...parts: readonly string[]): string {
  return parts.join('\n')
}
