/**
 * Compares receipts with a service's recording (docs/how-to/recordings.md): rebuilds each market's full book commit by
 * commit, and compares the best levels with the receipts whose cursor names this version. A lost book is empty after the
 * commit that withdraws it. Cursors are hashes of market, depth, attribution and epoch with a version, so receipts from
 * another run, view or market have other cursors. The recording's reader and its cursors are passed in. A book is never
 * built across damage: it continues with the next keyframe.
 * Windows are not compared: a recording does not contain the UPDATEs and the executions' cursors.
 */
import { nanosecondText } from '../../../platform/base/clock.ts'
import { formatDecimal } from '../../../platform/base/decimal.ts'
import { NaiveBook } from '../naive-book.ts'
import { hashedBook } from './hashed-book.ts'
import type { ReceiptList } from './receipt-list.ts'

interface Market {
  readonly symbol: string
  readonly priceDecimals: number
  readonly amountDecimals: number
}

/** Integers in the market's decimals. Amount 0 = removed. */
interface Level {
  /** 0 is bid. */
  readonly side: 0 | 1
  readonly price: number | bigint
  readonly amount: number | bigint
}

/** The first two change a book. */
type BookEvent =
  | { readonly type: 'snapshot'; readonly levels: readonly Level[] }
  | { readonly type: 'update'; readonly changes: readonly Level[]; readonly executions: readonly unknown[] }
  | { readonly type: 'lost' | 'missed' | 'instrument' }

interface Commit {
  readonly version: number
  readonly epoch: string
  readonly milliseconds: number
  readonly nanoseconds: number
}

interface Entry {
  /** Index in the recording's markets. */
  readonly market: number
  readonly events: readonly BookEvent[]
  readonly commit?: Commit | undefined
  /** The commit withdrew the book. In a keyframe: it is still withdrawn. */
  readonly withdrawn?: true | undefined
  readonly origin?: string | undefined
}

interface Block {
  readonly kind: string
  readonly offset: number
  readonly isContinuous: boolean
}

/** A recording, as the service's reader opens it. */
export interface Recording<Part extends Block> {
  readonly header: { readonly markets: readonly { readonly definition: Market }[] }
  readonly blocks: readonly Part[]
  readBlock(block: Part): Promise<readonly Entry[]>
}

export interface RecordingFormat {
  /** Whether the error reports damage in the recording. */
  isDamage(error: unknown): error is Error
  /** The service's cursors for a market at a depth: for the view without venues, and for the one with them. */
  cursorsOf(market: string, depth: number): readonly CursorOf[]
}

type CursorOf = (epoch: string, version: number) => string

interface FollowedMarket {
  readonly definition: Market
  /** For every depth in the market's receipts. */
  readonly cursors: readonly { readonly depth: number; readonly cursorOf: CursorOf }[]
  /** Undefined until it is known from a keyframe or a SNAPSHOT. */
  book: NaiveBook | undefined
  isLive: boolean
  version: number
}

/** Compares all receipts with one recording. Receipts for other recordings stay as they are. */
export async function proveRecording<Part extends Block>(
  reader: Recording<Part>,
  format: RecordingFormat,
  receipts: ReceiptList,
): Promise<void> {
  const markets = reader.header.markets.map(({ definition }) => followedMarket(definition, format, receipts))
  for (const block of reader.blocks) {
    if (!block.isContinuous) forgetBooks(markets, receipts, `entries are missing before byte ${block.offset}`)
    try {
      for (const entry of await reader.readBlock(block)) {
        const followed = markets[entry.market]
        if (block.kind === 'entries') count(entry, receipts)
        if (followed !== undefined && followed.cursors.length > 0) {
          follow(followed, entry, block.kind !== 'entries', receipts)
        }
      }
    } catch (error) {
      if (!format.isDamage(error)) throw error
      forgetBooks(markets, receipts, error.message)
    }
  }
}

function count({ commit, events }: Entry, { updates, executions }: ReceiptList): void {
  if (commit !== undefined) updates.total += 1
  for (const event of events) if (event.type === 'update') executions.total += event.executions.length
}

function followedMarket(definition: Market, { cursorsOf }: RecordingFormat, receipts: ReceiptList): FollowedMarket {
  const { symbol } = definition
  const ofMarket = receipts.all.filter(({ receipt }) => receipt.market === symbol)
  const depths = new Set(ofMarket.map(({ receipt }) => receipt.depth))
  const cursors = [...depths].flatMap((depth) => cursorsOf(symbol, depth).map((cursorOf) => ({ depth, cursorOf })))
  return { definition, cursors, book: undefined, isLive: false, version: 0 }
}

function forgetBooks(markets: readonly FollowedMarket[], receipts: ReceiptList, reason: string): void {
  receipts.report('recording-damaged', reason)
  for (const market of markets) market.book = undefined
}

function follow(market: FollowedMarket, entry: Entry, isKeyframe: boolean, receipts: ReceiptList): void {
  // A keyframe repeats the known state.
  if (isKeyframe && market.book !== undefined) return
  for (const event of entry.events) {
    if (event.type === 'snapshot') {
      market.book = new NaiveBook()
      market.isLive = true
      apply(market, market.book, event.levels)
    } else if (event.type === 'update' && market.isLive && market.book !== undefined) {
      apply(market, market.book, event.changes)
    } else if (event.type === 'lost') market.isLive = false
  }
  const { commit, withdrawn: isWithdrawn = false, origin } = entry
  if (commit === undefined) return
  // The blocks' checksums do not cover a gap in the versions.
  if (market.book !== undefined && !isKeyframe && market.version > 0 && commit.version > market.version + 1) {
    if (!entry.events.some(({ type }) => type === 'snapshot')) market.book = undefined
  }
  market.version = commit.version
  if (isWithdrawn) market.book = new NaiveBook()
  if (market.book !== undefined && (market.isLive || isWithdrawn))
    compare(market, market.book, { ...commit, origin }, receipts)
}

function apply({ definition }: FollowedMarket, book: NaiveBook, levels: readonly Level[]): void {
  for (const { side, price, amount } of levels) {
    const text = amount === 0 ? '0' : formatDecimal(amount, definition.amountDecimals)
    book.set(side === 0 ? 'bids' : 'asks', formatDecimal(price, definition.priceDecimals), text)
  }
}

function compare(
  { definition, cursors }: FollowedMarket,
  book: NaiveBook,
  commit: Commit & { readonly origin: string | undefined },
  receipts: ReceiptList,
) {
  const time = nanosecondText(commit.milliseconds, commit.nanoseconds)
  for (const { depth, cursorOf } of cursors) {
    for (const listed of receipts.of(definition.symbol, cursorOf(commit.epoch, commit.version))) {
      const { receipt } = listed
      const isSameScale =
        receipt.price_decimals === definition.priceDecimals && receipt.amount_decimals === definition.amountDecimals
      const own = hashedBook(book, depth).sha256
      if (!isSameScale) {
        const decimals = `${definition.priceDecimals} and ${definition.amountDecimals}`
        receipts.fail(listed, 'decimals-differ', `the recording has ${decimals}`)
      } else if (receipt.depth !== depth) receipts.fail(listed, 'depth-differs', `the cursor has the depth ${depth}`)
      else if (own !== receipt.book) {
        receipts.fail(listed, 'book-differs', `the receipt has ${receipt.book}, the recording gives ${own}`)
      } else if (receipt.time !== time) receipts.fail(listed, 'time-differs', `the commit is of ${time}`)
      else receipts.match(listed, commit.origin)
    }
  }
}

/** Reports the receipts which no recording contains. */
export function endRecordings(receipts: ReceiptList): void {
  for (const listed of receipts.all) {
    if (listed.state !== 'unknown') continue
    const { market, depth } = listed.receipt
    receipts.fail(listed, 'version-not-recorded', `${market} with depth ${depth} has no such version in it`)
  }
}
