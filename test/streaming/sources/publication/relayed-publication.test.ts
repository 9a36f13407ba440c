/**
 * A relay: the reader of a publication against the channel `publication` of this program's own gateway, while the market
 * changes, is lost, misses executions, changes between a publication and a venue as its source, and the relay lags, is cut
 * off and resumes.
 */

import { expect, test } from 'vitest'
import { parseJson } from '../../../../src/platform/base/json-value.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../../../src/streaming/market/event.ts'
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

/** The upstream's books by their origin. */
type Books = Map<string, string>

class Relay {
  readonly stream: LiveStream
  readonly #books: Books
  readonly reader = new PublicationReader({ market: MARKET })
  readonly follower = new PublicationFollower(MARKET)
  #client: LiveClient | undefined
  requests = 0

  constructor(stream: LiveStream, books: Books) {
    this.stream = stream
    this.#books = books
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
    for (const event of events) {
      this.follower.apply([event])
      const origin = event.type === 'snapshot' || event.type === 'update' ? event.origin : undefined
      if (origin === undefined) continue
      expect(`${origin}: ${bookText(this.follower.book.levels(0))}`).toBe(`${origin}: ${this.#books.get(origin)}`)
    }
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
  readonly #books: Books = new Map()
  #trades = 0
  /** Of the last message in the publication that is the upstream's source, if it is one. */
  #seq = 0
  #isRelayed = false

  constructor(seed: number) {
    this.random = new Random(seed)
    const settings = { outboxBytesMax: 2_000 }
    this.stream = new LiveStream({ depth: 0, executionsKept: this.random.pick([3, 50]), settings })
    this.relay = new Relay(this.stream, this.#books)
    const replica = this.stream.replicas.get('AAAUSD')!
    replica.listen({
      onCommit: () => {
        const origin = replica.publication.originAt(replica.version) ?? 'unknown'
        const text = bookText(replica.view.levels())
        expect(`${origin}: ${this.#books.get(origin) ?? text}`).toBe(`${origin}: ${text}`)
        this.#books.set(origin, text)
      },
      onStatus: () => undefined,
    })
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
    this.stream.clock.advance(1)
    if (this.random.chance(0.3)) this.#isRelayed = !this.#isRelayed
    this.#offer({ type: 'snapshot', levels: this.book.levels(0) })
    this.stream.clock.advance(1)
    this.isLive = true
  }

  update(): void {
    const changes = Array.from({ length: this.random.integer(4) }, () => this.#level())
    const executions = Array.from({ length: this.random.integer(3) }, () => {
      this.#trades++
      return { id: `T${this.#trades}`, price: 10_000, amount: this.#trades }
    })
    if (this.isLive) this.book.apply(changes)
    this.stream.clock.advance(1)
    this.#offer({ type: 'update', changes, executions })
    this.stream.clock.advance(1)
  }

  #offer(event: MarketEvent): void {
    const hasOrigin = this.#isRelayed && (event.type === 'snapshot' || event.type === 'update')
    this.#seq += 1
    this.stream.sequencers.get('AAAUSD')!.offer(hasOrigin ? { ...event, origin: `run.${this.#seq}` } : event)
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

function bookText(levels: readonly LevelChange[]): string {
  return levels
    .map(({ side, price, amount }) => `${side} ${price} ${amount}`)
    .sort()
    .join()
}

test('a relay has the book of its upstream with its origin, and no execution of it twice or silently missing', () => {
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
