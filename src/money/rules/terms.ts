/**
 * Checks a new rule's or orchestration's terms against the configuration: known assets, a convertible pair, networks
 * that carry the assets, and a valid destination address.
 */
import { type Asset, type Conversions, FIAT_NETWORKS, isConvertible, isFiat } from '../../contract/assets.ts'
import type { FieldError } from '../../platform/http/problem.ts'
import { addressFault } from '../deposit-instructions/derivation/address-validity.ts'
import { memoFault } from '../destinations/model.ts'
import type { NewRuleBody } from './schemas.ts'

/** The terms of a rule or a requested orchestration. */
export type Terms = Pick<NewRuleBody, 'source' | 'source_asset' | 'destination_asset' | 'destination'>

/** The errors in the terms, each with its member's pointer. Empty when the terms are valid. */
export function termsFaults(body: Terms, terms: Conversions): readonly FieldError[] {
  const assetOf = (symbol: string) => terms.assets.find((asset) => asset.symbol === symbol)
  const source = assetOf(body.source_asset)
  const destination = assetOf(body.destination_asset)
  const unknown = `must be one of ${terms.assets.map(({ symbol }) => symbol).join(', ')}`
  const faults: FieldError[] = []
  const { fiat } = body.source
  if (fiat !== undefined && fiat.account_type === undefined && fiat.network !== 'CUBIX') {
    faults.push({ pointer: '/source/fiat/account_type', detail: `is required for ${fiat.network}` })
  }
  if (source === undefined) faults.push({ pointer: '/source_asset', detail: unknown })
  else faults.push(...carriageFaults('/source', body.source, source))
  if (destination === undefined) faults.push({ pointer: '/destination_asset', detail: unknown })
  else if (body.destination !== undefined) {
    faults.push(...carriageFaults('/destination', body.destination, destination))
  }
  if (source !== undefined && destination !== undefined && !isConvertible(source.symbol, destination.symbol, terms)) {
    const detail = `${source.symbol} cannot be converted into ${destination.symbol}: they have no market and are not at par`
    faults.push({ pointer: '/destination_asset', detail })
  }
  const { crypto } = body.destination ?? {}
  const addressDetail = crypto === undefined ? undefined : addressFault(crypto.network, crypto.address)
  if (addressDetail !== undefined) faults.push({ pointer: '/destination/crypto/address', detail: addressDetail })
  const memoDetail = crypto?.memo === undefined ? undefined : memoFault(crypto.network, crypto.address)
  if (memoDetail !== undefined) faults.push({ pointer: '/destination/crypto/memo', detail: memoDetail })
  return faults
}

/** The error when the network does not carry the asset. A profile can hold every asset. */
function carriageFaults(
  pointer: '/source' | '/destination',
  { crypto, fiat }: Pick<NewRuleBody['source'] | NonNullable<NewRuleBody['destination']>, 'crypto' | 'fiat'>,
  asset: Asset,
): readonly FieldError[] {
  const { symbol, networks } = asset
  if (crypto !== undefined && !networks.includes(crypto.network)) {
    const carriers = isFiat(asset)
      ? `${FIAT_NETWORKS.join(' and ')} do, as fiat`
      : `${networks.join(', ')} ${networks.length === 1 ? 'does' : 'do'}`
    return [{ pointer: `${pointer}/crypto/network`, detail: `does not carry ${symbol}; ${carriers}` }]
  }
  if (fiat !== undefined && !isFiat(asset)) {
    return [{ pointer: `${pointer}/fiat`, detail: `does not carry ${symbol}, which is not a fiat asset` }]
  }
  return []
}
