/**
 * The client on the service's own hub, with a network between them that loses, repeats and alters messages and ends
 * connections: whatever happens, the book is that of the service as soon as it says so, and so is every copy that a loop
 * makes of it. Virtual time; the seed is in the name of the failing property.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Book, type Level, StreamClient } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, settled } from '../support/client-platform.ts'
import { HubSocket } from '../support/hub-socket.ts'
import { propertySettings } from '../support/property.ts'
import { StreamSimulation, testMarket } from '../support/stream-simulation.ts'

const MARKETS = [testMarket('BTCUSD', 50), testMarket('ETHUSD', 10)]
/** Levels name two venues, and one. */
const NOISE = [
  { levels: 40, changesMax: 8, venues: 'two' },
  { levels: 40, changesMax: 8, venues: 'one' },
] as const
const ROUNDS = 100
const LAST_ROUNDS = 3

/** A copy of a book, made of the changes that a loop gets; slow every now and then. */
class Copy {
  readonly sides = { bids: new Map<string, string>(), asks: new Map<string, string>() }
  time = ''
  readonly ended: Promise<void>

  constructor(book: Book, isSlow: () => boolean) {
    this.ended = this.#follow(book, isSlow)
  }

  async #follow(book: Book, isSlow: () => boolean): Promise<void> {
    for await (const change of book) {
      for (const side of ['bids', 'asks'] as const) {
        const levels = this.sides[side]
        if (change.type === 'SNAPSHOT') levels.clear()
        for (const level of change[side]) {
          const [price, ...content] = textsOf(level)
          if (level.amount !== '0') levels.set(price, JSON.stringify(content))
          else if (!levels.delete(price)) throw new Error(`${price} is removed, which the copy does not have`)
        }
      }
      this.time = change.time
      while (isSlow()) await settled()
    }
  }
}

/** A level in the notation of the history: price, amount, and pairs of a venue and its amount where it names them. */
function textsOf({ price, amount, venues }: Level): [string, string, [string, string][]?] {
  return venues === undefined ? [price, amount] : [price, amount, venues.map((share) => [share.venue, share.amount])]
}

/** As the top of a book has it. */
function pick({ price, amount }: Level): Pick<Level, 'price' | 'amount'> {
  return { price, amount }
}

function sorted(levels: Iterable<readonly [string, string]>): string {
  return JSON.stringify([...levels].sort())
}

interface Run {
  readonly seed: number
  readonly protocol: 'tidegate.v1' | 'tidegate.default'
  /** Per mille of messages that are lost, repeated or altered. */
  readonly faults: number
}

async function play({ seed, protocol, faults }: Run): Promise<void> {
  const simulation = new StreamSimulation({ seed, markets: MARKETS, noise: NOISE })
  const { random, clock } = simulation
  const platform = new FakePlatform(clock)
  const hub: HubSocket[] = []
  let isNoisy = true
  const deliver = (text: string, socket: HubSocket): void => {
    // Nothing is compared with the top of a book: what TCP delivers is right.
    const isTop = text.includes('"market_data.top_of_book","payload"')
    const fault = !isTop && isNoisy && random.integer(1_000) < faults ? random.integer(3) : undefined
    if (fault === 0 && text.includes('"channel"')) return
    socket.receive(fault === 1 ? text.replace(/"amount":"([\d.]*)[1-8]"/, '"amount":"$19"') : text)
    if (fault === 2 && !text.includes('"unsubscribe"')) socket.receive(text)
  }
  platform.open = (url, offered) => {
    const socket = new HubSocket(url, offered, deliver)
    hub.push(socket)
    void settled().then(() => socket.join(simulation, protocol))
    return socket
  }
  simulation.start()
  const client = new StreamClient({ credentials: CREDENTIALS }, platform)
  const opening = Promise.all(MARKETS.map(({ symbol }) => client.book(symbol, { attribution: true })))
  const openingTops = Promise.all(MARKETS.map(({ symbol }) => client.topOfBook(symbol)))
  const step = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds)
    const { transport } = hub.at(-1) ?? {}
    if (random.integer(4) > 0 || !isNoisy) {
      transport?.flush()
      transport?.drain()
    }
    clock.settle()
    await settled()
  }
  const copies: Copy[] = []
  let books: readonly Book[] = []
  void opening.then((opened) => {
    books = opened
    for (const book of opened) copies.push(new Copy(book, () => isNoisy && random.integer(2) === 0))
  })
  await settled()
  for (let round = 0; round < ROUNDS || books.length === 0; round++) {
    for (const { symbol } of MARKETS) simulation.offer(symbol, random.integer(31) === 0 ? 'snapshot' : 'update')
    if (random.integer(26) === 0) {
      hub.at(-1)?.leave()
      hub.at(-1)?.end(1006)
    }
    await step(1 + random.integer(400))
    if (round > 50 * ROUNDS) throw new Error('the books did not open')
  }
  // At the end, each of several messages is the last one for a while: nothing later reveals what happened to it.
  for (let round = 0; round < LAST_ROUNDS; round++) {
    isNoisy = false
    for (let waited = 0; waited < 100; waited++) await step(500)
    isNoisy = true
    for (const { symbol } of MARKETS) simulation.offer(symbol, 'update')
    await step(10)
  }
  isNoisy = false
  for (let waited = 0; waited < 200; waited++) await step(500)
  const tops = await openingTops
  for (const [index, { symbol }] of MARKETS.entries()) {
    const book = books[index] as Book
    const history = simulation.histories.get(symbol)
    expect(book.status).toBe('LIVE')
    const [bestBid, bestAsk] = [book.bestBid, book.bestAsk].map((level) => level && pick(level))
    expect(tops[index]).toMatchObject({ status: 'LIVE', bestBid, bestAsk })
    expect(book.time <= (history?.lastTime as string)).toBe(true)
    const { lastTime = '' } = history ?? {}
    const expected = protocol === 'tidegate.v1' ? history?.attributedAt(lastTime) : history?.bookAt(lastTime)
    const sides = [book.bids(), book.asks()].map((levels) => levels.map(textsOf))
    expect(JSON.stringify(sides)).toBe(expected)
    for (const [place, side] of (['bids', 'asks'] as const).entries()) {
      const levels = (sides[place] ?? []).map(([price, ...content]) => [price, JSON.stringify(content)] as const)
      expect(sorted(copies[index]?.sides[side] ?? [])).toBe(sorted(levels))
    }
  }
  client.close()
  await Promise.all(copies.map(({ ended }) => ended))
}

describe('the books of the client equal those of the service', () => {
  const seeds = fc.integer({ min: 1, max: 1_000_000 })

  it("the client's books equal the service's in tidegate.v1, over a network that loses, repeats and alters messages", async () => {
    const property = fc.asyncProperty(seeds, (seed) => play({ seed, protocol: 'tidegate.v1', faults: 100 }))
    await fc.assert(property, propertySettings(8) as fc.Parameters<[number]>)
  })

  it("the client's books equal the service's in the base protocol, over a network that ends connections", async () => {
    const property = fc.asyncProperty(seeds, (seed) => play({ seed, protocol: 'tidegate.default', faults: 0 }))
    await fc.assert(property, propertySettings(3) as fc.Parameters<[number]>)
  })
})
