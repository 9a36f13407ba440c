/** Random recordings for tests, in a temporary folder per test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { LevelChange, MarketEvent } from '../../src/streaming/market/event.ts'
import { openRecording } from '../../src/streaming/recordings/reader.ts'
import type {
  EntryFacts,
  RecordedEntry,
  RecordedMarket,
  RecordingHeader,
} from '../../src/streaming/recordings/recording.ts'
import { openRecordingWriter } from '../../src/streaming/recordings/writer.ts'
import { VirtualClock } from './virtual-clock.ts'

export const RECORDING_START = Date.UTC(2026, 5, 1)

export function recordedMarket(base: string, priceDecimals = 2, amountDecimals = 8): RecordedMarket {
  const definition = {
    symbol: `${base}USD`,
    baseAsset: base,
    quoteAsset: 'USD',
    priceDecimals,
    amountDecimals,
    depth: 1000,
  }
  return { definition, sources: ['simulator'] }
}

export const HEADER: RecordingHeader = {
  writtenBy: 'tidegate 0.0.0',
  startedAtMilliseconds: RECORDING_START,
  markets: [recordedMarket('BTC'), recordedMarket('ETH', 4)],
}

/** A temporary folder for one test file, with a new name for each file in it. */
export function recordingFolder(): { next(): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-recording-'))
  let files = 0
  return {
    next: () => join(folder, `${files++}.recording`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Entries written together into one block, or a keyframe. */
export interface WrittenBlock {
  readonly isKeyframe?: boolean
  readonly entries: readonly RecordedEntry[]
}

export async function writeRecording(
  path: string,
  blocks: readonly WrittenBlock[],
  header: RecordingHeader = HEADER,
): Promise<void> {
  const clock = new VirtualClock(RECORDING_START)
  const onFailure = (error: Error): never => {
    throw error
  }
  const writer = await openRecordingWriter({ path, header, overwrites: true, clock, onFailure })
  for (const { isKeyframe, entries } of blocks) {
    const [first] = entries
    if (isKeyframe === true && first !== undefined) {
      const states = entries.map(({ market, events, ...facts }) => [market, events, facts] as const)
      Array.from(writer.keyframe(first.atMilliseconds, states))
    } else {
      for (const { market, atMilliseconds, events, ...facts } of entries) {
        writer.write(market, atMilliseconds, events, facts)
      }
    }
    clock.advance(1_000)
  }
  await writer.close()
}

/** Every entry other than keyframes, up to the first damage. */
export async function readEntries(path: string): Promise<RecordedEntry[]> {
  const reader = await openRecording(path)
  try {
    const entries: RecordedEntry[] = []
    for (const block of reader.blocks) {
      if (block.kind === 'entries') entries.push(...(await reader.readBlock(block)))
    }
    return entries
  } finally {
    await reader.close()
  }
}

const amount = fc.oneof(
  fc.nat(),
  fc.maxSafeNat(),
  fc.bigInt({ min: BigInt(Number.MAX_SAFE_INTEGER) + 1n, max: 10n ** 40n }),
)
const price = fc.oneof(fc.nat(), fc.maxSafeNat())
const levels = (side: 0 | 1): fc.Arbitrary<LevelChange[]> =>
  fc.array(fc.record({ side: fc.constant(side), price, amount }), { maxLength: 6 })
const bothSides = fc.tuple(levels(0), levels(1)).map(([bids, asks]) => [...bids, ...asks])
const execution = fc.record(
  {
    price,
    amount,
    executedAtMilliseconds: fc.maxSafeNat(),
    id: fc.string({ unit: 'binary', maxLength: 20 }),
    side: fc.constantFrom('buy' as const, 'sell' as const),
  },
  { requiredKeys: ['price', 'amount'] },
)
const reason = fc.string({ unit: 'binary', maxLength: 30 })

/** Any event. Bids come first among a book's changes, because recordings store each side separately. */
export const anyEvent: fc.Arbitrary<MarketEvent> = fc.oneof(
  fc.record({ type: fc.constant('snapshot' as const), levels: bothSides }),
  fc.record({
    type: fc.constant('update' as const),
    changes: bothSides,
    executions: fc.array(execution, { maxLength: 3 }),
  }),
  fc.record({ type: fc.constant('lost' as const), reason }),
  fc.record({ type: fc.constant('missed' as const), reason }),
)

const commit = fc.record({
  epoch: fc.constantFrom('one', 'two'),
  version: fc.nat(),
  milliseconds: fc.integer({ min: RECORDING_START - 10_000, max: RECORDING_START + 10_000 }),
  nanoseconds: fc.nat(999_999),
})
const anyFacts: fc.Arbitrary<EntryFacts> = fc.record(
  { commit, withdrawn: fc.constant(true as const), lostSinceMilliseconds: fc.maxSafeNat() },
  { requiredKeys: [] },
)

/** Entries for the two markets in `HEADER`, ordered by time. */
export const anyEntries: fc.Arbitrary<RecordedEntry[]> = fc
  .array(fc.tuple(fc.nat(1), fc.nat(5_000), fc.array(anyEvent, { minLength: 1, maxLength: 3 }), anyFacts), {
    maxLength: 12,
  })
  .map((steps) => {
    let atMilliseconds = RECORDING_START
    return steps.map(([market, wait, events, facts]) => {
      atMilliseconds += wait
      return { market, atMilliseconds, events, ...facts }
    })
  })
