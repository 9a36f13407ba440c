/** One view's receipts: which book gets which, how many are signed, and for how long they are kept. */
import { expect, test } from 'vitest'
import { ReceiptSigner } from '../../../src/streaming/sequencing/receipt-signer.ts'
import { ViewReceipts } from '../../../src/streaming/sequencing/view-receipts.ts'
import { newReceiptIssuer, partsOf } from '../../support/receipts.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Commit times that a view keeps. */
const TIMES_KEPT = 1_024

function start() {
  const clock = new VirtualClock()
  const issuer = newReceiptIssuer()
  const counts = { signed: 0 }
  const onSigned = () => {
    counts.signed += 1
  }
  const signer = new ReceiptSigner({ clock, current: () => issuer, onSigned })
  const receipts = new ViewReceipts(signer, testMarket('AAAUSD', 5), 5)
  return {
    clock,
    counts,
    note(version: number) {
      receipts.note(version, { milliseconds: version, nanoseconds: 7 })
    },
    /** The version whose receipt a book with this version gets. */
    ask(changeVersion: number): number | undefined {
      const receipt = receipts.receiptOf({
        changeVersion,
        cursor: `c.${changeVersion}`,
        digest: 'd',
        origin: undefined,
      })
      if (receipt === undefined) return undefined
      const { cursor, time } = partsOf(receipt).payload as { cursor: string; time: string }
      const version = Number(cursor.split('.')[1])
      expect(Date.parse(time)).toBe(version)
      expect(time.slice(-7)).toBe('000007Z')
      return version
    },
  }
}

test('a book gets the latest receipt no later than itself, with its own commit time', () => {
  const { clock, counts, note, ask } = start()
  note(1)
  note(2)
  expect(ask(1)).toBe(1)
  expect(ask(2)).toBe(1)
  clock.advance(1_000)
  expect(ask(2)).toBe(2)
  expect(ask(1)).toBe(1)
  expect(ask(0)).toBeUndefined()
  clock.advance(1_000)
  expect([ask(2), ask(1)]).toEqual([2, 1])
  expect(counts.signed).toBe(2)
})

test('the last four receipts are kept', () => {
  const { clock, counts, note, ask } = start()
  for (let version = 1; version <= 5; version++) {
    note(version)
    expect(ask(version)).toBe(version)
    clock.advance(1_000)
  }
  expect([5, 4, 3, 2, 1].map(ask)).toEqual([5, 4, 3, 2, undefined])
  expect(counts.signed).toBe(5)
})

test('a version without a kept commit time gets no receipt', () => {
  const { counts, note, ask } = start()
  for (let version = 1; version <= TIMES_KEPT + 1; version++) note(version)
  expect([ask(1), ask(TIMES_KEPT + 2)]).toEqual([undefined, undefined])
  expect(counts.signed).toBe(0)
  expect(ask(2)).toBe(2)
})
