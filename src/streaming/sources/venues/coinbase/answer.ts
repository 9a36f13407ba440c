/**
 * Parses the product list from Coinbase's REST API
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/list-public-products, read
 * 2026-11-22). Every returned member has been checked. Pure.
 */
import { isObject, type JsonObject, membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, Listing } from '../venue.ts'

/** Fraction digits that scale exactly. */
const DECIMALS_MAX = 18
/** Orders older than a coarser increment may have up to this many digits. */
const SIZE_DECIMALS_FINEST = 8
const INCREMENT = /^[0-9]{1,40}(?:\.([0-9]{0,40}?)0*)?$/

/** Flags that can keep a product's book from changing, the strongest first. */
const RESTRICTIONS = ['is_disabled', 'trading_disabled', 'cancel_only', 'post_only', 'auction_mode'] as const

/** Products with invalid increments are left out, as if they were not listed. */
export function readListings(text: string): Fetched<readonly Listing[]> {
  const { products } = membersOf(parseJson(text))
  if (!Array.isArray(products)) return { problem: 'an unreadable product list' }
  const listings: Listing[] = []
  for (const product of products as unknown[]) {
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

/** Fraction digits in an increment's multiples: 2 for `0.01` and for `0.0500`, 0 for `10`. */
function decimalsOf(increment: unknown): number | undefined {
  const match = typeof increment === 'string' ? INCREMENT.exec(increment) : null
  if (match === null) return undefined
  const decimals = (match[1] ?? '').length
  return decimals <= DECIMALS_MAX ? decimals : undefined
}

/**
 * `internal` products are not public yet. A product with an unknown status may have a book. A `limit_only` product
 * trades as usual: books contain only limit orders.
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
