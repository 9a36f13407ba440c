/**
 * From any sequence of wrong reports, assignments, holds, reversals and corrections of one payment, the state of the right
 * one can be reached, and then the right report is known, and so is every report that was accepted before. The model knows no
 * posting: what a profile has follows from what the deposit is and what was spent.
 */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { post } from '../../../src/money/ledger/ledger.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { bookedAsEntries, ledgerDifferences } from '../../support/ledger.ts'
import { moneyViolations } from '../../support/money-oracles.ts'
import { propertySettings } from '../../support/property.ts'
import { releaseOf } from '../../support/release.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import { balancesOf, newAddress, newProfile, reportOf, useDepositsNode, wireOf } from './deposits-node.ts'

const stand = useDepositsNode()

const RIGHT = { amount: 550, profile: 1 } as const
const amount = fc.constantFrom(505, 550, 55)
const profile = fc.constantFrom(0, 1)
const step = fc.oneof(
  fc.record({
    kind: fc.constant('report' as const),
    amount,
    status: fc.constantFrom('PENDING', 'COMPLETED', 'FAILED'),
    // Of the profile with this number, or of none.
    place: fc.constantFrom(0, 1, 2),
  }),
  fc.record({ kind: fc.constant('assign' as const), profile }),
  fc.record({ kind: fc.constantFrom('hold' as const, 'release' as const, 'reject' as const, 'reverse' as const) }),
  fc.record({ kind: fc.constant('correct' as const), amount }),
  fc.record({ kind: fc.constant('correct' as const), profile }),
  fc.record({ kind: fc.constant('spend' as const), profile, amount }),
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** One payment, as it should be after the calls that succeeded. */
class Payment {
  readonly profiles: readonly string[]
  readonly #addresses: readonly string[] | undefined
  readonly #report: ReturnType<typeof wireOf> | ReturnType<typeof reportOf>
  readonly #spent = [0, 0]
  #id = ''
  #status = 'NONE'
  #secondary: string | undefined
  #amount = 0
  #profile: number | undefined
  #isAssigned = false
  #isCorrected = false
  /** Reports with terms that the deposit has, or has had before a correction. */
  #accepted = new Map<string, readonly [units: number, place: number]>()

  /** @param addresses of the profiles, and one of none; undefined: it is a wire without a memo */
  constructor(profiles: readonly string[], addresses: readonly string[] | undefined) {
    this.profiles = profiles
    this.#addresses = addresses
    this.#report = addresses === undefined ? wireOf({ remittance: 'rent' }) : reportOf(ETHEREUM_ADDRESS)
  }

  async report(units: number, status: string, place: number): Promise<number> {
    const body = this.#report
    const address = this.#addresses?.[place]
    const arrived = 'crypto' in body ? { crypto: { ...body.crypto, address } } : {}
    const answer = await stand.node.operator('POST', '/deposits', {
      ...body,
      ...arrived,
      status,
      amount: textOf(units),
    })
    if (answer.status !== 200) return answer.status
    const isFirst = this.#status === 'NONE'
    const isReplacing = this.#status !== 'COMPLETED' && status === 'COMPLETED' && !this.#isCorrected
    if (isFirst) this.#id = answer.body.id
    if (isFirst || isReplacing) {
      this.#amount = units
      if (!this.#isAssigned) this.#profile = address === undefined || place === 2 ? undefined : place
      this.#accepted.clear()
    }
    if (this.#status !== 'COMPLETED') this.#status = status
    this.#accepted.set(`${units} ${place}`, [units, place])
    return this.#verify(answer.body)
  }

  async act(verb: string, body: object = {}): Promise<number> {
    if (this.#status === 'NONE') return 404
    const answer = await stand.node.operator('POST', `/deposits/${this.#id}/${verb}`, body)
    if (answer.status !== 200) return answer.status
    if (verb === 'hold') this.#secondary = 'HELD'
    if (verb === 'release') this.#secondary = undefined
    if (verb === 'reject') this.#secondary = 'REJECTED'
    if (verb === 'reverse') this.#secondary = 'REVERSED'
    return this.#verify(answer.body)
  }

  /** Of everything that holds it. */
  async release(): Promise<number> {
    const { body } = await stand.node.operator('GET', `/deposits/${this.#id}`)
    return await this.act('release', releaseOf(body))
  }

  async assign(to: number): Promise<number> {
    const before = this.#profile
    this.#profile = to
    const status = await this.act('assign', { profile_id: this.profiles[to] })
    if (status !== 200) this.#profile = before
    else if (before === undefined) this.#isAssigned = true
    return status
  }

  async correct(terms: { readonly amount?: number; readonly profile?: number }): Promise<number> {
    const before = [this.#amount, this.#profile, this.#secondary, this.#isCorrected] as const
    const isSame = (terms.amount ?? this.#amount) === this.#amount && (terms.profile ?? this.#profile) === this.#profile
    this.#isCorrected ||= !isSame || this.#secondary === 'REVERSED'
    this.#amount = terms.amount ?? this.#amount
    this.#profile = terms.profile ?? this.#profile
    if (this.#secondary === 'REVERSED') this.#secondary = undefined
    const status = await this.act('correct', {
      reason: 'wrong',
      ...(terms.amount === undefined ? {} : { amount: textOf(terms.amount) }),
      ...(terms.profile === undefined ? {} : { profile_id: this.profiles[terms.profile] }),
    })
    if (status !== 200) [this.#amount, this.#profile, this.#secondary, this.#isCorrected] = before
    return status
  }

  /** As an orchestration out of the balance does. */
  async spend(from: number, units: number): Promise<void> {
    const profileId = this.profiles[from] as string
    const [asset, amount] = [this.#asset, BigInt(units * this.#unit)]
    const { available } = await balancesOf(stand, profileId, asset)
    if (BigInt(available) < amount) return
    this.#spent[from] = (this.#spent[from] ?? 0) + units
    const debit = { bucket: 'available', profileId } as const
    const credit = { bucket: 'desk' } as const
    await stand.node.db.transaction((transaction) =>
      post(transaction, [{ asset, amount, debit, credit, groupId: newId() }]),
    )
  }

  async makeRight(): Promise<void> {
    const report = () => this.report(RIGHT.amount, 'COMPLETED', RIGHT.profile)
    if (this.#status === 'NONE') expect(await report()).toBe(200)
    expect(await this.correct(RIGHT)).toBe(200)
    expect(await report()).toBe(200)
    if (this.#secondary === 'REJECTED') {
      expect(await this.act('reverse', { reason: 'rejected by mistake' })).toBe(200)
      expect(await this.correct(RIGHT)).toBe(200)
    }
    if (this.#secondary === 'HELD') expect(await this.release()).toBe(200)
    const { body } = await stand.node.operator('GET', `/deposits/${this.#id}`)
    expect(body).toMatchObject({ status: 'COMPLETED', amount: '5.5', profile_id: this.profiles[RIGHT.profile] })
    expect(body.secondary_status).toBeUndefined()
    for (const [units, place] of this.#accepted.values()) expect(await this.report(units, 'COMPLETED', place)).toBe(200)
  }

  /** Available or owed is what was credited and not spent. */
  async verifyBalances(): Promise<void> {
    for (const [index, profileId] of this.profiles.entries()) {
      const isCredited = this.#status === 'COMPLETED' && this.#profile === index && this.#secondary !== 'REVERSED'
      const isHeld = isCredited && (this.#secondary === 'HELD' || this.#secondary === 'REJECTED')
      const rest = (isCredited && !isHeld ? this.#amount : 0) - (this.#spent[index] ?? 0)
      expect(await balancesOf(stand, profileId, this.#asset)).toEqual({
        available: `${Math.max(rest, 0) * this.#unit}`,
        in_transit: '0',
        held: isHeld ? `${this.#amount * this.#unit}` : '0',
        receivable: `${Math.max(-rest, 0) * this.#unit}`,
      })
    }
  }

  get #asset(): string {
    return this.#report.asset
  }

  /** A cent, in units of the asset. */
  get #unit(): number {
    return this.#asset === 'USD' ? 1 : 10_000
  }

  #verify(document: Readonly<Record<string, unknown>>): number {
    const { status, secondary_status, amount: text, profile_id } = document
    const owner = this.#profile === undefined ? undefined : this.profiles[this.#profile]
    const expected = { status: this.#status, secondary_status: this.#secondary, text: textOf(this.#amount) }
    expect({ status, secondary_status, text, profile_id }).toEqual({ ...expected, profile_id: owner })
    return 200
  }
}

function textOf(units: number): string {
  return `${units / 100}`
}

async function run(payment: Payment, each: Step): Promise<void> {
  if (each.kind === 'report') await payment.report(each.amount, each.status, each.place)
  else if (each.kind === 'assign') await payment.assign(each.profile)
  else if (each.kind === 'correct') await payment.correct(each)
  else if (each.kind === 'spend') await payment.spend(each.profile, each.amount)
  else if (each.kind === 'release') await payment.release()
  else await payment.act(each.kind, { reason: 'because' })
  await payment.verifyBalances()
}

it('the state of the right report is reached from any sequence of wrong ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), fc.boolean(), async (steps, isWire) => {
      const [one, other] = [await newProfile(stand), await newProfile(stand)]
      const addresses = async () => [await newAddress(stand, one), await newAddress(stand, other), ETHEREUM_ADDRESS]
      const payment = new Payment([one, other], isWire ? undefined : await addresses())
      for (const each of steps) await run(payment, each)
      await payment.makeRight()
      await payment.verifyBalances()
    }),
    propertySettings(25),
  )
  expect(await moneyViolations(stand.node.db)).toEqual([])
  await bookedAsEntries(stand.node.db)
  expect(await ledgerDifferences(stand.node.db)).toEqual([])
})
