/** What customers and operators do besides: moving money out, retrying, releasing and rejecting, and pausing. */
import { releaseOf } from '../../support/release.ts'
import type { Json } from './nodes.ts'
import { toText, toUnits } from './units.ts'
import { BANK_ACCOUNT, type Customer, OUTSIDE, type World } from './world.ts'

const ORCHESTRATIONS = '/v2/orchestration/orchestrations'
/** Codes of what a customer may be refused for the state of the profile. */
const REFUSALS = new Set(['insufficient_funds', 'receivable', 'account_blocked', 'paused', 'invalid_request'])

/** The customer's way out, of what some profile has; sometimes of more than it has, and sometimes twice at once. */
export async function moveOut(world: World): Promise<void> {
  const { random } = world
  const customer = random.pick(world.customers)
  const profileId = random.pick(customer.profiles)
  const { body } = await world.asCustomer(customer, 'GET', `/v2/profiles/${profileId}/balances`)
  const held: readonly Json[] = body.items.filter(({ available }: Json) => available !== '0')
  if (held.length === 0) return
  const { asset, available } = random.pick(held)
  const all = toUnits(available, asset)
  const units = random.chance(0.1) ? all + 1n : (all * BigInt(1 + random.integer(100))) / 100n
  if (units === 0n) return
  const refId = `out ${world.requests.size} ${random.integer(1_000_000_000)}`
  const [destination_asset, destination] = pickWay(world, asset, profileId)
  const request = {
    ref_id: refId,
    source: { profile: { profile_id: profileId } },
    source_asset: asset,
    destination_asset,
    source_amount: toText(units, asset),
    destination,
  }
  const calls = random.chance(0.2) ? 2 : 1
  await Promise.all(Array.from({ length: calls }, () => ask(world, customer, request, units)))
}

function pickWay({ random }: World, asset: string, profileId: string) {
  const own = { profile: { profile_id: profileId } }
  const ways: Readonly<Record<string, readonly (readonly [string, object])[]>> = {
    USD: [
      ['USD', BANK_ACCOUNT],
      ['USDC', own],
      ['USDC', OUTSIDE],
    ],
    USDC: [
      ['USDC', OUTSIDE],
      ['USDG', own],
      ['USD', BANK_ACCOUNT],
    ],
    USDG: [
      ['USDG', OUTSIDE],
      ['USDC', own],
      ['USD', BANK_ACCOUNT],
    ],
  }
  return random.pick(ways[asset] as readonly (readonly [string, object])[])
}

async function ask(world: World, customer: Customer, body: Json, units: bigint): Promise<void> {
  const { ref_id: refId, source_asset: asset, source } = body
  const answer = await world.asCustomer(customer, 'POST', ORCHESTRATIONS, body)
  const { status, body: document } = answer
  const isThere = status === 200 || (status === 409 && document.meta?.existing?.ref_id === refId)
  world.count(`move out: ${isThere ? 'there' : document.code}`)
  if (isThere) world.requests.set(refId, { refId, profileId: source.profile.profile_id, asset, units })
  else if (!REFUSALS.has(document.code)) {
    world.violations.push(`a request was answered ${status}: ${JSON.stringify(document)}`)
  }
}

/** A customer cancels what is under way; what was handed out meanwhile is paid. */
export async function cancel(world: World): Promise<void> {
  const { random } = world
  const customer = random.pick(world.customers)
  const { body: list } = await world.asCustomer(customer, 'GET', `${ORCHESTRATIONS}?status=PROCESSING&limit=20`)
  if (list.items.length === 0) return
  const { id } = random.pick(list.items as readonly Json[])
  const { status, body } = await world.asCustomer(customer, 'POST', `${ORCHESTRATIONS}/${id}/cancel`, {})
  world.count(`cancel: ${status}`)
  if (status === 200) world.ended.set(id, 'CANCELLED')
  else if (status !== 409) world.violations.push(`a cancellation was answered ${status}: ${JSON.stringify(body)}`)
}

/** One of the last that wait or have failed. */
export async function operateOrchestration(world: World): Promise<void> {
  const verb = world.random.pick(['retry', 'release', 'reject'] as const)
  const filter = verb === 'retry' ? 'status=FAILED' : 'waiting_for=HOLD'
  const { items } = await world.read(`/orchestrations?${filter}&limit=20`)
  if (items.length === 0) return
  const record = world.random.pick(items as readonly Json[])
  const { id } = record
  const bodies = { retry: {}, release: releaseOf(record), reject: { reason: 'no' } }
  const { kind, status, body } = await world.act(`/orchestrations/${id}/${verb}`, bodies[verb])
  world.count(`orchestration ${verb}: ${kind}`)
  if (kind === 'done' && verb === 'reject') world.ended.set(id, 'REJECTED')
  if (kind !== 'done' && ![200, 202, 403, 409].includes(status)) {
    world.violations.push(`${verb} was answered ${status}: ${JSON.stringify(body)}`)
  }
}

export async function pauseSomething(world: World): Promise<void> {
  const { random } = world
  const paused = {
    assets: random.chance(0.1) ? ['USDG'] : [],
    networks: random.chance(0.1) ? ['ETHEREUM'] : [],
    pairs: random.chance(0.1) ? ['USDC/USD'] : [],
    deliveries: random.chance(0.1),
  }
  await world.act('/controls', { paused }, 'PATCH')
}

export const NOTHING_PAUSED = { paused: { assets: [], networks: [], pairs: [], deliveries: false } }
