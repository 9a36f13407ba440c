/**
 * The receipts that are to be proven and what became of each: proven, unmatched (valid, and of a version that the
 * messages do not contain one by one), or failed. Identical receipts count once. It is bounded.
 */
import { RECEIPT_FAULTS, type ReceiptFault } from './receipt-faults.ts'
import { type Receipt, type ReceiptKeys, readReceipt } from './receipt-proof.ts'

/** Receipts of one call, about 1 KB each: three books for a day, at one per second. */
const RECEIPTS_MAX = 300_000
const EXAMPLES_KEPT = 5

/** A receipt with a valid signature. */
export interface ListedReceipt {
  readonly receipt: Receipt
  /** `unmatched`: the messages around its time are conflated. */
  state: 'unknown' | 'proven' | 'unmatched' | 'failed'
}

export interface Finding {
  readonly name: ReceiptFault
  readonly rule: string
  count: number
  readonly examples: string[]
}

/** The proven receipts of one book. */
export interface ProvenBook {
  readonly market: string
  readonly depth: number
  readonly proven: number
  /** Commit times of the first and the last one. */
  readonly first: string
  readonly last: string
}

export class ReceiptList {
  readonly #keys: ReceiptKeys
  readonly #texts = new Set<string>()
  readonly #listed: ListedReceipt[] = []
  readonly #findings = new Map<ReceiptFault, Finding>()
  #byCursor: Map<string, ListedReceipt[]> | undefined

  constructor(keys: ReceiptKeys) {
    this.#keys = keys
  }

  /** `market`: that of the entry which contained the receipt, where it is known. */
  add(text: string, market?: string): void {
    if (this.#texts.has(text)) return
    if (this.#texts.size >= RECEIPTS_MAX) throw new Error(`there are more than ${RECEIPTS_MAX} receipts: prove parts`)
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

  /** The receipts of a market that name a cursor. */
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

  /** Notes that a receipt agrees with a book, unless it differed from another one before. */
  prove(listed: ListedReceipt): void {
    if (listed.state !== 'failed') listed.state = 'proven'
  }

  fail(listed: ListedReceipt, fault: ReceiptFault, detail: string): void {
    if (listed.state === 'failed') return
    listed.state = 'failed'
    const { market, time, cursor } = listed.receipt
    this.report(fault, `${market} at ${time} (${cursor}): ${detail}`)
  }

  report(name: ReceiptFault, detail: string): void {
    const finding = this.#findings.get(name) ?? { name, rule: RECEIPT_FAULTS[name], count: 0, examples: [] }
    this.#findings.set(name, finding)
    finding.count += 1
    if (finding.examples.length < EXAMPLES_KEPT) finding.examples.push(detail)
  }

  get findings(): readonly Finding[] {
    return [...this.#findings.values()]
  }

  countOf(state: ListedReceipt['state']): number {
    return this.#listed.filter((listed) => listed.state === state).length
  }

  /** Issuers and keys of the receipts with a valid signature. */
  signers(): readonly { readonly issuer: string; readonly keyId: string }[] {
    const signers = this.#listed.map(
      ({ receipt: { issuer, keyId } }) => [keyOf(issuer, keyId), { issuer, keyId }] as const,
    )
    return [...new Map(signers).values()]
  }

  books(): ProvenBook[] {
    const times = new Map<string, { market: string; depth: number; times: string[] }>()
    for (const { receipt, state } of this.#listed) {
      if (state !== 'proven') continue
      const { market, depth, time } = receipt
      const key = keyOf(market, String(depth))
      const book = times.get(key) ?? { market, depth, times: [] }
      times.set(key, book)
      book.times.push(time)
    }
    return [...times.values()].map(({ market, depth, times: proven }) => {
      const sorted = proven.sort()
      return { market, depth, proven: sorted.length, first: sorted[0] as string, last: sorted.at(-1) as string }
    })
  }
}

function keyOf(...parts: readonly string[]): string {
  return parts.join('\n')
}
