import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ASK,
  type Attribution,
  BID,
  type LevelVenues,
  type Side,
  type VenueShare,
} from '../../../src/streaming/market/event.ts'
import { LevelShares, MergedAttribution } from '../../../src/streaming/market/venues.ts'
import { propertySettings } from '../../support/property.ts'

const SIDES = [BID, ASK] as const
const PRICES = [1, 2, 3, 4]

const shares = fc
  .record({ one: fc.nat(2), two: fc.nat(2) })
  .map((parts) => Object.entries(parts).filter(([, amount]) => amount > 0) as unknown as VenueShare[])
const levels = fc.uniqueArray(
  fc.record({ side: fc.constantFrom<Side>(...SIDES), price: fc.constantFrom(...PRICES), venues: shares }),
  { selector: ({ side, price }) => `${side} ${price}`, maxLength: 6 },
)
const attribution: fc.Arbitrary<Attribution> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ type: fc.constant('only' as const), venue: fc.constantFrom('one', 'two') }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constantFrom('all' as const, 'some' as const, 'some' as const), levels }),
  },
)

/** What is known of every level, whose amount is 9. */
function all(known: LevelShares): LevelVenues[] {
  return SIDES.flatMap((side) => PRICES.map((price) => ({ side, price, venues: known.of(side, price, 9) })))
}

/** The same, from the words of the type alone. */
class NaiveShares {
  #only: string | undefined
  #levels: LevelVenues[] = []

  follow(report: Attribution): void {
    this.#only = report.type === 'only' ? report.venue : undefined
    if (report.type !== 'some') this.#levels = []
    if (report.type !== 'only') this.#levels = [...report.levels, ...this.#levels]
  }

  all(): LevelVenues[] {
    return SIDES.flatMap((side) =>
      PRICES.map((price) => {
        const known = this.#levels.find((level) => level.side === side && level.price === price)?.venues ?? []
        return { side, price, venues: this.#only === undefined ? known : [[this.#only, 9]] }
      }),
    )
  }
}

describe('the shares of levels', () => {
  test('level shares are those of the reports, which contain only changes', () => {
    fc.assert(
      fc.property(fc.array(attribution, { maxLength: 12 }), (reports) => {
        const known = new LevelShares()
        const naive = new NaiveShares()
        for (const report of reports) {
          const before = all(known)
          const changed = known.follow(report)
          naive.follow(report)
          const after = all(known)
          expect(after).toEqual(naive.all())
          if (changed === 'every') continue
          const differing = after.filter((level, index) => !sameVenues(level, before[index]!))
          const key = ({ side, price }: Pick<LevelVenues, 'side' | 'price'>) => `${side} ${price}`
          expect(changed.map(key).sort()).toEqual(differing.map(key).sort())
        }
      }),
      propertySettings(300),
    )
  })

  test('level shares are known as a whole to a follower that begins now', () => {
    fc.assert(
      fc.property(fc.array(attribution, { maxLength: 6 }), (reports) => {
        const known = new LevelShares()
        for (const report of reports) known.follow(report)
        const later = new LevelShares()
        const whole = known.whole()
        if (whole !== undefined) later.follow(whole)
        expect(all(later)).toEqual(all(known))
      }),
      propertySettings(100),
    )
  })
})

describe('a merged report', () => {
  test('a merged report leads to the same shares as the reports one after the other', () => {
    fc.assert(
      // A market with one venue reports no single levels before a snapshot.
      fc.property(
        fc.array(attribution, { maxLength: 8 }),
        fc.array(attribution, { maxLength: 4 }),
        (earlier, reports) => {
          const sent = reports.filter(({ type }, index) => {
            const whole = reports.slice(0, index).findLast((report) => report.type !== 'some')
            return type !== 'some' || whole?.type !== 'only'
          })
          const [apart, joined] = [new LevelShares(), new LevelShares()]
          const merged = new MergedAttribution()
          for (const report of earlier) for (const known of [apart, joined]) known.follow(report)
          for (const report of sent) {
            apart.follow(report)
            merged.add(report)
          }
          const report = merged.take()
          expect(report === undefined).toBe(sent.length === 0)
          if (report !== undefined) joined.follow(report)
          expect(all(joined)).toEqual(all(apart))
          expect(merged.take()).toBeUndefined()
        },
      ),
      propertySettings(300),
    )
  })
})

function sameVenues(left: LevelVenues, right: LevelVenues): boolean {
  return JSON.stringify(left.venues) === JSON.stringify(right.venues)
}
