/**
 * From any sequence of wrong reports, assignments, holds, reversals and corrections of one payment, the state of the right
 * one can be reached. The model knows no posting: what a profile has follows from what the deposit is and what was spent.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '../../src/base/ids.ts'
import { post } from '../../src/ledger/ledger.ts'
import { bookedAsEntries, ledgerDifferences } from '../support/ledger.ts'
import { moneyViolations } from '../support/money-oracles.ts'
import { propertySettings } from '../support/property.ts'
import { balancesOf, newProfile, useDepositsNode, wireOf } from './deposits-node.ts'

const stand = useDepositsNode()

const RIGHT = { amount: 550, profile: 1 } as const
const amount = fc.constantFrom(505, 550, 55)
const profile = fc.constantFrom(0, 1)
const step = fc.oneof(
  fc.record({
    kind: fc.constant('report' as const),
    amount,
    status: fc.constantFrom('PENDING', 'COMPLETED', 'FAILED'),
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
  readonly #wire = wireOf({ remittance: 'rent' })
  readonly #spent = [0, 0]
  #id = ''
  #status = 'NONE'
  #secondary: string | undefined
  #amount = 0
  #profile: number | undefined
  #isCorrected = false

  constructor(profiles: readonly string[]) {
    this.profiles = profiles
  }

  async report(units: number, status: string): Promise<number> {
    const answer = await stand.node.operator('POST', '/deposits', { ...this.#wire, status, amount: textOf(units) })
    if (answer.status !== 200) return answer.status
    if (this.#status === 'NONE') {
      this.#id = answer.body.id
      this.#amount = units
    }
    if (this.#status !== 'COMPLETED') {
      if (status === 'COMPLETED' && !this.#isCorrected) this.#amount = units
      this.#status = status
    }
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

  async assign(to: number): Promise<number> {
    const before = this.#profile
    this.#profile = to
    const status = await this.act('assign', { profile_id: this.profiles[to] })
    if (status !== 200) this.#profile = before
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
    const { available } = await balancesOf(stand, profileId, 'USD')
    if (BigInt(available) < units) return
    this.#spent[from] = (this.#spent[from] ?? 0) + units
    const debit = { bucket: 'available', profileId } as const
    const credit = { bucket: 'desk' } as const
    await stand.node.db.transaction((transaction) =>
      post(transaction, [{ asset: 'USD', amount: BigInt(units), debit, credit, groupId: newId() }]),
    )
  }

  async makeRight(): Promise<void> {
    if (this.#status === 'NONE') expect(await this.report(RIGHT.amount, 'PENDING')).toBe(200)
    expect(await this.correct(RIGHT)).toBe(200)
    expect(await this.report(RIGHT.amount, 'COMPLETED')).toBe(200)
    if (this.#secondary === 'REJECTED') {
      expect(await this.act('reverse', { reason: 'rejected by mistake' })).toBe(200)
      expect(await this.correct(RIGHT)).toBe(200)
    }
    if (this.#secondary === 'HELD') expect(await this.act('release')).toBe(200)
    const { body } = await stand.node.operator('GET', `/deposits/${this.#id}`)
    expect(body).toMatchObject({ status: 'COMPLETED', amount: '5.5', profile_id: this.profiles[RIGHT.profile] })
    expect(body.secondary_status).toBeUndefined()
  }

  /** Available or owed is what was credited and not spent. */
  async verifyBalances(): Promise<void> {
    for (const [index, profileId] of this.profiles.entries()) {
      const isCredited = this.#status === 'COMPLETED' && this.#profile === index && this.#secondary !== 'REVERSED'
      const isHeld = isCredited && (this.#secondary === 'HELD' || this.#secondary === 'REJECTED')
      const rest = (isCredited && !isHeld ? this.#amount : 0) - (this.#spent[index] ?? 0)
      expect(await balancesOf(stand, profileId, 'USD')).toEqual({
        available: `${Math.max(rest, 0)}`,
        in_transit: '0',
        held: isHeld ? `${this.#amount}` : '0',
        receivable: `${Math.max(-rest, 0)}`,
      })
    }
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
  if (each.kind === 'report') await payment.report(each.amount, each.status)
  else if (each.kind === 'assign') await payment.assign(each.profile)
  else if (each.kind === 'correct') await payment.correct(each)
  else if (each.kind === 'spend') await payment.spend(each.profile, each.amount)
  else await payment.act(each.kind, each.kind === 'release' ? {} : { reason: 'because' })
  await payment.verifyBalances()
}

it('the state of the right report is reached from any sequence of wrong ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const payment = new Payment([await newProfile(stand), await newProfile(stand)])
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
