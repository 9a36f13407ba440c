import { describe, expect, it } from 'vitest'
import { readListings } from '../../../../../src/streaming/sources/venues/coinbase/answer.ts'

const LISTING = {
  symbol: 'BTC-USD',
  priceDecimals: 2,
  amountDecimals: 8,
  finestAmountDecimals: 8,
  status: 'online',
  state: 'open',
}
const PRODUCT = {
  product_id: 'BTC-USD',
  price_increment: '0.01',
  quote_increment: '0.00000001',
  base_increment: '0.00000001',
  status: 'online',
  alias: '',
  alias_to: ['BTC-USDC'],
}

function listed(...products: unknown[]) {
  const read = readListings(JSON.stringify({ products, num_products: products.length }))
  if ('problem' in read) throw new Error(read.problem)
  return read.value
}

describe("Coinbase's list of products", () => {
  it("Coinbase's list of products makes decimals of increments", () => {
    expect(listed(PRODUCT)).toEqual([LISTING])
    for (const [increment, decimals] of [
      ['1', 0],
      ['10', 0],
      ['1.00', 0],
      ['0.5', 1],
      ['0.0500', 2],
      ['0.000000000000000001', 18],
    ] as const) {
      expect(listed({ ...PRODUCT, price_increment: increment })).toMatchObject([{ priceDecimals: decimals }])
      expect(listed({ ...PRODUCT, base_increment: increment })).toMatchObject([{ amountDecimals: decimals }])
    }
  })

  it.each(['', 'x', '-0.01', '0.01x', '0.0000000000000000001', 0.01, null])(
    "Coinbase's list of products leaves out a product whose increment is %j",
    (increment) => {
      expect(listed({ ...PRODUCT, price_increment: increment }, PRODUCT, 7, {})).toEqual([LISTING])
      expect(listed({ ...PRODUCT, base_increment: increment })).toEqual([])
    },
  )

  it.each([
    ['online', {}, 'open', 'online'],
    ['limit orders only', { limit_only: true }, 'open', 'limit_only'],
    ['post only', { post_only: true, limit_only: true }, 'restricted', 'post_only'],
    ['cancel only', { cancel_only: true }, 'restricted', 'cancel_only'],
    ['in an auction', { auction_mode: true }, 'restricted', 'auction_mode'],
    ['without trading', { trading_disabled: true, post_only: true }, 'restricted', 'trading_disabled'],
    ['disabled', { is_disabled: true }, 'restricted', 'is_disabled'],
    ['offline', { status: 'offline' }, 'restricted', 'offline'],
    ['of an unknown status', { status: 'dreaming' }, 'restricted', 'dreaming'],
    ['of no status', { status: '' }, 'restricted', 'unknown'],
    ['internal', { status: 'internal' }, 'gone', 'internal'],
    ['delisted', { status: 'delisted', trading_disabled: true }, 'gone', 'delisted'],
  ])(
    "Coinbase's list of products gives the state and status of a product that is %s",
    (_what, members, state, status) => {
      const instrument = status === 'auction_mode' ? { instrument: 'AUCTION' } : {}
      expect(listed({ ...PRODUCT, ...members })).toEqual([{ ...LISTING, status, state, ...instrument }])
    },
  )

  it("Coinbase's list of products names the product whose feed another one shares", () => {
    const shared = { ...PRODUCT, product_id: 'BTC-USDC', alias: 'BTC-USD', alias_to: [] }
    expect(listed({ ...PRODUCT, alias: 'BTC-USD' }, shared)).toEqual([
      LISTING,
      { ...LISTING, symbol: 'BTC-USDC', feedSymbol: 'BTC-USD' },
    ])
  })

  it.each(['', '{', 'null', '[]', '{"products":{}}'])(
    "Coinbase's list of products cannot be read when the answer is %j",
    (text) => {
      expect(readListings(text)).toEqual({ problem: 'an unreadable product list' })
    },
  )
})
