/**
 * Metered usage against a counting client: several sessions of two clients with random subscriptions, lags, resumes,
 * depths, intervals and plans. What is metered per client, market and channel equals the frames handed to the socket
 * until the close handshake. With a cut connection it is never less.
 */
import { asyncProperty, assert as check, integer } from 'fast-check'
import { expect, it } from 'vitest'
import type { HeldPlans } from '../../../src/access/clients/plans/plan.ts'
import type { UsageRow } from '../../../src/access/metering/meter.ts'
import { countAligned } from '../../../src/streaming/gateway/writes/count-aligned.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { deepBook, type LiveClient, LiveStream } from './live-stream.ts'

const ALL = { all: true, customerIds: new Set<string>(), clientIds: new Set<string>() }
const MARKETS = ['AAAUSD', 'BBBUSD']
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data', 'heartbeat']

interface Count {
  messages: number
  bytes: number
}

/** Counts frames by market and channel, as a client does that reads everything. */
class CountingClient {
  readonly live: LiveClient
  readonly isExtended: boolean
  readonly counts = new Map<string, Count>()
  #read = 0
  #fragments: Buffer[] = []
  #fragmentBytes = 0
  cursors = new Map<string, string>()

  constructor(live: LiveClient, isExtended: boolean) {
    this.live = live
    this.isExtended = isExtended
  }

  readAll(): void {
    const { writes } = this.live.transport
    while (this.#read < writes.length) this.#readFrames(writes[this.#read++] as Buffer)
  }

  /** Counts a message whose last fragments are never sent. */
  finish(): void {
    this.readAll()
    const market = /"market":"(\w+)"/.exec(Buffer.concat(this.#fragments).toString())?.[1] ?? ''
    if (this.#fragmentBytes > 0) this.#count('market_data', market, 0, this.#fragmentBytes)
  }

  countControl(payloadBytes: number): void {
    this.#count('control', '', 1, 2 + payloadBytes)
  }

  #readFrames(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const short = bytes.readUInt8(at + 1)
      const header = short < 126 ? 2 : short === 126 ? 4 : 10
      const length =
        short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
      this.#fragments.push(bytes.subarray(at + header, at + header + length))
      this.#fragmentBytes += header + length
      if ((bytes.readUInt8(at) & 0x80) !== 0) this.#message(Buffer.concat(this.#fragments).toString())
      at += header + length
    }
  }

  #message(text: string): void {
    const { channel = 'control', payload, stream } = JSON.parse(text)
    const market = channel === 'control' ? '' : (payload.market ?? '')
    if (stream !== undefined) this.cursors.set(`${channel} ${market}`, stream.cursor)
    this.#count(channel, market, 1, this.#fragmentBytes)
    this.#fragments = []
    this.#fragmentBytes = 0
  }

  #count(channel: string, market: string, messages: number, bytes: number): void {
    const key = `${channel} ${market}`
    const count = this.counts.get(key) ?? { messages: 0, bytes: 0 }
    this.counts.set(key, { messages: count.messages + messages, bytes: count.bytes + bytes })
  }
}

class Run {
  readonly #random: Random
  readonly #stream: LiveStream
  readonly #clients: CountingClient[] = []
  readonly #metered = new Map<string, Count>()
  readonly #counted = new Map<string, Count>()
  #plans: HeldPlans = []
  #wasCut = false
  messages = 0

  constructor(seed: number) {
    const random = new Random(seed)
    this.#random = random
    const settings = { writeIntervalMilliseconds: random.chance(0.3) ? 20 : 0, pingSeconds: 2 }
    // The deeper books make SNAPSHOTs of several frames.
    const depth = random.chance(0.3) ? 1_000 : 20
    this.#stream = new LiveStream({ markets: MARKETS, depth, settings, plansOf: () => this.#plans })
    for (const market of MARKETS) this.#stream.snapshot(deepBook(1.5 * depth, 10), market)
  }

  async run(steps: number, mayCut: boolean): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#step(mayCut)
      this.#stream.clock.advance(this.#random.integer(60))
      if (this.#random.chance(0.1)) await this.#take()
    }
    while (this.#clients.length > 0) this.#close(0)
    this.#stream.clock.settle()
    await this.#take()
    const compared = [...new Set([...this.#metered.keys(), ...this.#counted.keys()])].sort()
    for (const key of compared) {
      const [metered, counted] = [this.#metered.get(key), this.#counted.get(key) ?? { messages: 0, bytes: 0 }]
      this.messages += counted.messages
      if (!this.#wasCut) expect(metered, key).toEqual(counted)
      expect(metered?.messages ?? 0, key).toBeGreaterThanOrEqual(counted.messages)
      expect(metered?.bytes ?? 0, key).toBeGreaterThanOrEqual(counted.bytes)
    }
  }

  async #step(mayCut: boolean): Promise<void> {
    const random = this.#random
    const choice = random.integer(20)
    const anyClient = () => this.#clients[random.integer(this.#clients.length)] as CountingClient
    if (this.#clients.length === 0 || choice === 0) this.#connect()
    else if (choice < 5) this.#request()
    else if (choice === 5) this.#changePlans()
    else if (choice === 6) this.#close(random.integer(this.#clients.length), mayCut && random.chance(0.5))
    else if (choice < 10) anyClient().live.read()
    else if (choice === 10) anyClient().live.session.receivePing(Buffer.from('ping'))
    else for (let count = random.integer(8); count >= 0; count--) this.#changeBook()
  }

  #connect(): void {
    const isExtended = this.#random.chance(0.5)
    const kernelBytes = this.#random.chance(0.5) ? 3_000 : 1_000_000
    const clientId = this.#random.chance(0.5) ? 'one' : 'two'
    const live = this.#stream.connect({ subprotocol: isExtended ? 'tidegate.v1' : '', kernelBytes, clientId })
    this.#clients.push(new CountingClient(live, isExtended))
  }

  #request(): void {
    const random = this.#random
    const client = this.#clients[random.integer(this.#clients.length)] as CountingClient
    client.readAll()
    const channels = Array.from({ length: 1 + random.integer(3) }, () => {
      const type = CHANNELS[random.integer(CHANNELS.length)] as string
      const market = MARKETS[random.integer(MARKETS.length)] as string
      if (type === 'heartbeat') return { type }
      const cursor = client.cursors.get(`${type} ${market}`)
      const isBook = type === 'market_data'
      const more = {
        ...(isBook && random.chance(0.4) ? { depth: [1, 5, 10][random.integer(3)] } : {}),
        ...(type !== 'execution_data' && random.chance(0.4) ? { interval_ms: [50, 100][random.integer(2)] } : {}),
        ...(cursor !== undefined && random.chance(0.5) ? { resume: cursor } : {}),
      }
      return { type, params: { market, ...(client.isExtended ? more : {}) } }
    })
    client.live.receive({ type: random.chance(0.7) ? 'subscribe' : 'unsubscribe', channels })
  }

  #changePlans(): void {
    const random = this.#random
    const plan = {
      name: 'a plan',
      ...(random.chance(0.5) ? { markets: new Set(MARKETS.slice(random.integer(2))) } : {}),
      ...(random.chance(0.5) ? { depthMax: 5 } : {}),
      ...(random.chance(0.5) ? { intervalMillisecondsMin: 50 } : {}),
    }
    this.#plans = random.chance(0.3) ? [] : [{ plan, holder: 'customer', holderId: 'customer' }]
    this.#stream.hub.applyAccess(() => undefined, ALL)
  }

  #changeBook(): void {
    const random = this.#random
    const market = MARKETS[random.integer(MARKETS.length)] as string
    const side = random.chance(0.5) ? BID : ASK
    const rank = 1 + random.integer(12)
    const price = side === BID ? 10_000_000 - rank : 10_000_000 + rank
    const executions = random.chance(0.3) ? [{ price: 10_000_000, amount: 5 }] : []
    this.#stream.offer([{ side, price, amount: 1 + random.integer(90) }], executions, market)
    if (random.chance(0.5)) this.#stream.clock.advance(1)
  }

  /** Ends a connection: by the server's close, by the peer's, or without one. */
  #close(place: number, isCut = false): void {
    const [client] = this.#clients.splice(place, 1) as [CountingClient]
    const { session, transport } = client.live
    if (isCut) {
      this.#wasCut = true
      client.readAll()
      session.cut()
    } else if (this.#random.chance(0.5)) {
      session.peerCloses(1000, 0)
      transport.isOpen = false
      client.countControl(2)
      this.#changeBook()
    } else {
      session.close('restarting')
      client.countControl(2 + Buffer.byteLength(transport.closed?.reason ?? ''))
    }
    this.#stream.clock.settle()
    session.end()
    client.finish()
    for (const data of transport.pingData) client.countControl(data?.length ?? 0)
    for (const data of transport.pongs) client.countControl(data.length)
    for (const [key, count] of client.counts) add(this.#counted, `${session.token.clientId} ${key}`, count)
  }

  async #take(): Promise<void> {
    await countAligned(this.#stream.hub.markets, this.#stream.clock)
    await this.#stream.hub.meter.take((row) => add(this.#metered, keyOf(row), row))
  }
}

function keyOf({ clientId, channel, market }: UsageRow): string {
  return `${clientId} ${channel} ${market}`
}

function add(counts: Map<string, Count>, key: string, { messages, bytes }: Count): void {
  // Connection time alone makes a row too.
  if (messages + bytes === 0) return
  const count = counts.get(key) ?? { messages: 0, bytes: 0 }
  counts.set(key, { messages: count.messages + messages, bytes: count.bytes + bytes })
}

async function runAll(runs: number, mayCut: boolean): Promise<number> {
  let messages = 0
  const runOne = asyncProperty(integer(), async (seed) => {
    const run = new Run(seed)
    await run.run(150, mayCut)
    messages += run.messages
  })
  await check(runOne, propertySettings(runs))
  return messages
}

it('metered usage equals what a counting client is sent until the close handshake', async () => {
  expect(await runAll(40, false)).toBeGreaterThan(5_000)
})

it('metered usage is never less than what a client with a cut connection has seen', async () => {
  expect(await runAll(10, true)).toBeGreaterThan(1_000)
})
