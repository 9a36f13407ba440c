/**
 * What every engine of the bus promises (the prose is in src/streaming/sequencing/bus.ts), as tests. An engine's own test
 * file calls `describeBus` with a way to open it; `settled` resolves when what was published so far has been delivered.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { Bus, Commit, MarketMessage, MarketStatus } from '../../../src/streaming/sequencing/bus.ts'

export interface BusUnderTest {
  readonly bus: Bus
  settled(): Promise<void>
  close(): Promise<void>
}

export function commitOf(market: string, version: number): Commit {
  return {
    type: 'commit',
    market,
    epoch: 'e1',
    version,
    milliseconds: 1_767_225_600_000 + version,
    nanoseconds: 999_999,
    receivedMilliseconds: 1_767_225_600_000.25,
    changes: [{ side: 0, price: 100, amount: 2n ** 70n }],
    executions: [{ price: 1, amount: 5, executedAtMilliseconds: 1_767_225_599_999 }],
    executionNumber: version,
  }
}

export function describeBus(name: string, open: () => Promise<BusUnderTest>): void {
  describe(name, () => {
    const opened: BusUnderTest[] = []

    async function opening(): Promise<BusUnderTest> {
      const engine = await open()
      opened.push(engine)
      return engine
    }

    afterEach(async () => {
      for (const engine of opened.splice(0)) await engine.close()
    })

    test('a bus delivers every message of a market, whole and in the order of publishing', async () => {
      const { bus, settled } = await opening()
      const received: MarketMessage[] = []
      bus.subscribe('AAAUSD', (message) => received.push(message))
      const status: MarketStatus = { type: 'status', market: 'AAAUSD', epoch: 'e1', version: 1, live: true, reason: '' }
      const sent = [commitOf('AAAUSD', 1), status, commitOf('AAAUSD', 2), commitOf('AAAUSD', 3)]
      for (const message of sent) bus.publish(message)
      await settled()
      expect(received).toEqual(sent)
    })

    test('a bus keeps markets apart', async () => {
      const { bus, settled } = await opening()
      const received: MarketMessage[] = []
      bus.subscribe('BBBUSD', (message) => received.push(message))
      bus.publish(commitOf('AAAUSD', 1))
      bus.publish(commitOf('BBBUSD', 7))
      await settled()
      expect(received).toEqual([commitOf('BBBUSD', 7)])
    })

    test('a bus gives every listener every message, from its addition to its removal', async () => {
      const { bus, settled } = await opening()
      const versions: [number[], number[]] = [[], []]
      const listen = (index: 0 | 1) =>
        bus.subscribe('AAAUSD', (message) => void versions[index].push((message as Commit).version))
      const endFirst = listen(0)
      bus.publish(commitOf('AAAUSD', 1))
      await settled()
      const endSecond = listen(1)
      bus.publish(commitOf('AAAUSD', 2))
      await settled()
      endFirst()
      endFirst()
      bus.publish(commitOf('AAAUSD', 3))
      await settled()
      endSecond()
      bus.publish(commitOf('AAAUSD', 4))
      await settled()
      expect(versions).toEqual([
        [1, 2],
        [2, 3],
      ])
    })

    test('a bus needs no listener', async () => {
      const { bus, settled } = await opening()
      bus.publish(commitOf('AAAUSD', 1))
      await settled()
    })

    test('a bus delivers a request for a commit to the sequencer of that market, and reports when there is none', async () => {
      const { bus, settled } = await opening()
      const asked: string[] = []
      expect(bus.requestCommit('AAAUSD')).toBe(false)
      const endA = bus.serve('AAAUSD', () => void asked.push('A'))
      bus.serve('BBBUSD', () => void asked.push('B'))
      expect(bus.requestCommit('AAAUSD')).toBe(true)
      await settled()
      expect(asked).toEqual(['A'])
      endA()
      expect(bus.requestCommit('AAAUSD')).toBe(false)
      expect(bus.requestCommit('BBBUSD')).toBe(true)
      await settled()
      expect(asked).toEqual(['A', 'B'])
    })

    test('a writer that leaves a bus after its successor came removes nothing of the successor', async () => {
      const { bus, settled } = await opening()
      const asked: string[] = []
      const endOld = bus.serve('AAAUSD', () => void asked.push('old'))
      bus.serve('AAAUSD', () => void asked.push('new'))
      endOld()
      expect(bus.requestCommit('AAAUSD')).toBe(true)
      await settled()
      expect(asked).toEqual(['new'])
    })
  })
}
