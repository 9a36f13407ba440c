/**
 * The parts shared by the synthetic recordings: a seeded simulation of a book whose best levels an exchange shows, and
 * a capture's text. No code from the connectors under test is used.
 */
import { ASK, BID, type MarketEvent } from '../../src/streaming/market/event.ts'
import { MarketNoise } from './market-noise.ts'
import type { Random } from './random.ts'

/** Price to amount on one side, in units. Best first when listed. */
type Side = ReadonlyMap<number, number>
export type Level = readonly [price: number, amount: number]

/** One step's changes to the shown levels: amount 0 for a removed one. */
export interface Step {
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
}

/** The default start: 2023-11-14T22:13:20Z, in milliseconds since the epoch. */
export const BEGIN = 1_700_000_000_000

/** A simulated book whose best levels an exchange shows. */
export class MadeBook {
  readonly #noise: MarketNoise
  readonly #shown: number
  readonly #scale: number
  readonly #full: [Map<number, number>, Map<number, number>] = [new Map(), new Map()]
  #view: readonly [readonly Level[], readonly Level[]] = [[], []]

  /** @param scale for amounts, so that they have decimals */
  constructor(random: Random, levels: number, shown: number, scale: number) {
    this.#noise = new MarketNoise(random, { levels, changesMax: 5 })
    this.#shown = shown
    this.#scale = scale
    this.#take(this.#noise.snapshot())
    this.#view = this.#best()
  }

  get levels(): Step {
    return { bids: this.#view[BID], asks: this.#view[ASK] }
  }

  /**
   * The next step that changes the shown levels. @param saysFallen whether levels that left the shown depth are listed
   */
  step(saysFallen: boolean): Step {
    for (;;) {
      this.#take(this.#noise.update())
      const before = this.#view
      this.#view = this.#best()
      const [bids, asks] = ([BID, ASK] as const).map((side) => {
        const [old, now] = [new Map(before[side]), new Map(this.#view[side])]
        const gone = [...old.keys()].filter((price) => !now.has(price) && (saysFallen || !this.#full[side].has(price)))
        const set = [...now].filter(([price, amount]) => old.get(price) !== amount)
        return [...gone.map((price): Level => [price, 0]), ...set]
      }) as [Level[], Level[]]
      if (bids.length + asks.length > 0) return { bids, asks }
    }
  }

  /** The mid price, where trades happen. */
  get middle(): number {
    return this.#view[ASK][0]?.[0] ?? 0
  }

  #take(event: MarketEvent): void {
    if (event.type !== 'snapshot' && event.type !== 'update') return
    for (const { side, price, amount } of event.type === 'snapshot' ? event.levels : event.changes) {
      if (amount === 0) this.#full[side].delete(price)
      else this.#full[side].set(price, Number(amount) * this.#scale)
    }
  }

  #best(): [Level[], Level[]] {
    const sorted = (side: Side, sign: number) => [...side].sort(([a], [b]) => sign * (a - b)).slice(0, this.#shown)
    return [sorted(this.#full[BID], -1), sorted(this.#full[ASK], 1)]
  }
}

export interface Line {
  readonly milliseconds: number
  readonly text: string
}

export function captureText(lines: readonly Line[]): string {
  const sorted = lines.toSorted((left, right) => left.milliseconds - right.milliseconds)
  return sorted.map(({ milliseconds, text }) => `${(milliseconds / 1000).toFixed(6)}: ${text}\n`).join('')
}
