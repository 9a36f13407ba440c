/** A rule in words: from where, converted into what, to where. */
import type { Schema } from '../base/operator-api.ts'

/** A source or a destination of any record: exactly one form, with its members. */
export type Terms = Readonly<Record<string, Readonly<Record<string, string | undefined>> | undefined>>

function placeText(terms: Terms): string {
  const { crypto, fiat, profile } = terms
  if (crypto !== undefined)
    return `${words(crypto.network)}${crypto.address === undefined ? '' : ` ${short(crypto.address)}`}`
  if (fiat !== undefined) return fiat.network ?? `bank account ${fiat.fiat_account_id ?? ''}`
  if (profile !== undefined) return `balance ${short(profile.profile_id ?? '')}`
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
