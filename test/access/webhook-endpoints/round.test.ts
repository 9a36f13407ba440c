/**
 * Rounds against a model of the store, with random events, answers, time limits and lost records: one object's events
 * are accepted in order, and nothing is left out.
 */
import { expect, it } from 'vitest'
import { type Backlog, type Claim, FAILURES_MAX } from '../../../src/access/webhook-endpoints/claims.ts'
import { type RoundResult, runRound, type SentEvent } from '../../../src/access/webhook-endpoints/round.ts'
import { Random } from '../../support/random.ts'

const OBJECTS = 30
const SEEDS = 60

/** One endpoint as the store has it, without times: everything that waits is due. */
class Model {
  readonly events: SentEvent[] = []
  passed = 0
  failures = 0
  waits = false
  backlogs = new Map<string, Backlog>()
  result: RoundResult | undefined
  /** The accepted sequences, by object. */
  readonly accepted = new Map<string, number[]>()

  add(object: string): void {
    const sequence = this.events.length + 1
    this.events.push({ sequence, id: `event ${sequence}`, objectType: 'transfer', objectId: object, text: '' })
  }

  claim(): Claim {
    const backlogs = [...this.backlogs.values()].sort(
      (left, right) => (left.sequences[0] ?? 0) - (right.sequences[0] ?? 0),
    )
    const enabled = { isClientEnabled: true, isCustomerEnabled: true, scopes: [] }
    const rest = { id: '', customerId: '', ...enabled, url: '', types: [], status: 'ACTIVE', secrets: [] } as const
    const { passed: passedSequence, failures } = this
    return { ...rest, backlogs, passedSequence, failures, lastSequence: 0, testId: null, attempt: 1, dueAt: '' }
  }

  record(result: RoundResult): void {
    const { passedSequence, failures, waits, backlogs } = result
    this.result = result
    Object.assign(this, { passed: passedSequence, failures, waits })
    for (const { object_type: objectType, object_id: objectId, sequences, attempts } of backlogs) {
      if (sequences.length === 0) this.backlogs.delete(objectId)
      else this.backlogs.set(objectId, { objectType, objectId, sequences, attempts, isDue: true, isOverdue: false })
    }
  }
}

interface Behaviour {
  readonly failShare: number
  /** Requests after which the round's time is over. */
  readonly requestsMax: number
  readonly isLost: boolean
  /** The object whose events are always refused. */
  readonly refused?: string
}

const REFUSING: Behaviour = { failShare: 0, requestsMax: 1_000, isLost: false }

async function play(
  model: Model,
  random: Random,
  { failShare, requestsMax, isLost, refused }: Behaviour,
): Promise<number> {
  let requests = 0
  const inFlight = new Set<string>()
  const result = await runRound(model.claim(), {
    random: () => 0.5,
    signal: new AbortController().signal,
    elapsed: () => (requests >= requestsMax ? 60_000 : 0),
    readAt: async (sequences) => model.events.filter(({ sequence }) => sequences.includes(sequence)),
    readNew: async (limit) => {
      const events = model.events.slice(model.passed, model.passed + limit)
      const passedSequence = model.passed + events.length
      return { events, passedSequence, isEnd: passedSequence === model.events.length }
    },
    async send({ sequence, objectId }) {
      requests++
      expect(inFlight.has(objectId), 'one request at a time for one object').toBe(false)
      inFlight.add(objectId)
      expect(inFlight.size).toBeLessThanOrEqual(8)
      for (let ticks = random.integer(4); ticks > 0; ticks--) await Promise.resolve()
      inFlight.delete(objectId)
      if (objectId === refused || random.chance(failShare)) return 'answered with status 500'
      const accepted = model.accepted.get(objectId) ?? []
      model.accepted.set(objectId, [...accepted, sequence])
      return undefined
    },
  })
  if (!isLost) model.record(result)
  return requests
}

it('one object’s events are accepted in order and none is left out, whatever fails, stops or is lost', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed)
    const model = new Model()
    for (let round = 0; round < 40; round++) {
      for (let added = random.integer(60); added > 0; added--) model.add(`object ${random.integer(OBJECTS)}`)
      await play(model, random, {
        failShare: random.pick([0, 0.05, 0.5, 1]),
        requestsMax: random.pick([5, 50, 1_000]),
        isLost: random.chance(0.1),
      })
    }
    for (let round = 0; round < 100; round++) {
      await play(model, random, { failShare: 0, requestsMax: 1_000, isLost: false })
    }
    expect([model.passed, model.backlogs.size, model.failures], `seed ${seed}`).toEqual([model.events.length, 0, 0])
    for (const [object, accepted] of model.accepted) {
      const wanted = model.events.filter(({ objectId }) => objectId === object).map(({ sequence }) => sequence)
      // A round that was not recorded is repeated: an event may be accepted again, from the round's begin on.
      expect([...new Set(accepted)], `seed ${seed}, ${object}`).toEqual(wanted)
    }
  }
})

it('an endpoint that fails gets one request for each round, and its backlog stays bounded', async () => {
  const random = new Random(7)
  const model = new Model()
  const requests: number[] = []
  for (let round = 0; round < 50; round++) {
    for (let added = 0; added < 200; added++) model.add(`object ${random.integer(10_000)}`)
    requests.push(await play(model, random, { failShare: 1, requestsMax: 1_000, isLost: false }))
    expect(model.waits).toBe(true)
  }
  expect(requests[0]).toBeGreaterThanOrEqual(FAILURES_MAX)
  expect(requests[0]).toBeLessThan(FAILURES_MAX + 8)
  expect(new Set(requests.slice(1))).toEqual(new Set([1]))
  expect(model.passed).toBe(100)
  expect(model.failures).toBe((requests[0] as number) + 49)
})

it('an endpoint that refuses one event of many objects stops reading new ones when its backlog is full', async () => {
  const random = new Random(9)
  const model = new Model()
  for (let added = 0; added < 5_000; added++) model.add(`object ${added % 2_500}`)
  const refused = (object: string) => Number(object.split(' ')[1]) % 2 === 0
  for (let round = 0; round < 80; round++) {
    const claim = model.claim()
    const result = await runRound(claim, {
      random: () => random.next(),
      signal: new AbortController().signal,
      elapsed: () => 0,
      readAt: async (sequences) => model.events.filter(({ sequence }) => sequences.includes(sequence)),
      readNew: async (limit) => {
        const events = model.events.slice(model.passed, model.passed + limit)
        return { events, passedSequence: model.passed + events.length, isEnd: false }
      },
      send: async ({ objectId }) => (refused(objectId) ? 'answered with status 422' : undefined),
    })
    model.record(result)
    for (const [object, backlog] of model.backlogs) model.backlogs.set(object, { ...backlog, isDue: false })
  }
  expect(model.backlogs.size).toBeGreaterThanOrEqual(200)
  expect(model.backlogs.size).toBeLessThan(300)
  expect(model.waits).toBe(true)
})

it('an endpoint that refuses one object’s event for good gets all others at once', async () => {
  const random = new Random(11)
  const model = new Model()
  model.add('refused')
  const round = () => play(model, random, { ...REFUSING, refused: 'refused' })
  for (let rounds = 0; rounds < 20; rounds++) expect(await round()).toBe(1)
  for (let added = 0; added < 100; added++) model.add(added % 10 === 0 ? 'refused' : `object ${added % 20}`)
  await round()
  expect([...model.accepted.values()].flat().length).toBe(90)
  expect([...model.backlogs.keys()]).toEqual(['refused'])
  expect(model.passed).toBe(101)
})

it('an endpoint that is back gets everything but the oldest event, which it refuses for good', async () => {
  const random = new Random(12)
  for (const objects of [9, 5]) {
    const model = new Model()
    model.add('refused')
    for (let object = 1; object < objects; object++) model.add(`object ${object}`)
    for (let rounds = 0; rounds < 10; rounds++) await play(model, random, { ...REFUSING, failShare: 1 })
    expect(model.waits).toBe(true)
    for (let added = 0; added < 50; added++) model.add(`later ${added}`)
    for (let rounds = 0; rounds < 5; rounds++) await play(model, random, { ...REFUSING, refused: 'refused' })
    expect([...model.backlogs.keys()]).toEqual(['refused'])
    expect([...model.accepted.values()].flat().length).toBe(objects - 1 + 50)
  }
})

it('a probe takes the event that would disable its endpoint, however many others were tried less', async () => {
  const model = new Model()
  for (let object = 0; object < 9; object++) model.add(`object ${object}`)
  const random = new Random(13)
  await play(model, random, { ...REFUSING, failShare: 1 })
  const [oldest] = model.backlogs.values()
  model.backlogs.set('object 0', { ...(oldest as Backlog), attempts: 40, isOverdue: true })
  model.backlogs.set('object 8', { ...(model.backlogs.get('object 8') as Backlog), attempts: 0 })
  expect(await play(model, random, { ...REFUSING, failShare: 1 })).toBe(1)
  expect(model.result?.overdue).toMatch(/^event 1 about transfer object 0 failed for 72 hours/)
})

it('an endpoint whose failed events are no longer for it is not due until the next event', async () => {
  const random = new Random(14)
  const model = new Model()
  for (let object = 0; object < 6; object++) model.add(`object ${object}`)
  for (let rounds = 0; rounds < 3; rounds++) await play(model, random, { ...REFUSING, failShare: 1 })
  expect(model.failures).toBeGreaterThan(FAILURES_MAX)
  model.backlogs.clear()
  expect(await play(model, random, REFUSING)).toBe(0)
  expect(model.result).toEqual({ passedSequence: 6, failures: 0, backlogs: [], isRecovered: false, waits: false })
  model.add('object 7')
  expect(await play(model, random, REFUSING)).toBe(1)
  expect(model.accepted.get('object 7')).toEqual([7])
})
