/**
 * The receipts of one `prove` call and what became of each: matched (its digest equals the rebuilt book's), unmatched
 * (valid, but the messages do not contain its version one by one), or failed. It also counts how much of the files
 * receipts cover. Identical receipts count once. It is bounded.
 */
import { type Finding, Findings } from '../findings.ts'
import { RECEIPT_FAULTS, type ReceiptFault } from './receipt-faults.ts'
import { type Receipt, type ReceiptKeys, readReceipt } from './receipt-proof.ts'

/** Receipts in one call, about 1 KB each: three books for a day, at one per second. */
const RECEIPTS_MAX = 300_000
const EXAMPLES_KEPT = 5

/** A receipt with a valid signature. */
export interface ListedReceipt {
  readonly receipt: Receipt
  /** `unmatched`: the messages around its time are conflated. */
  state: 'unknown' | 'matched' | 'unmatched' | 'failed'
  /** The matched book's origin, where a recording has it. */
  origin?: string
}

export interface ReceiptFinding extends Finding<ReceiptFault, string> {
  readonly rule: string
}

/** One book's matched receipts. */
export interface MatchedBook {
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
  /** Book messages, or a recording's commits: how many have a matched receipt for the book after them. */
  readonly messages: Covered = { covered: 0, total: 0 }
  /** Version 1 receipts cover none. */
  readonly executions: Covered = { covered: 0, total: 0 }
  readonly #keys: ReceiptKeys
  readonly #texts = new Set<string>()
  readonly #listed: ListedReceipt[] = []
  readonly #findings = new Findings<ReceiptFinding>(EXAMPLES_KEPT, (name) => ({ name, rule: RECEIPT_FAULTS[name] }))
  #byCursor: Map<string, ListedReceipt[]> | undefined

  constructor(keys: ReceiptKeys) {
    this.#keys = keys
  }

  /** `market`: named by the entry around the receipt, where it is known. */
  add(text: string, market?: string): void {
    if (this.#texts.has(text)) return
    if (this.#texts.size >= RECEIPTS_MAX)
      throw new Error(`there are more than ${RECEIPTS_MAX} receipts: check parts of the file`)
    this.#texts.add(text)
    const reading = readReceipt(text, this.#keys)
    if (!reading.ok) this.report(reading.fault, reading.detail)
    else if (market !== undefined && market !== reading.receipt.market) {
      this.report('market-differs', `${reading.receipt.market} in an entry of ${market}`)
    } else {
      this.#listed.push({ receipt: reading.receipt, state: 'unknown' })
      this.#byCursor = undefined
    }
  }

  get all(): readonly ListedReceipt[] {
    return this.#listed
  }

  get count(): number {
    return this.#texts.size
  }

  /** A market's receipts for a cursor. */
  of(market: string, cursor: string): readonly ListedReceipt[] {
    if (this.#byCursor === undefined) {
      this.#byCursor = new Map()
      for (const listed of this.#listed) {
        const key = keyOf(listed.receipt.market, listed.receipt.cursor)
        const others = this.#byCursor.get(key)
        if (others === undefined) this.#byCursor.set(key, [listed])
        else others.push(listed)
      }
    }
    return this.#byCursor.get(keyOf(market, cursor)) ?? []
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
    const { market, time, cursor } = listed.receipt
    this.report(fault, `${market} at ${time} (${cursor}): ${detail}`)
  }

  report(name: ReceiptFault, detail: string): void {
    this.#findings.add(name, () => detail)
  }

  get findings(): readonly ReceiptFinding[] {
    return this.#findings.all
  }

  countOf(state: ListedReceipt['state']): number {
    return this.#listed.filter((listed) => listed.state === state).length
  }

  /** Issuers and keys with a valid signature. */
  signers(): readonly { readonly issuer: string; readonly keyId: string }[] {
    const signers = this.#listed.map(
      ({ receipt: { issuer, keyId } }) => [keyOf(issuer, keyId), { issuer, keyId }] as const,
    )
    return [...new Map(signers).values()]
  }

  books(): MatchedBook[] {
    const matched = new Map<string, ListedReceipt[]>()
    for (const listed of this.#listed) {
      if (listed.state !== 'matched') continue
      const key = keyOf(listed.receipt.market, String(listed.receipt.depth))
      const ofBook = matched.get(key)
      if (ofBook === undefined) matched.set(key, [listed])
      else ofBook.push(listed)
    }
    return [...matched.values()].map(matchedBook)
  }
}

/** @param listed at least one */
function matchedBook(listed: readonly ListedReceipt[]): MatchedBook {
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

function keyOf(...parts: readonly string[]): string {
  return parts.join('\n')
}
