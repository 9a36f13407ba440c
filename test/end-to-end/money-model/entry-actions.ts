/** Ledger entries of every kind, and reversals: what an operator books about the desk, the fees and debts. */
import type { Json } from './nodes.ts'
import { DECIMALS, toText, toUnits } from './units.ts'
import type { Entry, World } from './world.ts'

const ENTRIES = '/ledger/entries'
const ASSETS = Object.keys(DECIMALS)
const KINDS = [
  'desk_hedge',
  'desk_funding',
  'desk_withdrawal',
  'network_cost',
  'fee_sweep',
  'write_off',
  'write_off',
  'debt_repayment',
] as const
type Kind = (typeof KINDS)[number]

export async function bookEntry(world: World): Promise<void> {
  const { random, entries } = world
  const kind = random.pick(KINDS)
  const about = await subjectOf(world, kind)
  if (about === undefined) return
  const reference = `entry ${entries.length} ${random.integer(1_000_000_000)}`
  const body = { kind, reference, reason: 'as the bank shows', ...about }
  const { kind: result, status, body: document } = await world.act(ENTRIES, body)
  world.count(`entry ${kind}: ${result}`)
  if (result === 'unknown') {
    for (const entry of await world.list(`${ENTRIES}?reference=${encodeURIComponent(reference)}`)) note(world, entry)
  } else if (result === 'done') note(world, document)
  else if (result === 'refused' && ![200, 400, 403, 409].includes(status)) {
    world.violations.push(`an entry was answered ${status}: ${JSON.stringify(document)}`)
  }
}

/** Books the opposite of an entry; the same again changes nothing. */
export async function reverseEntry(world: World): Promise<void> {
  const entry = world.entries.find(({ isBusy }) => !isBusy && world.random.chance(0.2))
  if (entry === undefined) return
  entry.isBusy = true
  const { kind, status, body } = await world.act(`${ENTRIES}/${entry.id}/reverse`, { reason: 'booked by mistake' })
  world.count(`entry reversed: ${kind}`)
  if (kind === 'done') entry.isReversed = true
  else if (kind === 'unknown') {
    const [present] = await world.list(`${ENTRIES}?reference=${encodeURIComponent(entry.reference)}`)
    entry.isReversed = present.reversed_by !== undefined
  } else if (![200, 202, 403, 409].includes(status)) {
    world.violations.push(`a reversal was answered ${status}: ${JSON.stringify(body)}`)
  }
  entry.isBusy = false
}

function note({ entries, violations }: World, { id, kind, legs, profile_id: profileId, reference }: Json): void {
  const entry: Entry = { id, kind, reference, profileId, legs: legs.map(legOf), isReversed: false, isBusy: false }
  if (entries.some((each) => each.reference === reference)) violations.push(`an entry was booked twice: ${reference}`)
  entries.push(entry)
}

function legOf({ asset, amount, direction }: Json) {
  return { asset, units: toUnits(amount, asset), isIn: direction === 'IN' }
}

/** The legs, and the profile; undefined when no profile owes anything that could be repaid or written off. */
async function subjectOf(world: World, kind: Kind): Promise<object | undefined> {
  const { random } = world
  if (kind === 'desk_hedge') {
    const [first, second] = random.chance(0.5) ? ['USDC', 'USD'] : ['USDG', 'USDC']
    return { legs: [legFor(world, first as string, 'IN', 500), legFor(world, second as string, 'OUT', 500)] }
  }
  const asset = random.pick(ASSETS)
  if (kind === 'desk_funding') return { legs: [legFor(world, asset, 'IN', 300)] }
  if (kind === 'fee_sweep') return { legs: [legFor(world, asset, undefined, 2)] }
  if (kind === 'desk_withdrawal' || kind === 'network_cost') return { legs: [legFor(world, asset, 'OUT', 50)] }
  const profile_id = random.pick(world.customers.flatMap(({ profiles }) => profiles))
  const { items } = await world.read(`/profiles/${profile_id}/balances`)
  const owing = (items as readonly Json[]).filter(({ receivable }) => receivable !== '0')
  if (owing.length === 0) return undefined
  const { asset: owed, receivable } = random.pick(owing)
  const all = toUnits(receivable, owed)
  const units = random.chance(0.1) ? all + 1n : random.chance(0.5) ? all : all / 2n + 1n
  return { profile_id, legs: [{ asset: owed, amount: toText(units, owed) }] }
}

function legFor({ random }: World, asset: string, direction: string | undefined, cents: number): object {
  const amount = `${random.integer(cents)}.${String(1 + random.integer(99)).padStart(2, '0')}`
  return { asset, amount, ...(direction === undefined ? {} : { direction }) }
}
