/**
 * Random plans, subscriptions and changes of plans against a model of its own: no entry is wrongly granted or denied, and
 * no frame has anything beyond the plan. The model knows only the operator's members of a plan.
 */
import { assert as check, integer, property } from 'fast-check'
import { expect, it } from 'vitest'
import type { HeldPlans } from '../../../src/access/clients/plans/plan.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { deepBook, type LiveClient, LiveStream, type Message } from './live-stream.ts'

const ALL = { all: true, customerIds: new Set<string>(), clientIds: new Set<string>() }
const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD']
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data', 'heartbeat']
const DEPTHS = [1, 5, 10, 25]
const INTERVALS = [50, 100, 250]
const PUBLISHED = 20

interface PlanModel {
  readonly markets?: readonly string[]
  readonly channels?: readonly string[]
  readonly depth_max?: number
  readonly interval_ms_min?: number
  readonly subscriptions_max?: number
}

interface Subscribed {
  readonly market: string
  readonly channel: string
  depth: number
  interval: number
  bids: Map<string, string>
  asks: Map<string, string>
  last: number
  /** Messages since then, on the stream's clock. */
  count: number
  since: number
}

const oneOf = <Value>(random: Random, values: readonly Value[]) => values[random.integer(values.length)] as Value
const someOf = <Value>(random: Random, values: readonly Value[]) => values.filter(() => random.chance(0.6))

function randomPlan(random: Random): PlanModel {
  return {
    ...(random.chance(0.5) ? { markets: someOf(random, MARKETS) } : {}),
    ...(random.chance(0.5) ? { channels: someOf(random, CHANNELS.slice(0, 3)) } : {}),
    ...(random.chance(0.5) ? { depth_max: oneOf(random, DEPTHS) } : {}),
    ...(random.chance(0.4) ? { interval_ms_min: oneOf(random, INTERVALS) } : {}),
    ...(random.chance(0.3) ? { subscriptions_max: 1 + random.integer(5) } : {}),
  }
}

function heldOf(models: readonly PlanModel[]): HeldPlans {
  return models.map((model, at) => ({
    plan: {
      name: `plan-${at}`,
      ...(model.markets === undefined ? {} : { markets: new Set(model.markets) }),
      ...(model.channels === undefined ? {} : { channels: new Set(model.channels) }),
      ...(model.depth_max === undefined ? {} : { depthMax: model.depth_max }),
      ...(model.interval_ms_min === undefined ? {} : { intervalMillisecondsMin: model.interval_ms_min }),
      ...(model.subscriptions_max === undefined ? {} : { subscriptionsMax: model.subscriptions_max }),
    },
    holder: at === 0 ? 'customer' : 'client',
    holderId: at === 0 ? 'acme' : 'client',
  }))
}

/** One run: a client with one protocol, under plans that change. */
class Run {
  readonly #random: Random
  readonly #stream: LiveStream
  readonly #client: LiveClient
  readonly #isExtended: boolean
  readonly #subscribed = new Map<string, Subscribed>()
  #models: readonly PlanModel[]
  entries = 0

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.#models = this.#randomModels()
    this.#isExtended = this.#random.chance(0.5)
    this.#stream = new LiveStream({ markets: MARKETS, depth: PUBLISHED, plansOf: () => heldOf(this.#models) })
    for (const market of MARKETS) this.#stream.snapshot(deepBook(30, 10), market)
    const token = { customerId: 'acme' }
    this.#client = this.#stream.connect({ subprotocol: this.#isExtended ? 'tidegate.v1' : '', token })
  }

  run(): void {
    for (let step = 0; step < 60; step++) {
      const choice = this.#random.integer(10)
      if (choice < 4) this.#subscribe()
      else if (choice === 4) this.#unsubscribe()
      else if (choice === 5) this.#changePlans()
      else this.#changeBook()
      this.#stream.clock.advance(this.#random.integer(120))
      this.#read(this.#client.readMessages())
    }
    this.#stream.clock.advance(2_000)
    this.#read(this.#client.readMessages())
    this.#compareBooks()
  }

  #randomModels(): readonly PlanModel[] {
    return Array.from({ length: this.#random.integer(3) }, () => randomPlan(this.#random))
  }

  #isDenied(market: string, channel: string): boolean {
    if (channel === 'heartbeat') return false
    return this.#models.some(
      ({ markets, channels }) => markets?.includes(market) === false || channels?.includes(channel) === false,
    )
  }

  #depth(asked: number | undefined): number {
    return Math.min(asked ?? PUBLISHED, ...this.#models.map(({ depth_max }) => depth_max ?? PUBLISHED))
  }

  #interval(asked: number | undefined): number {
    return Math.max(asked ?? 0, ...this.#models.map(({ interval_ms_min }) => interval_ms_min ?? 0))
  }

  readonly #asked = new Map<string, { readonly depth?: number; readonly interval_ms?: number }>()

  #subscribe(): void {
    const [market, channel] = [oneOf(this.#random, MARKETS), oneOf(this.#random, CHANNELS)]
    const isBook = channel === 'market_data'
    const isThrottled = isBook || channel === 'market_data.top_of_book'
    const more = {
      ...(this.#isExtended && isBook && this.#random.chance(0.5) ? { depth: oneOf(this.#random, [1, 5, 10]) } : {}),
      ...(this.#isExtended && isThrottled && this.#random.chance(0.5)
        ? { interval_ms: oneOf(this.#random, INTERVALS) }
        : {}),
    }
    const entry = channel === 'heartbeat' ? { type: channel } : { type: channel, params: { market, ...more } }
    const name = channel === 'heartbeat' ? channel : `${channel} ${market}`
    const counted = [...this.#subscribed.keys()].filter((key) => key !== 'heartbeat').length
    const isFull = this.#models.some(({ subscriptions_max }) => counted >= (subscriptions_max ?? 1_000))
    const expected = this.#subscribed.has(name)
      ? 'NO_EFFECT_ACTION'
      : this.#isDenied(market, channel)
        ? 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
        : isFull && channel !== 'heartbeat'
          ? 'NO_EFFECT_ACTION'
          : undefined
    const texts = this.#client.ask({ type: 'subscribe', channels: [entry] })
    const messages = texts.map((text) => JSON.parse(text) as Message)
    const at = messages.findIndex(({ type }) => type === 'subscribe')
    const [answer] = messages[at]?.channels ?? []
    this.entries++
    expect(answer?.error, `${name} ${JSON.stringify(this.#models)}`).toBe(expected)
    this.#read(messages.slice(0, at))
    if (expected === undefined) {
      const [depth, interval] = [this.#depth(more.depth), this.#interval(more.interval_ms)]
      this.#asked.set(name, more)
      this.#subscribed.set(name, {
        ...{ market, channel, depth, interval, last: Number.NEGATIVE_INFINITY },
        ...{ count: 0, since: this.#stream.clock.monotonicMilliseconds() },
        bids: new Map(),
        asks: new Map(),
      })
      const isBounded = (isBook && depth !== (more.depth ?? PUBLISHED)) || interval !== (more.interval_ms ?? 0)
      const served =
        isThrottled && isBounded && this.#isExtended
          ? { ...(isBook ? { depth } : {}), ...(interval === 0 ? {} : { interval_ms: interval }) }
          : undefined
      expect(answer?.served).toEqual(served)
    }
    this.#read(messages.slice(at + 1))
  }

  #unsubscribe(): void {
    const held = [...this.#subscribed.entries()].filter(([name]) => name !== 'heartbeat')
    if (held.length === 0) return
    const [name, { market, channel }] = oneOf(this.#random, held)
    const texts = this.#client.ask({ type: 'unsubscribe', channels: [{ type: channel, params: { market } }] })
    const messages = texts.map((text) => JSON.parse(text) as Message)
    const at = messages.findIndex(({ type }) => type === 'unsubscribe')
    this.#read(messages.slice(0, at))
    this.#subscribed.delete(name)
    this.#read(messages.slice(at + 1))
  }

  #changePlans(): void {
    this.#read(this.#client.readMessages())
    this.#models = this.#randomModels()
    this.#stream.hub.applyAccess(() => undefined, ALL)
    const denied = [...this.#subscribed].filter(([, { market, channel }]) => this.#isDenied(market, channel))
    const messages = this.#client.readMessages()
    const notice = messages.find(({ type }) => type === 'unsubscribe')
    const ended = (notice?.channels ?? []) as { readonly type: string; readonly params: { readonly market: string } }[]
    expect(ended.map(({ type, params }) => `${type} ${params.market}`).sort()).toEqual(
      denied.map(([name]) => name).sort(),
    )
    for (const [name] of denied) this.#subscribed.delete(name)
    this.#stream.clock.advance(2)
    // The UPDATE to the new depth may come after others at the old one.
    for (const [name, subscribed] of this.#subscribed) {
      subscribed.depth = Math.max(subscribed.depth, this.#depth(this.#asked.get(name)?.depth))
    }
    this.#read([...messages.filter((message) => message !== notice), ...this.#client.readMessages()])
    for (const [name, subscribed] of this.#subscribed) {
      const { depth, interval_ms } = this.#asked.get(name) ?? {}
      subscribed.depth = this.#depth(depth)
      subscribed.interval = this.#interval(interval_ms)
      subscribed.count = 0
      subscribed.since = this.#stream.clock.monotonicMilliseconds()
      if (subscribed.channel === 'market_data') this.#checkDepth(subscribed)
    }
  }

  #changeBook(): void {
    const market = oneOf(this.#random, MARKETS)
    const side = this.#random.chance(0.5) ? BID : ASK
    const distance = 1 + this.#random.integer(30)
    const price = 10_000_000 + (side === BID ? -distance : distance)
    const amount = this.#random.chance(0.3) ? 0 : 1 + this.#random.integer(50)
    const executions = this.#random.chance(0.3) ? [{ price: 10_000_000, amount: 1 }] : []
    this.#stream.update([{ side, price, amount }], executions as never, market)
  }

  /** Besides one message per interval, there are the first one and the one that a change of plan makes due. */
  #checkInterval(subscribed: Subscribed): void {
    subscribed.count++
    if (subscribed.interval === 0) return
    const elapsed = this.#stream.clock.monotonicMilliseconds() - subscribed.since
    expect(subscribed.count).toBeLessThanOrEqual(Math.floor(elapsed / subscribed.interval) + 3)
  }

  #checkDepth({ bids, asks, depth }: Subscribed): void {
    expect(bids.size).toBeLessThanOrEqual(depth)
    expect(asks.size).toBeLessThanOrEqual(depth)
  }

  #read(messages: readonly Message[]): void {
    for (const { channel = '', payload } of messages) {
      if (channel === 'heartbeat') continue
      const subscribed = this.#subscribed.get(`${channel} ${payload.market}`)
      expect(subscribed, `${channel} ${payload.market} is not subscribed`).toBeDefined()
      if (subscribed === undefined) continue
      this.#checkInterval(subscribed)
      if (channel !== 'market_data') continue
      for (const name of ['bids', 'asks'] as const) {
        const held = subscribed[name]
        if (payload.type === 'SNAPSHOT') held.clear()
        for (const { price, amount } of payload[name] ?? []) {
          if (payload.type === 'UPDATE')
            expect(amount === '0' ? held.has(price) : held.get(price) !== amount).toBe(true)
          if (amount === '0') held.delete(price)
          else held.set(price, amount)
        }
      }
      const time = Date.parse(payload.time ?? '')
      expect(time).toBeGreaterThan(subscribed.last)
      subscribed.last = time
      this.#checkDepth(subscribed)
    }
  }

  /** At rest, each book is the best levels of the whole one. */
  #compareBooks(): void {
    for (const { market, channel, depth, bids, asks } of this.#subscribed.values()) {
      if (channel !== 'market_data') continue
      const reader = this.#stream.connect({ token: { customerId: 'another' }, clientId: 'another' })
      reader.session.requests.applyPlans([])
      const texts = reader.ask({ type: 'subscribe', channels: [{ type: channel, params: { market } }] })
      const whole = texts.map((text) => JSON.parse(text) as Message).find((message) => message.channel === channel)
      for (const [name, held] of [
        ['bids', bids],
        ['asks', asks],
      ] as const) {
        const best = (whole?.payload[name] ?? []).slice(0, depth).map(({ price, amount }) => [price, amount])
        expect([...held].sort()).toEqual(best.sort())
      }
    }
  }
}

it('no subscription is wrongly granted or denied, and no frame is beyond the plan, over random plans', () => {
  let entries = 0
  check(
    property(integer(), (seed) => {
      const run = new Run(seed)
      run.run()
      entries += run.entries
    }),
    propertySettings(90),
  )
  expect(entries).toBeGreaterThan(1_500)
})
