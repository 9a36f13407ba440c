/**
 * What happens to payments that leave, each with its weight: executors that claim, the executor that is sent requests, and
 * an operator who finds out what became of them, or decides without.
 */
import { sql } from '../../../../src/platform/store/sql.ts'
import type { Action, World } from './world.ts'

/** Above the time for which requests are repeated. */
const DAY_MILLISECONDS = 90_000_000

interface Report {
  readonly attempt: number
  readonly reference?: string
  readonly late?: boolean
}

/** An executor claims, and settles, fails, forgets, or is late; what was not answered is repeated later. */
export const execute: Action = async (world) => {
  const { random } = world
  for (const { id, attempt } of await claim(world, random.pick(['one', 'two']), random.pick([10, 60]))) {
    const result = random.pick(['settle', 'settle', 'settle', 'fail', 'forget', 'late'])
    if (result === 'forget') continue
    if (result === 'late') await world.advance(120_000)
    await (result === 'fail' ? fail(world, id, attempt) : settle(world, id, { attempt }))
  }
}

/** An executor reports when its claims are over and another's: then nothing that it says may count. */
const overtake: Action = async (world) => {
  const slow = await claim(world, 'slow', 10)
  await world.advance(11_000)
  const ids = new Set((await claim(world, 'fast', 60)).map(({ id }) => id))
  for (const { id, attempt } of slow.filter((lost) => ids.has(lost.id))) {
    const body = { reference: `payment ${id} of attempt ${attempt}`, attempt }
    const answer = await world.operator('POST', `/deliveries/${id}/settle`, body)
    if (answer.status === 200) world.wrongs.push(`a settlement by a claim that was over was accepted: ${answer.text}`)
  }
}

interface Claimed {
  readonly id: string
  readonly attempt: number
  readonly channel: string
}

async function claim(world: World, executor: string, lease_seconds: number): Promise<readonly Claimed[]> {
  const body = { executor, limit: 1 + world.random.integer(5), lease_seconds }
  const answer = await world.operator('POST', '/deliveries/claim', body)
  if (answer.status !== 200) return []
  const items: readonly Claimed[] = answer.body.items
  for (const { id, attempt, channel } of items) {
    if (channel !== 'manual') world.wrongs.push(`an executor claimed what requests were made for: ${id}`)
    if (world.claims.has(`${id} ${attempt}`)) world.wrongs.push(`two executors have one claim: ${id} ${attempt}`)
    world.claims.add(`${id} ${attempt}`)
  }
  return items
}

/** A result of an earlier claim, or of a delivery that has its result. */
const executeAgain: Action = async (world) => {
  const id = await world.pickId(`select id from deliveries where attempt > 0 and channel = 'manual'`)
  if (id === undefined) return
  const attempt = 1 + world.random.integer(2)
  await (world.random.chance(0.5) ? fail(world, id, attempt) : settle(world, id, { attempt }))
}

/** The operator, or the executor itself, reports what became of a request: what is so, or what it takes for so. */
const findOut: Action = async (world) => {
  const { executor, random } = world
  const id = await world.pickId(
    `select id from deliveries where channel = 'webhook' and (status in ('SENT', 'NEEDS_OPERATOR', 'FAILED')
      or (status = 'CLAIMED' and attempt > 2))`,
  )
  if (id === undefined) return
  const [row] = (
    await sql<{ attempt: number; status: string }>`
      select attempt, status from deliveries where id = ${id}
    `.execute(world.db.tables())
  ).rows
  const { attempt, status } = row as { attempt: number; status: string }
  // A payment that was accepted is made now, if ever.
  if (status === 'SENT' && random.chance(0.7)) executor.pay(id)
  const reference = executor.paid.get(id)
  const isMistaken = random.chance(0.15)
  if (reference !== undefined && !isMistaken) {
    await settle(world, id, { attempt, reference, ...(status === 'FAILED' ? { late: true } : {}) })
  } else if (isMistaken || executor.refuse(id)) await fail(world, id, attempt, { earlier_attempts: 'not_paid' })
}

async function settle(world: World, id: string, { attempt, reference, late }: Report): Promise<void> {
  const isLate = late ?? world.random.chance(0.2)
  const body = {
    reference: reference ?? `payment ${id} of attempt ${attempt}`,
    attempt,
    ...(isLate ? { late: true } : {}),
    ...(world.random.chance(0.5) ? { fee: '1' } : {}),
  }
  const answer = await world.operator('POST', `/deliveries/${id}/settle`, body)
  if (answer.status === 200 && answer.body.attempt !== attempt && !(isLate && answer.body.late)) {
    world.wrongs.push(`a settlement of attempt ${attempt} was accepted: ${answer.text}`)
  }
}

async function fail(world: World, id: string, attempt: number, statement: object = {}): Promise<void> {
  world.failed.add(id)
  const { rows } = await sql<{ open: boolean }>`
    select exists (
      select from delivery_attempts where delivery_id = ${id} and attempt < ${attempt} and outcome = 'UNKNOWN'
    ) as open from deliveries where id = ${id} and attempt = ${attempt} and status <> 'FAILED'
  `.execute(world.db.tables())
  const answer = await world.operator('POST', `/deliveries/${id}/fail`, {
    reason: 'the bank says no',
    attempt,
    ...statement,
  })
  if (answer.status === 200 && rows[0]?.open === true && !('earlier_attempts' in statement)) {
    world.wrongs.push(`a failure after an unknown attempt was accepted: ${answer.text}`)
  }
}

const send: Action = async (world) => {
  await world.random.pick(world.senders).step()
}

/** Two processes at once, and one of them finds the time of the other's requests over. */
const sendTogether: Action = async (world) => {
  await Promise.all([...world.senders.map((sender) => sender.step()), world.advance(61_000)])
}

const changeChannel: Action = async (world) => {
  world.useWebhook(world.random.chance(0.5))
}

/** So long that what has no known outcome becomes the operator's. */
const passDay: Action = async (world) => {
  await world.advance(DAY_MILLISECONDS)
}

/** The address of a payment becomes one of the service, before any attempt to pay. */
const closeLoop: Action = async (world) => {
  const rule = world.random.pick(world.rules.filter(({ place }) => place.network === 'ETHEREUM'))
  if (rule === undefined) return
  const destination = JSON.stringify({ crypto: rule.place })
  const isCrypto = `destination -> 'crypto' is not null`
  const [table, untouched] = world.random.pick([
    ['orchestrations', `status = 'PROCESSING' and step = 'convert' and source_asset <> 'BTC' and ${isCrypto}`],
    ['deliveries', `status = 'WAITING' and attempt = 0 and ${isCrypto}`],
  ] as const)
  const id = await world.pickId(`select id from ${table} where ${untouched}`)
  if (id === undefined) return
  await sql`
    with changed as (
      update ${sql.table(table)} set destination = ${destination}::jsonb where id = ${id} and ${sql.raw(untouched)}
      returning id
    )
    update transfers set destination_address = ${rule.place.address} from changed where transfers.id = changed.id
  `.execute(world.db.tables())
}

export const DELIVERY_ACTIONS: readonly (readonly [weight: number, action: Action])[] = [
  [6, execute],
  [2, overtake],
  [2, executeAgain],
  [6, send],
  [2, sendTogether],
  [4, findOut],
  [2, changeChannel],
  [1, passDay],
  [1, closeLoop],
]

/** Every executor does what it should, until nothing is left to pay. */
export async function finishDeliveries(world: World): Promise<void> {
  world.executor.isWell = true
  world.useWebhook(true)
  for (const sender of world.senders) await sender.step()
  for (;;) {
    const answer = await world.operator('POST', '/deliveries/claim', {
      executor: 'last',
      limit: 100,
      lease_seconds: 60,
    })
    if (answer.body.items.length === 0) break
    for (const { id, attempt } of answer.body.items) await settle(world, id, { attempt })
  }
  const { rows } = await sql<{ id: string; attempt: number }>`
    select id, attempt from deliveries where status in ('SENT', 'NEEDS_OPERATOR')
  `.execute(world.db.tables())
  for (const { id, attempt } of rows) {
    const reference = world.executor.pay(id)
    const statement = { earlier_attempts: 'not_paid' }
    await (reference === undefined ? fail(world, id, attempt, statement) : settle(world, id, { attempt, reference }))
  }
}
