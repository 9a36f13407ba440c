/** The end of the writing, in a process that other ones can replace. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Streaming, stopWriting } from '../../../../src/service/parts/streaming/streaming.ts'

it('the markets are handed over after their last candles, and before a slow source has ended', async () => {
  const calls: string[] = []
  let endSource = (): void => undefined
  const stopped = stopWriting({
    markets: {
      writers: {
        stop() {
          calls.push('sequencers')
          return new Promise<void>((resolve) => {
            endSource = resolve
          })
        },
      },
    },
    candles: { stopWriting: async () => void calls.push('candles') },
    leadership: { stop: async () => void calls.push('leases') },
  } as unknown as Streaming).then(() => calls.push('sources'))
  await nextTurn()
  expect(calls).toEqual(['sequencers', 'candles', 'leases'])
  endSource()
  await stopped
  expect(calls.at(-1)).toBe('sources')
})
