/**
 * Reads what Coinbase's REST API answers
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/list-public-products, read
 * 2026-11-22). It guarantees that every member it hands on has the type it should have. Pure.
 */
import { isObject, type JsonObject } from '../../base/json-value.ts'
import type { Fetched, Listing } from '../venue.ts'

/** Fraction digits that can be scaled exactly. */
const DECIMALS_MAX = 18
/** Sizes of products whose increment was finer once, and what is left of orders from then, have so many digits. */
const SIZE_DECIMALS_FINEST = 8
const INCREMENT = /^[0-9]{1,40}(?:\.([0-9]{0,40}?)0*)?$/

/** What can keep a product's book from moving, the strongest first. */
const RESTRICTIONS = ['is_disabled', 'trading_disabled', 'cancel_only', 'post_only', 'auction_mode'] as const

/** Products whose increments make no sense are left out, as if the venue did not list them. */
export function readListings(text: string): Fetched<readonly Listing[]> {
  const problem = 'a list of products that cannot be read'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem }
  }
  if (!isObject(value) || !Array.isArray(value.products)) return { problem }
  const listings: Listing[] = []
  for (const product of value.products as unknown[]) {
    if (!isObject(product) || typeof product.product_id !== 'string') continue
    const { product_id: symbol, alias } = product
    const priceDecimals = decimalsOf(product.price_increment)
    const amountDecimals = decimalsOf(product.base_increment)
    if (priceDecimals === undefined || amountDecimals === undefined) continue
    const finestAmountDecimals = Math.max(amountDecimals, SIZE_DECIMALS_FINEST)
    listings.push({
      symbol,
      priceDecimals,
      amountDecimals,
      finestAmountDecimals,
      ...stateOf(product),
      ...(typeof alias === 'string' && alias !== '' && alias !== symbol ? { feedSymbol: alias } : {}),
    })
  }
  return { value: listings }
}

/** Fraction digits of the multiples of an increment: 2 for `0.01` and for `0.0500`, 0 for `10`. */
function decimalsOf(increment: unknown): number | undefined {
  const match = typeof increment === 'string' ? INCREMENT.exec(increment) : null
  if (match === null) return undefined
  const decimals = (match[1] ?? '').length
  return decimals <= DECIMALS_MAX ? decimals : undefined
}

/**
 * `internal` products are not for the public yet. A status that is not known may well have a book. A product that is
 * `limit_only` trades as usual, for there is nothing else in a book.
 */
function stateOf(product: JsonObject): Pick<Listing, 'status' | 'state' | 'instrument'> {
  const status = typeof product.status === 'string' && product.status !== '' ? product.status : 'unknown'
  if (status === 'delisted' || status === 'internal') return { status, state: 'gone' }
  if (status !== 'online') return { status, state: 'restricted' }
  const restriction = RESTRICTIONS.find((name) => product[name] === true)
  if (restriction === 'auction_mode') return { status: restriction, state: 'restricted', instrument: 'AUCTION' }
  if (restriction !== undefined) return { status: restriction, state: 'restricted' }
  return { status: product.limit_only === true ? 'limit_only' : status, state: 'open' }
}
