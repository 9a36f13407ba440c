/**
 * Executors that claim: they pay and report it, refuse, crash before or behind the payment, pay late, report twice, and lie.
 * What was accepted by the webhook, or has no known outcome, an operator finds out and reports.
 */
import type { Json } from './nodes.ts'
import { pause } from './nodes.ts'
import { EXECUTORS, type World } from './world.ts'

interface Claimed {
  readonly id: string
  readonly attempt: number
  readonly asset: string
  readonly amount: string
}

const CONDUCTS = {
  settles: 10,
  refuses: 3,
  /** Of its own attempt it knows that it did not pay, and looks no further. */
  'knows its own': 2,
  'crashes before': 3,
  'crashes behind': 3,
  'pays late': 3,
  'reports twice': 1,
  /** Has paid, and reports a failure. */
  'denies a payment': 1,
  /** Has not paid, and reports a payment. */
  'invents a payment': 1,
  /** Reports truly that it has not paid, and pays later nevertheless. */
  'pays behind its report': 1,
} as const

type Conduct = keyof typeof CONDUCTS

const WHEEL = Object.entries(CONDUCTS).flatMap(([name, weight]) => Array<Conduct>(weight).fill(name as Conduct))

/** Executors claim some payments each, and do something about each of them. */
export async function execute(world: World): Promise<void> {
  const { random } = world
  const executor = random.pick(EXECUTORS)
  const claim = { executor, limit: 1 + random.integer(4), lease_seconds: 1 + random.integer(3) }
  // Not repeated: a claim without an answer is one of a program that has crashed.
  const answer = await world.nodes.call('operator', world.tokenOf(executor), 'POST', '/deliveries/claim', claim)
  if (answer === undefined) return
  if (answer.status !== 200) {
    world.violations.push(`a claim was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return
  }
  for (const item of answer.body.items) await conduct(world, executor, item, random.pick(WHEEL))
}

async function conduct(world: World, executor: string, item: Claimed, name: Conduct): Promise<void> {
  const { bank } = world
  const { id } = item
  const wasPaid = bank.paid.has(id)
  world.count(`executor ${name}`)
  switch (name) {
    case 'settles':
      return await settlePaid(world, executor, item)
    case 'refuses':
      if (bank.refuse(id)) return void (await fail(world, executor, item, true))
      return await settlePaid(world, executor, item)
    case 'knows its own':
      if (bank.paid.get(id)?.payer === executor) return await settlePaid(world, executor, item)
      return void (await fail(world, executor, item, false))
    case 'crashes before':
      return
    case 'crashes behind':
      return void bank.pay(id, executor, item)
    case 'pays late':
      await pause(3_500)
      return await settlePaid(world, executor, item)
    case 'reports twice':
      await settlePaid(world, executor, item)
      return await settle(world, executor, item, `second name of ${id}`)
    case 'denies a payment':
      bank.pay(id, executor, item)
      return await lie(world, executor, item)
    case 'invents a payment':
      if (wasPaid) return await settlePaid(world, executor, item)
      return await invent(world, executor, item)
    case 'pays behind its report':
      if (wasPaid) return await settlePaid(world, executor, item)
      await lie(world, executor, item)
      bank.pay(id, executor, item)
  }
}

async function settlePaid(world: World, executor: string, item: Claimed): Promise<void> {
  const reference = world.bank.pay(item.id, executor, item)
  if (reference === undefined) await fail(world, executor, item, true)
  else await settle(world, executor, item, reference)
}

async function settle(world: World, executor: string, { id, attempt }: Claimed, reference: string): Promise<void> {
  const fee = world.random.chance(0.1) ? { fee: '0.01' } : {}
  const answer = await world.program(executor, 'POST', `/deliveries/${id}/settle`, { reference, attempt, ...fee })
  world.count(`settle ${answer.status}`)
  if (answer.status === 200 && answer.body.reference !== reference) {
    world.violations.push(`a settlement was accepted with another reference: ${JSON.stringify(answer.body)}`)
  }
  refuseUnexpected(world, 'settle', answer)
}

async function invent(world: World, executor: string, item: Claimed): Promise<void> {
  const reference = `invented for ${item.id}`
  world.bank.invented.set(item.id, reference)
  await settle(world, executor, item, reference)
}

/** Reports as not paid what is paid, before or later; what was answered clearly with 409 changes nothing. */
async function lie(world: World, executor: string, item: Claimed): Promise<void> {
  const { status, isRepeated } = await fail(world, executor, item, world.random.chance(0.5))
  if (status === 200 || isRepeated) world.bank.deniedUntruly.add(item.id)
}

/** @param speaksForAll whether it states that no earlier attempt has paid either */
async function fail(world: World, executor: string, { id, attempt }: Claimed, speaksForAll: boolean) {
  const statement = speaksForAll ? { earlier_attempts: 'not_paid' } : {}
  const body = { reason: 'the account is closed', attempt, ...statement }
  const answer = await world.program(executor, 'POST', `/deliveries/${id}/fail`, body)
  world.count(`fail ${answer.status} ${answer.body.code ?? ''}${speaksForAll ? ' for all' : ''}`)
  refuseUnexpected(world, 'fail', answer)
  if (answer.status !== 200 || answer.body.fail_reason?.code !== 'OPERATOR_FAILED') return answer
  const others = answer.body.attempts.filter((each: Json) => each.outcome === 'UNKNOWN' && each.executor !== executor)
  if (others.length > 0 && !answer.isRepeated) {
    world.violations.push(`${executor} decided about attempts of others: ${JSON.stringify(answer.body)}`)
  }
  return answer
}

function refuseUnexpected(world: World, verb: string, { status, body }: { status: number; body: Json }): void {
  if (status === 200 || status === 409) return
  world.violations.push(`${verb} was answered ${status}: ${JSON.stringify(body)}`)
}

/** A person pays this one by hand. */
export async function payByHand(world: World): Promise<void> {
  const { random } = world
  const { items } = await world.read('/deliveries?status=WAITING&limit=20')
  if (items.length === 0) return
  const { id } = random.pick(items as readonly Json[])
  const { kind, body } = await world.act(`/deliveries/${id}/claim`, { lease_seconds: 2 })
  world.count(`claim of one: ${kind}`)
  if (kind === 'done' && random.chance(0.8))
    await reportTruth(world, { ...body, status: 'SENT' }, random.chance(0.7), false)
}

/** An operator finds out what became of a payment, and reports what is so. */
export async function findOut(world: World): Promise<void> {
  const { random } = world
  const status = random.pick(['SENT', 'SENT', 'NEEDS_OPERATOR', 'FAILED'])
  const { items } = await world.read(`/deliveries?status=${status}&limit=20`)
  if (items.length === 0) return
  await reportTruth(world, random.pick(items), !random.chance(0.4), false)
}

/**
 * What a person reports of one: it was paid, or it was not and never will be. One that was accepted is paid now, if ever.
 * @param mayPay whether it is paid now unless it was refused
 */
export async function reportTruth(world: World, delivery: Json, mayPay: boolean, isSure: boolean): Promise<void> {
  const { bank } = world
  const { id, attempt, status } = delivery
  const reference = mayPay && status === 'SENT' ? bank.pay(id, 'webhook', delivery) : bank.paid.get(id)?.reference
  if (reference !== undefined) {
    const body = { reference, attempt, ...(status === 'FAILED' ? { late: true } : {}) }
    const outcome = await world.act(`/deliveries/${id}/settle`, body, 'POST', isSure)
    world.count(`found out: settle of ${status}, ${outcome.kind}`)
  } else if (status !== 'FAILED' && bank.refuse(id)) {
    const body = { reason: 'not paid', attempt, earlier_attempts: 'not_paid' }
    const outcome = await world.act(`/deliveries/${id}/fail`, body, 'POST', isSure)
    world.count(`found out: fail of ${status}, ${outcome.kind}`)
  }
}
