/**
 * Compares receipts with a recording of the service (docs/how-to/recordings.md): rebuilds the full book of each market commit by
 * commit, and compares the best levels with the receipts whose cursor names that version. Cursors are hashes of market,
 * depth and epoch with a version, so a receipt of another run, depth or market has another cursor. A book is never built
 * across damage: it continues with the next keyframe.
 */

import { nanosecondText } from '../../../platform/base/clock.ts'
import { formatDecimal } from '../../../platform/base/decimal.ts'
import { BID, type LevelChange, type MarketDefinition } from '../../../streaming/market/event.ts'
import type { RecordingReader } from '../../../streaming/recordings/reader.ts'
import {
  type RecordedCommit,
  type RecordedEntry,
  type RecordedMarket,
  RecordingError,
} from '../../../streaming/recordings/recording.ts'
import { Cursors } from '../../../streaming/sequencing/cursor.ts'
import { ProofBook } from '../proof-book.ts'
import type { ReceiptList } from './receipt-list.ts'

interface FollowedMarket {
  readonly definition: MarketDefinition
  /** Of every depth that a receipt of the market has. */
  readonly cursors: readonly { readonly depth: number; readonly cursors: Cursors }[]
  /** Undefined until it is known from a keyframe or a SNAPSHOT. */
  book: ProofBook | undefined
  isLive: boolean
  version: number
}

/** Compares all receipts with one recording; those of other recordings stay as they are. */
export async function proveRecording(reader: RecordingReader, receipts: ReceiptList): Promise<void> {
  const markets = reader.header.markets.map((market) => followedMarket(market, receipts))
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
      if (!(error instanceof RecordingError)) throw error
      forgetBooks(markets, receipts, error.message)
    }
  }
}

function count({ commit, events }: RecordedEntry, { messages, executions }: ReceiptList): void {
  if (commit !== undefined) messages.total += 1
  for (const event of events) if (event.type === 'update') executions.total += event.executions.length
}

function followedMarket({ definition }: RecordedMarket, receipts: ReceiptList): FollowedMarket {
  const ofMarket = receipts.all.filter(({ receipt }) => receipt.market === definition.symbol)
  const depths = new Set(ofMarket.map(({ receipt }) => receipt.depth))
  const cursors = [...depths].map((depth) => ({ depth, cursors: new Cursors(definition.symbol, 'market_data', depth) }))
  return { definition, cursors, book: undefined, isLive: false, version: 0 }
}

function forgetBooks(markets: readonly FollowedMarket[], receipts: ReceiptList, reason: string): void {
  receipts.report('recording-damaged', reason)
  for (const market of markets) market.book = undefined
}

function follow(market: FollowedMarket, entry: RecordedEntry, isKeyframe: boolean, receipts: ReceiptList): void {
  // A keyframe repeats the state that is known already.
  if (isKeyframe && market.book !== undefined) return
  for (const event of entry.events) {
    if (event.type === 'snapshot') {
      market.book = new ProofBook()
      market.isLive = true
      apply(market, market.book, event.levels)
    } else if (event.type === 'update' && market.isLive && market.book !== undefined) {
      apply(market, market.book, event.changes)
    } else if (event.type === 'lost') market.isLive = false
  }
  const { commit, origin } = entry
  if (commit === undefined) return
  // A gap in the versions is not covered by the checksums of the blocks.
  if (market.book !== undefined && !isKeyframe && market.version > 0 && commit.version > market.version + 1) {
    if (!entry.events.some(({ type }) => type === 'snapshot')) market.book = undefined
  }
  market.version = commit.version
  if (market.book !== undefined && market.isLive) compare(market, market.book, { ...commit, origin }, receipts)
}

function apply({ definition }: FollowedMarket, book: ProofBook, levels: readonly LevelChange[]): void {
  for (const { side, price, amount } of levels) {
    const text = amount === 0 ? '0' : formatDecimal(amount, definition.amountDecimals)
    book.set(side === BID ? 'bids' : 'asks', formatDecimal(price, definition.priceDecimals), text)
  }
}

function compare(
  { definition, cursors }: FollowedMarket,
  book: ProofBook,
  commit: RecordedCommit & { readonly origin: string | undefined },
  receipts: ReceiptList,
) {
  const time = nanosecondText(commit.milliseconds, commit.nanoseconds)
  let isCovered = false
  for (const { depth, cursors: ofDepth } of cursors) {
    for (const listed of receipts.of(definition.symbol, ofDepth.token({ id: commit.epoch, base: 0 }, commit.version))) {
      const { receipt } = listed
      const isSameScale =
        receipt.price_decimals === definition.priceDecimals && receipt.amount_decimals === definition.amountDecimals
      const own = book.digest(depth)
      if (!isSameScale) {
        const decimals = `${definition.priceDecimals} and ${definition.amountDecimals}`
        receipts.fail(listed, 'decimals-differ', `the recording has ${decimals}`)
      } else if (receipt.depth !== depth) receipts.fail(listed, 'depth-differs', `the cursor is of the depth ${depth}`)
      else if (own !== receipt.digest) {
        receipts.fail(listed, 'digest-differs', `the receipt has ${receipt.digest}, the recording gives ${own}`)
      } else if (receipt.time !== time) receipts.fail(listed, 'time-differs', `the commit is of ${time}`)
      else receipts.match(listed, commit.origin)
      isCovered ||= listed.state === 'matched'
    }
  }
  if (isCovered) receipts.messages.covered += 1
}

/** Reports the receipts that none of the recordings contains. */
export function endRecordings(receipts: ReceiptList): void {
  for (const listed of receipts.all) {
    if (listed.state !== 'unknown') continue
    const { market, depth } = listed.receipt
    receipts.fail(listed, 'version-not-recorded', `${market} with depth ${depth} has no such version in it`)
  }
}
