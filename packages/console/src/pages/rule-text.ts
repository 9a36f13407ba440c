/**
 * Texts for lists: a rule in one line, and a payment's destination. Long addresses are shortened, and `ui/place` shows
 * them in full.
 */
import type { Schema } from '../base/operator-api.ts'

/** A source or a destination, in exactly one form, with the members that a list shows. */
export interface Terms {
  readonly crypto?: { readonly network: string; readonly address?: string }
  readonly fiat?: { readonly fiat_account_id?: string; readonly network?: string }
  readonly profile?: { readonly profile_id: string }
}

function placeText(terms: Terms): string {
  const { crypto, fiat, profile } = terms
  if (crypto !== undefined)
    return `${words(crypto.network)}${crypto.address === undefined ? '' : ` ${short(crypto.address)}`}`
  if (fiat !== undefined) {
    const { fiat_account_id: account, network } = fiat
    if (account === undefined) return network ?? ''
    return `bank account ${short(account)}${network === undefined ? '' : ` (${network})`}`
  }
  if (profile !== undefined) return `balance ${short(profile.profile_id)}`
  return ''
}

/** `USDC on Ethereum → USDG on Ethereum 0x5aAeb6…Aed`. */
export function routeText({ source_asset, source, destination_asset, destination }: Schema<'OperatorRule'>): string {
  return `${source_asset} from ${placeText(source)} → ${destination_asset} to ${placeText(destination)}`
}

export function destinationText(destination: Terms): string {
  return placeText(destination)
}

function words(name: string | undefined): string {
  return name === undefined ? '' : name.charAt(0) + name.slice(1).toLowerCase()
}

function short(text: string): string {
  return text.length <= 18 ? text : `${text.slice(0, 8)}…${text.slice(-6)}`
}
