/**
 * One channel's messages compared with the windows of receipts. A window opens with the message after which it begins,
 * and takes the record of each later one. Messages in windows that overlap count once. It does not know where a window
 * ends.
 */
import { createHash } from 'node:crypto'
import type { ReceiptWindow } from '../../../contract/receipt.ts'
import type { Covered, ListedReceipt } from './receipt-list.ts'

interface OpenWindow {
  readonly listed: ListedReceipt
  readonly window: ReceiptWindow
  readonly hash: ReturnType<typeof createHash>
  readonly begin: number
  /** False where the service may have sent this client other messages with the same meaning. */
  isExact: boolean
}

export type WindowResult = 'matched' | 'differs' | 'uncertain'

export class OpenWindows {
  readonly #covered: Covered
  #open: OpenWindow[] = []
  /** Messages so far, and those up to the end of the last matching window. */
  #count = 0
  #coveredCount = 0

  /** @param covered where the messages in matching windows are counted */
  constructor(covered: Covered) {
    this.#covered = covered
  }

  get count(): number {
    return this.#count
  }

  begin(listed: ListedReceipt, window: ReceiptWindow): void {
    const hash = createHash('sha256')
    this.#open.push({ listed, window, hash, begin: this.#count, isExact: true })
  }

  add(record: string): void {
    this.#count += 1
    this.#covered.total += 1
    for (const { hash } of this.#open) hash.update(record)
  }

  /** The next messages, or those so far, may not be the ones in the windows: a difference is no fault. */
  doubt(): void {
    for (const open of this.#open) open.isExact = false
  }

  /** Messages are missing. */
  clear(): void {
    this.#open = []
  }

  /** The receipts of the open windows. */
  get receipts(): readonly ListedReceipt[] {
    return this.#open.map(({ listed }) => listed)
  }

  /** Ends the windows that end after the last message. */
  end(endsHere: (listed: ListedReceipt, count: number) => boolean): [ListedReceipt, WindowResult][] {
    const ended = this.#open.filter(({ listed, begin }) => endsHere(listed, this.#count - begin))
    if (ended.length === 0) return []
    this.#open = this.#open.filter((open) => !ended.includes(open))
    return ended.map((open) => [open.listed, this.#compare(open)])
  }

  #compare({ window, hash, begin, isExact }: OpenWindow): WindowResult {
    const isSame = this.#count - begin === window.count && hash.digest('base64url') === window.sha256
    if (!isSame) return isExact ? 'differs' : 'uncertain'
    this.#covered.covered += Math.max(0, this.#count - Math.max(begin, this.#coveredCount))
    this.#coveredCount = this.#count
    return 'matched'
  }
}
