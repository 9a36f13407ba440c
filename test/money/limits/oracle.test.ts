/**
 * Random movements, returns, passing hours and changed limits, compared with a model that keeps a list of movements and
 * adds it up again after every step.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Random } from '../../support/random.ts'
import type { RestNode } from '../../support/rest.ts'
import { type LimitRow, LimitsStage, payee } from './limits-stage.ts'

const STEPS = process.env.TIDEGATE_LONG === '1' ? 2_000 : 150
/** The store's hour may change during a run, which then is repeated. */
const RUNS_MAX = 3
const UNITS = 1_000_000n

interface Movement {
  readonly id: string
  readonly digit: string
  readonly units: bigint
  /** Hours that have passed when it was counted. Undefined: it waits. */
  countedAt: number | undefined
}

/** Amounts in units of 0.000001, by limit. */
interface Bounds {
  readonly movement: bigint
  readonly day: bigint
  readonly destination: bigint
}

class Model {
  readonly movements = new Map<string, Movement>()
  readonly claimed = new Set<string>()
  bounds: Bounds = { movement: 0n, day: 0n, destination: 0n }
  passed = 0

  used(digit?: string): bigint {
    let sum = 0n
    for (const { countedAt, units, digit: own } of this.movements.values()) {
      if (countedAt === undefined || this.passed - countedAt >= 25) continue
      if (digit === undefined || own === digit) sum += units
    }
    return sum
  }

  fits({ units, digit }: Pick<Movement, 'units' | 'digit'>): boolean {
    const { movement, day, destination } = this.bounds
    return units <= movement && this.used() + units <= day && this.used(digit) + units <= destination
  }
}

function text(units: bigint): string {
  const fraction = String(units % UNITS)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${units / UNITS}${fraction === '' ? '' : `.${fraction}`}`
}

let node: RestNode
beforeAll(async () => {
  node = await LimitsStage.openNode()
})
afterAll(() => node?.close())

class Run {
  readonly stage: LimitsStage
  readonly model = new Model()
  /** The ages, in hours, that counted movements had after time had passed. */
  readonly ages = new Set<number>()
  readonly #random: Random

  constructor(stage: LimitsStage, random: Random) {
    this.stage = stage
    this.#random = random
  }

  #amount(most: number): bigint {
    return BigInt(1 + this.#random.integer(most * Number(UNITS)))
  }

  async setLimits(): Promise<void> {
    const bounds = { movement: this.#amount(60), day: this.#amount(200), destination: this.#amount(120) }
    const row = (scope: LimitRow['scope'], window: LimitRow['window'], units: bigint) =>
      ['USDC'].map((asset): LimitRow => ({ scope, asset, window, amount: text(units) }))
    const { status } = await this.stage.setLimits([
      ...row('customer', 'movement', bounds.movement),
      ...row('customer', 'day', bounds.day),
      ...row('destination', 'day', bounds.destination),
    ])
    expect(status).toBe(200)
    this.model.bounds = bounds
  }

  /** A payment without a conversion, or one after a conversion from USDG, which is accepted and may wait. */
  async pay(isConverted: boolean): Promise<void> {
    const { model, stage } = this
    const movement = { units: this.#amount(50), digit: String(1 + this.#random.integer(3)) }
    const fits = model.fits(movement)
    const changes = { destination: payee(movement.digit), ...(isConverted ? { source_asset: 'USDG' } : {}) }
    const { status, body } = await stage.pay(text(movement.units), changes)
    expect([status, body.code]).toEqual(fits || isConverted ? [200, undefined] : [403, 'limit_exceeded'])
    if (status !== 200) return
    await stage.work()
    const { waiting_for } = await stage.get(body.id)
    expect(waiting_for).toBe(fits ? undefined : 'LIMIT')
    model.movements.set(body.id, { ...movement, id: body.id, countedAt: fits ? model.passed : undefined })
  }

  async claim(): Promise<void> {
    const { model, stage } = this
    await stage.makeDue()
    for (const id of await stage.claim()) {
      const movement = model.movements.get(id) as Movement
      if (movement.countedAt === undefined) {
        expect(model.fits(movement), `${id} passes a limit`).toBe(true)
        movement.countedAt = model.passed
      }
      model.claimed.add(id)
    }
    for (const movement of model.movements.values()) {
      if (movement.countedAt === undefined) expect(model.fits(movement), `${movement.id} waits for nothing`).toBe(false)
    }
  }

  /** Fails a claimed payment, or cancels one that was not handed out. */
  async giveBack(): Promise<void> {
    const { model, stage } = this
    const ids = [...model.movements.keys()]
    const id = ids[this.#random.integer(ids.length)]
    if (id === undefined) return
    if (model.claimed.has(id)) await stage.fail(id)
    else expect((await stage.cancel(id)).status).toBe(200)
    model.movements.delete(id)
  }

  async pass(): Promise<void> {
    const hours = this.#hoursToBoundary() ?? 1 + this.#random.integer(13)
    await this.stage.pass(hours)
    this.model.passed += hours
    for (const { countedAt } of this.model.movements.values()) {
      if (countedAt !== undefined) this.ages.add(this.model.passed - countedAt)
    }
  }

  /** Often, until a movement is 24 hours old, when it still counts, or 25, when it does not. */
  #hoursToBoundary(): number | undefined {
    const { model } = this
    const counted = [...model.movements.values()].flatMap(({ countedAt }) => countedAt ?? [])
    const left = counted.flatMap((at) => [24, 25].map((age) => age - (model.passed - at))).filter((hours) => hours > 0)
    return left.length === 0 || this.#random.chance(0.5) ? undefined : left[this.#random.integer(left.length)]
  }

  async compare(): Promise<void> {
    const { model, stage } = this
    const { day, destination } = model.bounds
    const left = (limit: bigint, used: bigint) => (used < limit ? limit - used : 0n)
    const shown = (limit: bigint, used: bigint) => ({
      limit: text(limit),
      used: text(used),
      available: text(left(limit, used)),
    })
    expect(await stage.uses('customer')).toMatchObject([shown(day, model.used())])
    const uses: { destination?: object; used: string }[] = await stage.uses('destination')
    const expected = ['1', '2', '3'].map((digit) => model.used(digit)).filter((used) => used > 0n)
    const sorted = (texts: readonly string[]) => [...texts].sort()
    const found = uses.filter((item) => item.destination !== undefined)
    expect(sorted(found.map(({ used }) => used))).toEqual(sorted(expected.map(text)))
    for (const item of found) expect(item).toMatchObject({ limit: text(destination) })
  }

  async step(): Promise<void> {
    const wheel = this.#random.integer(100)
    if (wheel < 30) await this.pay(false)
    else if (wheel < 55) await this.pay(true)
    else if (wheel < 70) await this.claim()
    else if (wheel < 82) await this.giveBack()
    else if (wheel < 97) await this.pass()
    else await this.setLimits()
    await this.compare()
  }
}

async function runOnce(seed: number): Promise<boolean> {
  const stage = await LimitsStage.open(node)
  await stage.fund('USDG', 1_000_000_000_000n)
  const run = new Run(stage, new Random(seed))
  const started = await stage.hour()
  try {
    await run.setLimits()
    for (let step = 0; step < STEPS; step++) await run.step()
    expect(
      [24, 25].filter((age) => !run.ages.has(age)),
      'ages that no movement had',
    ).toEqual([])
  } catch (error) {
    if ((await stage.hour()) === started) throw error
  }
  return (await stage.hour()) === started
}

describe('limits and their model', () => {
  it.each([11, 12])('limits admit and give back exactly what the model with seed %i does', async (seed) => {
    for (let run = 0; run < RUNS_MAX; run++) if (await runOnce(seed)) return
    throw new Error('the hour changed in every run')
  })
})
