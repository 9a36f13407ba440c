import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Scaled } from '../../../src/platform/base/decimal.ts'
import { ASK, BID, type Side } from '../../../src/streaming/market/event.ts'
import { Journal } from '../../../src/streaming/market/journal.ts'
import { propertySettings } from '../../support/property.ts'

type Entry = readonly [side: Side, price: number, before: Scaled]

/** What the journal knows of a version, bids first, each side by price. */
function since(journal: Journal, version: number): Entry[] | 'too-old' {
  const amounts = journal.amountsAt(version)
  if (amounts === 'too-old') return amounts
  return sorted(([BID, ASK] as const).flatMap((side) => [...amounts[side]].map((level) => [side, ...level] as const)))
}

function sorted(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((left, right) => left[0] - right[0] || left[1] - right[1])
}

describe('a journal', () => {
  test('a journal answers from every version whose later entries it holds, and from no other', () => {
    const entry = fc.tuple(
      fc.constantFrom<Side>(BID, ASK),
      fc.constantFrom(1, 2, 3, Number.MAX_SAFE_INTEGER),
      fc.constantFrom<Scaled>(0, 1, 2, 2n ** 53n),
    )
    const versions = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.array(entry, { maxLength: 6 })), {
      maxLength: 30,
      size: 'max',
    })
    const property = fc.property(fc.constantFrom(1, 4, 8, 16), versions, (capacity, steps) => {
      const journal = new Journal(capacity)
      const written: { version: number; entry: Entry }[] = []
      let version = 0
      for (const [distance, entries] of steps) {
        version += distance
        journal.advance(version, 0)
        for (const [side, price, before] of entries) {
          journal.record(side, price, before)
          written.push({ version, entry: [side, price, before] })
        }
        for (let from = 0; from <= version; from++) {
          const later = written.filter((one) => one.version > from).map((one) => one.entry)
          const firsts = later.filter(
            ([side, price], index) => later.findIndex((one) => one[0] === side && one[1] === price) === index,
          )
          expect(since(journal, from)).toEqual(later.length > capacity ? 'too-old' : sorted(firsts))
        }
      }
    })
    fc.assert(property, propertySettings(100))
  })

  test('a journal drops a version whole when only its first entry has fallen out', () => {
    const journal = new Journal(4)
    journal.advance(1, 0)
    for (let price = 1; price <= 3; price++) journal.record(BID, price, 10)
    journal.advance(2, 0)
    journal.record(ASK, 9, 20)
    expect(since(journal, 0)).toHaveLength(4)
    journal.advance(3, 0)
    journal.record(ASK, 9, 21)
    expect(since(journal, 0)).toBe('too-old')
    expect(since(journal, 1)).toEqual([[ASK, 9, 20]])
    expect(since(journal, 2)).toEqual([[ASK, 9, 21]])
    expect(since(journal, 3)).toEqual([])
  })

  test('a journal grows without losing what it holds, also when the ring has wrapped', () => {
    const journal = new Journal(4)
    for (let version = 1; version <= 6; version++) {
      journal.advance(version, 4)
      journal.record(BID, version, version * 10)
    }
    journal.advance(7, 9)
    expect(since(journal, 1)).toBe('too-old')
    for (let price = 101; price <= 112; price++) journal.record(ASK, price, 1)
    expect(since(journal, 1)).toBe('too-old')
    expect(since(journal, 2)).toHaveLength(16)
    journal.record(ASK, 113, 1)
    expect(since(journal, 2)).toBe('too-old')
    expect(since(journal, 3)).toHaveLength(16)
  })

  test('a journal stands at the version it is reset to and knows nothing older', () => {
    const journal = new Journal(4)
    journal.advance(5, 0)
    journal.record(BID, 1, 1)
    journal.reset(3)
    expect(journal.version).toBe(3)
    expect(since(journal, 3)).toEqual([])
    expect(since(journal, 2)).toBe('too-old')
    journal.advance(4, 0)
    journal.record(BID, 2, 0)
    expect(since(journal, 3)).toEqual([[BID, 2, 0]])
  })

  test('a journal crashes on a version to come and on one that does not rise', () => {
    const journal = new Journal(4)
    journal.advance(2, 0)
    expect(() => since(journal, 3)).toThrow('a version later than the current one')
    expect(() => journal.advance(2, 0)).toThrow('only moves to a later version')
  })
})
