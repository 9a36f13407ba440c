/**
 * A publication that is lost, repeated, damaged, delayed and restarted at random, against the engine that published it:
 * a trusted book is always the one after the last message applied, no execution is published twice, and none is skipped
 * without `missed`.
 */

import { expect, test } from 'vitest'
import type { MarketDefinition } from '../../../../src/streaming/market/event.ts'
import { parsePublication } from '../../../../src/streaming/sources/publication/message.ts'
import { PublicationReader } from '../../../../src/streaming/sources/publication/publication-reader.ts'
import type { PublicationStep } from '../../../../src/streaming/sources/publication/publication-step.ts'
import { note } from '../../../support/note.ts'
import { seedOf } from '../../../support/property.ts'
import { PublicationFollower } from '../../../support/publication-follower.ts'
import { PublishingEngine, type WireMessage } from '../../../support/publishing-engine.ts'
import { Random } from '../../../support/random.ts'

const LONG = process.env.TIDEGATE_LONG === '1'
const RUNS = LONG ? 4_000 : 50
const STEPS = 120
const FIRST_SEED = seedOf(20_261_123)
note(`publication model: seed ${FIRST_SEED}`)

const MARKET: MarketDefinition = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 3,
  amountDecimals: 9,
  depth: 0,
}

class World {
  readonly random: Random
  readonly engine: PublishingEngine
  readonly reader = new PublicationReader({ market: MARKET })
  readonly follower = new PublicationFollower(MARKET)
  readonly past: WireMessage[] = []
  isRequested = false
  isConnected = true

  constructor(seed: number) {
    this.random = new Random(seed)
    const publishesOrders = this.random.chance(0.5)
    this.engine = new PublishingEngine({ symbol: 'BTCUSD', random: this.random, publishesOrders, keptMax: 20 })
  }

  deliver(message: WireMessage): void {
    this.deliverText(JSON.stringify(message))
    // A LOST has no number of its own: a second one counts, and the engine would have to send a SNAPSHOT for it.
    if (message.payload.type !== 'LOST') this.past.push(message)
  }

  deliverText(text: string): void {
    const parsed = parsePublication(text)
    if (parsed.type === 'heartbeat') throw new Error('not a heartbeat')
    const before = this.reader.position
    this.note(parsed.type === 'problem' ? this.reader.refuse(parsed) : this.reader.take(parsed))
    // The engine's first SNAPSHOT, or the first of an epoch without executions before it: what follows counts.
    const { position } = this.reader
    if (position?.epoch === this.engine.epoch && position.epoch !== before?.epoch && this.follower.executions === 0) {
      this.follower.start(this.engine.tradesAt(position.seq))
    }
  }

  note({ events, request }: PublicationStep): void {
    this.follower.apply(events)
    if (request !== undefined) this.isRequested = true
    this.verify()
  }

  verify(): void {
    const { reader, follower, engine } = this
    if (follower.isLive !== reader.isLive) throw new Error(`the book is ${reader.isLive ? '' : 'not '}trusted`)
    if (!reader.isLive) return
    const { epoch, seq } = reader.position as { epoch: string; seq: number }
    if (epoch !== engine.epoch) return
    const [published, expected] = [follower.levels(), engine.levels(seq)]
    const differs = [...expected].some(([key, amount]) => published.get(key) !== amount)
    if (differs || published.size !== expected.size) expect(published).toEqual(expected)
    if (reader.instrument?.state !== engine.state(seq)) throw new Error(`the state is ${reader.instrument?.state}`)
  }

  step(): void {
    const { random, engine } = this
    if (!this.isConnected) {
      if (random.chance(0.3)) engine.step()
      if (random.chance(0.4)) this.reconnect()
      return
    }
    if (this.isRequested && random.chance(0.4)) {
      this.answer()
      return
    }
    const action = random.integer(40)
    if (action === 0) engine.step()
    else if (action === 1) this.deliver(random.pick([engine.snapshot(), ...this.past.slice(-10)]))
    else if (action === 2) this.deliver(engine.snapshot())
    else if (action === 3) this.damage(engine.step())
    else if (action === 4) engine.restart()
    else if (action === 5) this.restartWithSnapshot()
    else if (action === 6) this.loseAndRecover()
    else if (action === 7) this.disconnect()
    else if (action === 8) this.deliver(engine.setState(random.pick(['OPEN', 'HALTED', 'AUCTION', 'CLOSED'])))
    else if (action === 9) this.note(this.reader.rebuild('the book is crossed'))
    else if (action === 10) this.digest()
    else if (action === 11) this.conflate()
    else this.deliver(engine.step())
  }

  /** A relay that lags sends one message for several, the executions of all of them included. */
  conflate(): void {
    const first = this.engine.seq
    const messages = Array.from({ length: 1 + this.random.integer(4) }, () => this.engine.step())
    const last = messages.at(-1) as WireMessage
    if (last.payload.orders !== undefined) {
      for (const message of messages) this.deliver(message)
      return
    }
    const after = this.engine.levels()
    const changed = (side: string) => {
      const touched = messages.flatMap(({ payload }) => payload[side] as { price: string }[])
      return [...new Set(touched.map(({ price }) => price))].map((price) => {
        return { price, amount: after.get(`${side} ${price}`) ?? '0' }
      })
    }
    const executions = messages.flatMap(({ payload }) => payload.executions as object[])
    const payload = { ...last.payload, bids: changed('bids'), asks: changed('asks'), executions }
    this.deliver({ ...last, payload, stream: { ...last.stream, prev: first } })
  }

  /** Sends the SNAPSHOT that was requested: the current one, or an earlier one and the messages after it. */
  answer(): void {
    this.isRequested = false
    const { engine, random } = this
    const back = Math.min(random.chance(0.3) ? random.integer(10) : 0, engine.seq)
    const later = engine.after(`${engine.epoch}.${engine.seq - back}`) ?? []
    this.deliver(engine.snapshot(engine.seq - later.length))
    for (const message of later) this.deliver(message)
  }

  damage(message: WireMessage): void {
    const text = JSON.stringify(message)
    const damaged = [
      text.replace('"UPDATE"', '"UPDATED"'),
      text.replace(/"price":"/, '"price":"-'),
      text.replace(/"amount":"([0-9.]+)"/, '"amount":$1'),
      text.replace(/"price":"([0-9.]+)"/, '"price":"$10001"'),
      text.replace(/"seq":(\d+)/, '"seq":"$1"'),
      text.replace(/"order_id":"o/, '"order_id":"x'),
    ].filter((one) => one !== text)
    if (damaged.length > 0) this.deliverText(this.random.pick(damaged))
  }

  restartWithSnapshot(): void {
    this.engine.restart()
    this.deliver(this.engine.snapshot())
    this.isRequested = false
  }

  loseAndRecover(): void {
    this.deliver(this.engine.lost('its own source failed'))
    for (let left = this.random.integer(3); left > 0; left--) this.deliver(this.engine.step())
    this.deliver(this.engine.snapshot())
    this.isRequested = false
  }

  digest(): void {
    const { reader, random } = this
    const { position } = reader
    if (position === undefined) return
    // A digest that is right is compared by the unit tests; a wrong one must not pass.
    if (random.chance(0.5)) this.note(reader.compare({ market: 'BTCUSD', ...position, digest: '0123456789abcdef' }))
  }

  disconnect(): void {
    this.isConnected = false
    this.isRequested = false
    this.follower.apply(this.reader.disconnect('the connection was closed'))
    this.verify()
  }

  reconnect(): void {
    const { reader, engine, random } = this
    this.isConnected = true
    const position = reader.needsSnapshot ? undefined : reader.position
    const later = position === undefined ? undefined : engine.after(`${position.epoch}.${position.seq}`)
    if (later === undefined || random.chance(0.3)) {
      this.answer()
      return
    }
    this.follower.apply(reader.resume())
    this.verify()
    for (const message of later) this.deliver(message)
  }

  /** The end of all faults: the book must be trusted again. */
  settle(): void {
    if (!this.isConnected) this.reconnect()
    if (this.reader.position?.epoch !== this.engine.epoch) this.deliver(this.engine.step())
    this.deliver(this.engine.step())
    if (!this.reader.isLive) expect(this.isRequested).toBe(true)
    if (this.isRequested) this.answer()
    // In an epoch that was left, a SNAPSHOT from before is refused and another one is requested.
    if (this.isRequested) this.deliver(this.engine.snapshot())
    expect(this.reader.isLive).toBe(true)
    expect(this.reader.position).toEqual({ epoch: this.engine.epoch, seq: this.engine.seq })
  }
}

test('no wrong book is trusted and no execution is repeated or skipped silently, whatever is lost', () => {
  let executions = 0
  let missed = 0
  for (let run = 0; run < RUNS; run++) {
    const seed = FIRST_SEED + run
    const world = new World(seed)
    try {
      world.deliver(world.engine.snapshot())
      for (let step = 0; step < STEPS; step++) world.step()
      world.settle()
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
    executions += world.follower.executions
    missed += world.follower.missed
  }
  expect(executions).toBeGreaterThan(RUNS * 20)
  expect(missed).toBeGreaterThan(RUNS)
})
