/**
 * An engine that pushes one market's book to the program. The best prices never change, and have larger amounts than
 * any benchmark converts. One level far from them changes at a constant pace, each time to another amount, so that the
 * book stays fresh and every change can be found in the stream.
 */
import { Publisher } from '../packages/publisher/publisher.mjs'
import { newCustomerToken, type Program } from './served-program.ts'

export const MARKET = { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2, amount_decimals: 8 }
/** The best ask, in cents. */
export const ASK_CENTS = 6_000_100n
/** The settings for a program that takes the market from the engine. */
export const MARKET_FLAGS = {
  'ingest.port': '0',
  markets: JSON.stringify([{ ...MARKET, depth: 1000, sources: ['ingest'] }]),
}
const BEST = {
  bids: [{ price: '60000.00', amount: '1000000' }],
  asks: [{ price: '60001.00', amount: '1000000' }],
}
/** Levels that change alternately. */
const CHANGING = 500

/** Where the engine publishes, and as which client. */
export type EngineAccess = Pick<
  ConstructorParameters<typeof Publisher>[0],
  'url' | 'authUrl' | 'clientId' | 'clientSecret'
>

export async function newEngineAccess(program: Program): Promise<EngineAccess> {
  const members = { publish_markets: [MARKET.symbol] }
  const { clientId, clientSecret } = await newCustomerToken(program, ['exchange:publish_marketdata'], members)
  return { url: program.ingest.replace(/^http/, 'ws'), authUrl: program.http, clientId, clientSecret }
}

/** The amount after a change, different for each. */
export function countedAmount(number: number): string {
  return `1.${String(number).padStart(MARKET.amount_decimals, '0')}`
}

/**
 * @param amountOf called for each change, counted from 0: the level's amount, or undefined for no change now
 * @returns ends it
 */
export function startEngine(
  access: EngineAccess,
  pauseMilliseconds: number,
  amountOf: (number: number) => string | undefined = countedAmount,
): () => Promise<void> {
  const { symbol, price_decimals, amount_decimals } = MARKET
  const instrument = { price_decimals, amount_decimals, state: 'OPEN', reason: '' } as const
  const now = () => new Date().toISOString()
  const levels = new Map<string, string>()
  const publisher = new Publisher({
    ...access,
    markets: [symbol],
    snapshotOf: () => {
      const changing = [...levels].map(([price, amount]) => ({ price, amount }))
      return { time: now(), instrument, bids: [...BEST.bids, ...changing], asks: BEST.asks }
    },
    log: (level, message) => {
      if (level === 'error') process.stderr.write(`engine: ${message}\n`)
    },
  })
  publisher.begin(symbol, `bench-${process.pid}`)
  publisher.snapshot(symbol)
  publisher.start()
  let number = 0
  const timer = setInterval(() => {
    const amount = amountOf(number)
    if (amount === undefined) return
    const price = ((50_000 + (number++ % CHANGING)) / 100).toFixed(price_decimals)
    levels.set(price, amount)
    publisher.update(symbol, { time: now(), bids: [{ price, amount }] })
  }, pauseMilliseconds)
  return async () => {
    clearInterval(timer)
    await publisher.stop()
  }
}

/** Resolves when the market is live. */
export async function untilLive({ operator }: Program): Promise<void> {
  const isLive = async () => {
    const { items } = await operator.call<{ items: readonly { live: boolean }[] }>('GET', '/markets')
    return items.every(({ live }) => live)
  }
  while (!(await isLive())) await new Promise((resolve) => setTimeout(resolve, 50))
}
