/**
 * A recording of the simulator that the first version of the program made. It stays readable, to the last level: this
 * file and what is asserted of it never change, whatever formats come.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import { RecordedState } from '../../../src/streaming/recordings/recorded-state.ts'
import { bookText } from '../../support/market-pipeline.ts'
import { readEntries } from '../../support/recording-file.ts'

const FIXTURE = join(import.meta.dirname, 'fixtures/format-1.recording')

describe('a file of format 1', () => {
  it('a file of format 1 reads as it was recorded', async () => {
    const reader = await openRecording(FIXTURE)
    await reader.close()
    expect(reader.header).toEqual({
      writtenBy: 'tidegate 0.1.0',
      startedAtMilliseconds: Date.parse('2026-11-20T20:17:01.970Z'),
      markets: [
        {
          definition: {
            symbol: 'BTCUSD',
            baseAsset: 'BTC',
            quoteAsset: 'USD',
            priceDecimals: 2,
            amountDecimals: 8,
            depth: 1000,
          },
          sources: ['simulator'],
        },
        {
          definition: {
            symbol: 'ETHUSD',
            baseAsset: 'ETH',
            quoteAsset: 'USD',
            priceDecimals: 3,
            amountDecimals: 6,
            depth: 100,
          },
          sources: ['simulator'],
        },
      ],
    })
    expect([reader.formatVersion, reader.bytes, reader.tornBytes]).toEqual([1, 14573, 0])
    const entries = await readEntries(FIXTURE)
    const states = [new RecordedState(''), new RecordedState('')]
    const executions = [0, 0]
    for (const { market, events } of entries) {
      states[market]!.apply(events)
      for (const event of events) if (event.type === 'update') executions[market]! += event.executions.length
    }
    expect([entries.length, executions]).toEqual([44, [14, 11]])
    const digests = states.map((state) => createHash('sha256').update(bookText(state.levels())).digest('hex'))
    expect(digests).toEqual([
      '52a99aa2418ff3cf32e776643f302daa3404c2b81a2f7f653a7885c3fc04f278',
      'd0257aa47dbe68f8c28f4c5cd9573f5eaa188092c0fa99ef9e2ef966e1fe8fb6',
    ])
    expect(entries[0]!.atMilliseconds).toBe(Date.parse('2026-11-20T20:17:02.048Z'))
    expect(entries.at(-1)!.atMilliseconds).toBe(Date.parse('2026-11-20T20:17:04.332Z'))
  })
})
