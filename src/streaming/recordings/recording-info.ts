/**
 * Describes a recording: header, times, each market's entries, and damage. It reads every block, so it finds all
 * damage. The member names are the same as in `tidegate replay FILE --info --json`.
 */
import { openRecording, type RecordedBlock, type RecordingReader } from './reader.ts'

export interface RecordingInfo {
  readonly file: string
  readonly format: number
  readonly written_by: string
  readonly started_at: string
  /** When the first and the last entry were recorded, and the time between. */
  readonly first_at: string
  readonly last_at: string
  readonly seconds: number
  readonly bytes: number
  readonly entries: number
  readonly keyframes: number
  /** Bytes after the last complete block, as a crash can leave them. */
  readonly torn_bytes: number
  /** Damage before it, with its position. */
  readonly damage: readonly string[]
  readonly recorded: readonly {
    readonly market: string
    readonly sources: readonly string[]
    readonly entries: number
    readonly executions: number
    readonly losses: number
  }[]
  /** The configuration to replay the file. */
  readonly markets: readonly MarketEntry[]
}

/** A market in a configuration file. */
interface MarketEntry {
  readonly symbol: string
  readonly base_asset: string
  readonly quote_asset: string
  readonly price_decimals: number
  readonly amount_decimals: number
  readonly depth: number
  readonly sources: readonly string[]
}

interface Counts {
  entries: number
  executions: number
  losses: number
}

/** The setting `markets` with a recording's markets, each with the recording as its source. */
export function marketsOf({ header, path }: RecordingReader): MarketEntry[] {
  return header.markets.map(({ definition }) => ({
    symbol: definition.symbol,
    base_asset: definition.baseAsset,
    quote_asset: definition.quoteAsset,
    price_decimals: definition.priceDecimals,
    amount_decimals: definition.amountDecimals,
    depth: definition.depth,
    sources: [`replay:${path}`],
  }))
}

export async function readRecordingInfo(file: string): Promise<RecordingInfo> {
  const reader = await openRecording(file)
  try {
    const damage: string[] = []
    const counts = reader.header.markets.map(() => ({ entries: 0, executions: 0, losses: 0 }))
    for (const block of reader.blocks) await countBlock(reader, block, counts, damage)
    const { header, firstMilliseconds, lastMilliseconds } = reader
    return {
      file,
      format: reader.formatVersion,
      written_by: header.writtenBy,
      started_at: timeText(header.startedAtMilliseconds),
      first_at: timeText(firstMilliseconds),
      last_at: timeText(lastMilliseconds),
      seconds: (lastMilliseconds - firstMilliseconds) / 1_000,
      bytes: reader.bytes,
      entries: counts.reduce((sum, { entries }) => sum + entries, 0),
      keyframes: reader.blocks.filter(({ kind }) => kind === 'keyframe').length,
      torn_bytes: reader.tornBytes,
      damage,
      recorded: header.markets.map(({ definition, sources }, index) => {
        const { entries, executions, losses } = counts[index] as Counts
        return { market: definition.symbol, sources, entries, executions, losses }
      }),
      markets: marketsOf(reader),
    }
  } finally {
    await reader.close()
  }
}

async function countBlock(
  reader: RecordingReader,
  block: RecordedBlock,
  counts: readonly Counts[],
  damage: string[],
): Promise<void> {
  if (!block.isContinuous) damage.push(`entries are missing before byte ${block.offset}`)
  try {
    const entries = await reader.readBlock(block)
    if (block.kind !== 'entries') return
    for (const { market, events } of entries) {
      const count = counts[market] as Counts
      count.entries += 1
      for (const event of events) {
        if (event.type === 'update') count.executions += event.executions.length
        if (event.type === 'lost') count.losses += 1
      }
    }
  } catch (error) {
    damage.push((error as Error).message)
  }
}

function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
