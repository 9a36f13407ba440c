/**
 * Random runs of three processes that contend for a feed lease while processes are stopped, killed and replaced, and
 * connections to the store and the bus fail. Every 50 ms each process publishes if it may; the others hear its epoch
 * unless a connection is cut.
 */
import { asyncProperty, assert as check, integer } from 'fast-check'
import { expect, it } from 'vitest'
import { LEASE_TIMING } from '../../../src/streaming/markets/feed-lease.ts'
import { type Candidate, LeaseWorld, type Path, STEP_MILLISECONDS } from '../../support/feed-leases.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'

const PROCESSES = 3
const STEPS = 400
const PATHS: readonly Path[] = ['open', 'open', 'refused', 'answer lost', 'held']

/** What the test knows of one process. */
interface Process {
  readonly candidate: Candidate
  isOnBus: boolean
  highestHeard: number
  /** After a long stop: the epochs that it may not publish until the store has confirmed them. */
  hasToAsk: boolean
  requestsWhenResumed: number
}

class Run {
  readonly world: LeaseWorld
  readonly #random: Random
  readonly #processes: Process[] = []
  readonly #holderOfEpoch = new Map<number, Candidate>()
  #seenTakes = 0

  constructor(random: Random) {
    this.#random = random
    this.world = new LeaseWorld(() => random.next())
    for (let count = 0; count < PROCESSES; count++) this.#start()
  }

  async step(): Promise<void> {
    const process = this.#random.pick(this.#processes)
    const { candidate } = process
    const action = this.#random.integer(40)
    if (action === 0) this.#kill(process)
    else if (action === 1) candidate.isRunning = false
    else if (action <= 3 && !candidate.isRunning) this.#resume(process)
    else if (action === 4) candidate.path = this.#random.pick(PATHS)
    else if (action === 5) candidate.open()
    else if (action === 6) process.isOnBus = !process.isOnBus
    await this.world.pass(STEP_MILLISECONDS)
    this.#checkEpochs()
    for (const each of this.#processes) if (each.candidate.isRunning) this.#publish(each)
  }

  /** Everything works again; exactly one leads after 8 s: a lease, the grace after an outage, and questions between. */
  async settle(): Promise<void> {
    for (const process of this.#processes) {
      process.isOnBus = true
      process.candidate.open()
      if (!process.candidate.isRunning) this.#resume(process)
    }
    for (let passed = 0; passed < 8_000; passed += STEP_MILLISECONDS) {
      await this.world.pass(STEP_MILLISECONDS)
      this.#checkEpochs()
      for (const each of this.#processes) this.#publish(each)
    }
    const leaders = this.#processes.filter(({ candidate }) => candidate.lease.mayPublish())
    expect(leaders).toHaveLength(1)
    expect(leaders[0]?.candidate.lease.state.epoch).toBe(this.world.model.row?.epoch)
  }

  #start(): void {
    const candidate = this.world.add()
    this.#processes.push({ candidate, isOnBus: true, highestHeard: 0, hasToAsk: false, requestsWhenResumed: 0 })
  }

  #kill(process: Process): void {
    process.candidate.isRunning = false
    process.candidate.path = 'refused'
    this.#processes.splice(this.#processes.indexOf(process), 1)
    this.#start()
  }

  #resume(process: Process): void {
    const { candidate } = process
    const wasLong = candidate.stoodMilliseconds > LEASE_TIMING.leaseMilliseconds
    this.world.resume(candidate, () => {
      if (!wasLong) return
      // Before any of its own timers runs, it publishes nothing.
      expect(candidate.lease.mayPublish()).toBe(false)
      process.hasToAsk = true
      process.requestsWhenResumed = candidate.requests
    })
  }

  /** Each epoch has one holder, and each is larger than all before. */
  #checkEpochs(): void {
    const takes: [number, Candidate][] = this.world.candidates.flatMap((candidate) =>
      candidate.journal.epochs.map((epoch): [number, Candidate] => [epoch, candidate]),
    )
    expect(takes.length).toBeGreaterThanOrEqual(this.#seenTakes)
    this.#seenTakes = takes.length
    for (const [epoch, candidate] of takes) {
      const holder = this.#holderOfEpoch.get(epoch)
      if (holder !== undefined) expect(candidate).toBe(holder)
      else {
        for (const earlier of this.#holderOfEpoch.keys()) expect(epoch).toBeGreaterThan(earlier)
        this.#holderOfEpoch.set(epoch, candidate)
      }
    }
    expect(takes).toHaveLength(this.#holderOfEpoch.size)
  }

  #publish(process: Process): void {
    const { candidate } = process
    if (!candidate.lease.mayPublish()) return
    const { epoch } = candidate.lease.state
    expect(candidate.journal.epochs.at(-1)).toBe(epoch)
    expect(epoch).toBeGreaterThanOrEqual(process.highestHeard)
    // After a long stop it has asked the store since.
    if (process.hasToAsk) expect(candidate.requests).toBeGreaterThan(process.requestsWhenResumed)
    process.hasToAsk = false
    if (!process.isOnBus) return
    for (const other of this.#processes) {
      if (!other.isOnBus || !other.candidate.isRunning) continue
      other.highestHeard = Math.max(other.highestHeard, epoch)
      other.candidate.lease.heard(epoch)
    }
  }
}

it('the feed lease never has two holders of an epoch, a smaller one after a larger, or a leader resumed without asking', async () => {
  await check(
    asyncProperty(integer(), async (seed) => {
      const run = new Run(new Random(seed))
      for (let step = 0; step < STEPS; step++) await run.step()
      await run.settle()
      await run.world.stop()
    }),
    propertySettings(20),
  )
})
