/**
 * What the tests of the FIX adapter share: an engine with a book per symbol, the fake ingest server, and the adapter
 * between both, in this process. Waits of the adapter take no time: its clock advances as soon as it has announced one.
 */
import { FixAdapter } from '../../packages/fix-adapter/adapter.mjs'
import type { Configuration } from '../../packages/fix-adapter/configuration.mjs'
import type { Certificate } from '../support/certificates.ts'
import type { Random } from '../support/random.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { Waiters } from '../support/waiters.ts'
import { FakeIngest } from './fake-ingest.ts'
import { type Field, FixAcceptor } from './fix-acceptor.ts'

export type EngineSide = 'buy' | 'sell'

/** A book at the engine: amounts in hundredths by price in hundredths, bids below 10,000 and asks above. */
export class EngineBook {
  readonly symbol: string
  readonly sides = { buy: new Map<number, number>(), sell: new Map<number, number>() }
  readonly trades: string[] = []
  #tradeId = 0

  constructor(symbol: string) {
    this.symbol = symbol
    for (let step = 1; step <= 5; step++) {
      this.sides.buy.set(10_000 - step, 100 * step)
      this.sides.sell.set(10_000 + step, 100 * step)
    }
  }

  /** The fields of a full refresh. */
  full(requestId: string): Field[] {
    const entries = (['buy', 'sell'] as const).flatMap((side) =>
      [...this.sides[side]].map(([price, amount]) => entry([], side, price, amount)),
    )
    return [[262, requestId], [55, this.symbol], [268, entries.length], ...entries.flat()]
  }

  /** Sets one level; 0 removes it. Returns the fields of the entry in an incremental refresh. */
  set(side: EngineSide, price: number, amount: number): Field[] {
    const known = this.sides[side].has(price)
    if (amount === 0) this.sides[side].delete(price)
    else this.sides[side].set(price, amount)
    const action = amount === 0 ? 2 : known ? 1 : 0
    return entry([[279, action]], side, price, amount)
  }

  trade(price: number, amount: number): Field[] {
    const id = `${this.symbol}-${++this.#tradeId}`
    this.trades.push(id)
    return [
      [279, 0],
      [269, 2],
      [1003, id],
      [270, decimal(price)],
      [271, decimal(amount)],
      [272, '20261123'],
      [273, '10:11:12.123456'],
      [2446, 1],
    ]
  }

  /** One to three random changes, and sometimes a trade. */
  random(random: Random): Field[][] {
    const entries = Array.from({ length: 1 + random.integer(3) }, () => {
      const side = random.pick(['buy', 'sell'] as const)
      const distance = 1 + random.integer(12)
      const price = side === 'buy' ? 10_000 - distance : 10_000 + distance
      return this.set(side, price, random.chance(0.4) ? 0 : 1 + random.integer(500))
    })
    return random.chance(0.3) ? [...entries, this.trade(10_000, 1 + random.integer(99))] : entries
  }

  /** As the published book reports it: best first, exact text. */
  levels(side: EngineSide): { price: string; amount: string }[] {
    const sign = side === 'buy' ? -1 : 1
    return [...this.sides[side]]
      .sort(([left], [right]) => sign * (left - right))
      .map(([price, amount]) => ({ price: canonical(price), amount: canonical(amount) }))
  }
}

/** The fields of an incremental refresh. The first entry names the symbol, the others inherit it. */
export function incremental(symbol: string, requestId: string, entries: readonly (readonly Field[])[]): Field[] {
  const [first = [], ...rest] = entries
  const [action, ...others] = first
  return [[262, requestId], [268, entries.length], action as Field, [55, symbol], ...others, ...rest.flat()]
}

export interface Stage {
  readonly acceptor: FixAcceptor
  readonly ingest: FakeIngest
  readonly adapter: FixAdapter
  readonly clock: VirtualClock
  readonly engine: ReadonlyMap<string, EngineBook>
  readonly waiters: Waiters
  readonly log: string[]
  /** The latest request for a symbol. */
  requestId(symbol: string): string
  /** Sends entries of one symbol. */
  send(symbol: string, entries: readonly (readonly Field[])[]): void
  /** Lets this time pass in steps, with answers in between. */
  pass(milliseconds: number): Promise<void>
  /** The same until this is so: answers take longer where the machine is busy. */
  passUntil(what: string, predicate: () => boolean): Promise<void>
  /** Waits until the published book is trusted and equal to the engine's, and all of its trades were published. */
  settled(symbol?: string): Promise<void>
  stop(): Promise<void>
}

/** Far more than any time limit of the adapter. */
const PASSED_SECONDS_MAX = 10_000

type Settings = Configuration['markets'][number]

export interface StageOptions {
  readonly version?: 'FIX.4.4' | 'FIXT.1.1'
  readonly symbols?: readonly string[]
  readonly fix?: Partial<Configuration['fix']>
  readonly market?: Partial<Settings>
  readonly tidegate?: Partial<Configuration['tidegate']>
  /** Of the engine, for TLS. */
  readonly certificate?: Certificate
  /** Before the adapter starts. */
  readonly prepare?: (servers: { acceptor: FixAcceptor; ingest: FakeIngest }) => void
}

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const { version = 'FIX.4.4', symbols = ['BTC/USD'] } = options
  const waiters = new Waiters()
  const passSecond = async () => {
    clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const acceptor = await FixAcceptor.start(version, waiters, options.certificate)
  const ingest = await FakeIngest.start(symbols.map(marketOf), waiters)
  const engine = new Map(symbols.map((symbol) => [symbol, new EngineBook(symbol)]))
  const requests = new Map<string, string>()
  acceptor.onSubscribe = (symbol, requestId) => {
    requests.set(symbol, requestId)
    acceptor.send('W', (engine.get(symbol) as EngineBook).full(requestId))
  }
  options.prepare?.({ acceptor, ingest })
  const clock = new VirtualClock()
  const log: string[] = []
  const adapter = new FixAdapter(configurationOf(options, symbols, acceptor, ingest), {
    clock: {
      now: () => clock.wallInstant().milliseconds,
      monotonic: () => clock.monotonicMilliseconds(),
      schedule: (milliseconds, callback) => clock.schedule(milliseconds, callback),
    },
    log: (level, message, members = {}) => {
      log.push(JSON.stringify({ level, message, ...members }))
      const wait = members.retry_milliseconds
      if (typeof wait === 'number') setImmediate(() => clock.advance(wait + 1))
      waiters.notify()
    },
  })
  adapter.start()
  const isSettled = (symbol: string): boolean => {
    const book = ingest.book(marketOf(symbol))
    const own = engine.get(symbol) as EngineBook
    const isEqual = (side: EngineSide) => JSON.stringify(book.side(side)) === JSON.stringify(own.levels(side))
    return book.state === 'trusted' && !book.isIgnoring && isEqual('buy') && isEqual('sell')
  }
  return {
    acceptor,
    ingest,
    adapter,
    clock,
    engine,
    waiters,
    log,
    requestId: (symbol) => requests.get(symbol) ?? '',
    send: (symbol, entries) => acceptor.send('X', incremental(symbol, requests.get(symbol) ?? '', entries)),
    async pass(milliseconds) {
      for (let passed = 0; passed < milliseconds; passed += 1_000) await passSecond()
    },
    async passUntil(what, predicate) {
      for (let seconds = 0; !predicate(); seconds++) {
        if (seconds === PASSED_SECONDS_MAX) throw new Error(`${seconds} s passed in vain for: ${what}`)
        await passSecond()
      }
    },
    settled: (symbol = symbols[0] as string) => ingest.until(`the book of ${symbol}`, () => isSettled(symbol)),
    async stop() {
      await adapter.stop()
      await Promise.all([acceptor.stop(), ingest.stop()])
    },
  }
}

export function marketOf(symbol: string): string {
  return symbol.replace('/', '')
}

function configurationOf(
  { version = 'FIX.4.4', fix, market, tidegate }: StageOptions,
  symbols: readonly string[],
  acceptor: FixAcceptor,
  ingest: FakeIngest,
): Configuration {
  const session = {
    version,
    senderCompId: 'TIDEGATE',
    targetCompId: 'ENGINE',
    username: undefined,
    password: undefined,
  }
  const address = { host: '127.0.0.1', port: acceptor.port, tls: undefined }
  const settings: Omit<Settings, 'market' | 'symbol'> = {
    keyedBy: 'price',
    depth: 0,
    refresh: 'incremental',
    securityStatus: false,
    tradeSideTag: 2446,
    states: { tradingStatus: {}, sessionPhase: {} },
    priceDecimals: 2,
    amountDecimals: 2,
    ...market,
  }
  return {
    fix: { ...session, ...address, heartbeatSeconds: 3_600, resetSequenceNumbers: true, ...fix },
    markets: symbols.map((symbol) => ({ ...settings, symbol, market: marketOf(symbol) })),
    tidegate: { ...ingest.options, ...tidegate },
  }
}

function entry(start: readonly Field[], side: EngineSide, price: number, amount: number): Field[] {
  return [...start, [269, side === 'buy' ? 0 : 1], [270, decimal(price)], [271, decimal(amount)]]
}

/** Hundredths as an engine may write them, with superfluous zeros. */
function decimal(value: number): string {
  const digits = String(value).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}00`
}

function canonical(value: number): string {
  return decimal(value).replace(/\.?0+$/, '')
}
