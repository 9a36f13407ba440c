/**
 * A relay: the reader of a publication against the channel `publication` of this program's own gateway, while the market
 * changes, is lost, misses executions, and the relay lags, is cut off and resumes.
 */

import { expect, test } from 'vitest'
import { parseJson } from '../../../../src/platform/base/json-value.ts'
import { ASK, BID, type LevelChange } from '../../../../src/streaming/market/event.ts'
import { readPublication } from '../../../../src/streaming/sources/publication/message.ts'
import { PublicationReader } from '../../../../src/streaming/sources/publication/publication-reader.ts'
import type { PublicationStep } from '../../../../src/streaming/sources/publication/publication-step.ts'
import { isControl, publicationEntry, readControl } from '../../../../src/streaming/sources/tidegate/control.ts'
import { NaiveBook } from '../../../support/naive-book.ts'
import { note } from '../../../support/note.ts'
import { seedOf } from '../../../support/property.ts'
import { PublicationFollower } from '../../../support/publication-follower.ts'
import { Random } from '../../../support/random.ts'
import { testMarket } from '../../../support/stream-simulation.ts'
import { type LiveClient, LiveStream } from '../../gateway/live-stream.ts'

const LONG = process.env.TIDEGATE_LONG === '1'
const RUNS = LONG ? 2_000 : 25
const FIRST_SEED = seedOf(20_261_124)
note(`relayed publication: seed ${FIRST_SEED}`)
const MARKET = testMarket('AAAUSD', 0)

class Relay {
  readonly stream: LiveStream
  readonly reader = new PublicationReader({ market: MARKET })
  readonly follower = new PublicationFollower(MARKET)
  #client: LiveClient | undefined
  requests = 0

  constructor(stream: LiveStream) {
    this.stream = stream
  }

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  connect(): void {
    this.#client = this.stream.connect({ subprotocol: 'tidegate.v1', kernelBytes: 3_000 })
    const position = this.reader.needsSnapshot ? undefined : this.reader.position
    this.#handle(this.#ask('subscribe', publicationEntry('AAAUSD', position)))
  }

  read(): void {
    this.#handle(this.#client?.read() ?? [])
  }

  cut(): void {
    this.#client?.session.end()
    this.#client = undefined
    this.follower.apply(this.reader.disconnect('cut off'))
  }

  rebuild(): void {
    this.#note(this.reader.rebuild('the book is crossed'))
  }

  #ask(type: string, entry: object): string[] {
    return this.#client?.ask({ type, channels: [entry] }) ?? []
  }

  #handle(texts: readonly string[]): void {
    for (const text of texts) {
      const value = parseJson(text)
      if (isControl(value)) {
        const [answer] = readControl(value) as Exclude<ReturnType<typeof readControl>, { problem: string }>
        expect(answer?.isSuccess).toBe(true)
        if (answer?.isResumed === true) this.follower.apply(this.reader.resume())
        continue
      }
      const message = readPublication(value)
      if (message.type === 'problem' || message.type === 'heartbeat') throw new Error(JSON.stringify(message))
      this.#note(this.reader.take(message))
    }
  }

  #note({ events, request, problem }: PublicationStep): void {
    expect(problem).toBeUndefined()
    this.follower.apply(events)
    if (request === undefined) return
    this.requests++
    this.#handle(this.#ask('unsubscribe', publicationEntry('AAAUSD')))
    this.#handle(this.#ask('subscribe', publicationEntry('AAAUSD')))
  }
}

class World {
  readonly random: Random
  readonly stream: LiveStream
  readonly relay: Relay
  readonly book = new NaiveBook()
  isLive = true
  #trades = 0

  constructor(seed: number) {
    this.random = new Random(seed)
    const settings = { outboxBytesMax: 2_000 }
    this.stream = new LiveStream({ depth: 0, executionsKept: this.random.pick([3, 50]), settings })
    this.relay = new Relay(this.stream)
    this.stream.sequencers.get('AAAUSD')?.setInstrument({ state: 'OPEN', reason: '' })
    this.publishBook()
    this.relay.connect()
    this.relay.follower.start(0)
  }

  step(): void {
    const { random, relay, stream } = this
    const action = random.integer(20)
    if (action === 0) {
      stream.lose()
      this.isLive = false
    } else if (action === 1) this.publishBook()
    else if (action === 2) stream.sequencers.get('AAAUSD')?.offer({ type: 'missed', reason: 'a gap of the source' })
    else if (action === 3 && relay.isConnected) relay.cut()
    else if (action === 4 && !relay.isConnected) relay.connect()
    else if (action === 5 && relay.isConnected) relay.rebuild()
    else if (action < 10 && relay.isConnected) relay.read()
    else this.update()
  }

  publishBook(): void {
    this.book.replace([this.#level(), this.#level(), this.#level()].filter(({ amount }) => amount !== 0))
    this.stream.snapshot(this.book.levels(0))
    this.isLive = true
  }

  update(): void {
    const changes = Array.from({ length: this.random.integer(4) }, () => this.#level())
    const executions = Array.from({ length: this.random.integer(3) }, () => {
      this.#trades++
      return { id: `T${this.#trades}`, price: 10_000, amount: this.#trades }
    })
    if (this.isLive) this.book.apply(changes)
    this.stream.update(changes, executions)
  }

  verify(): void {
    const { relay } = this
    this.stream.clock.advance(5)
    if (!relay.isConnected) relay.connect()
    relay.read()
    expect(relay.follower.isLive).toBe(relay.reader.isLive)
    expect(relay.reader.isLive).toBe(this.isLive)
    if (this.isLive) expect(relay.follower.book.levels(0)).toEqual(this.book.levels(0))
    if (this.isLive) expect(relay.reader.instrument).toEqual({ state: 'OPEN', reason: '' })
  }

  #level(): LevelChange {
    const side = this.random.pick([BID, ASK] as const)
    const rank = 1 + this.random.integer(9)
    return { side, price: 10_000 + (side === BID ? -rank : rank), amount: this.random.integer(4) }
  }
}

test('a relay has the book of its upstream, and no execution of it twice or silently missing', () => {
  let executions = 0
  let missed = 0
  for (let run = 0; run < RUNS; run++) {
    const seed = FIRST_SEED + run
    const world = new World(seed)
    try {
      for (let round = 0; round < 8; round++) {
        for (let step = 0; step < 12; step++) world.step()
        world.verify()
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
    executions += world.relay.follower.executions
    missed += world.relay.follower.missed
  }
  expect(executions).toBeGreaterThan(RUNS * 20)
  expect(missed).toBeGreaterThan(RUNS)
})
