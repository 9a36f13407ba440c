/** The sandbox's destinations with a fixed outcome (`rest.sandbox`). They count as registered. Pure. */
import type { Place } from './model.ts'

/** By the address in lower case, or by the account. */
const OUTCOMES: Readonly<Record<string, 'refused' | 'unknown'>> = {
  '0x000000000000000000000000000000000000dead': 'refused',
  '0x00000000000000000000000000000000deadbeef': 'unknown',
  'sandbox-refused': 'refused',
  'sandbox-unknown': 'unknown',
}

/** Undefined for every other place. */
export function magicOutcome(place: Place): 'refused' | 'unknown' | undefined {
  const name = 'crypto' in place ? place.crypto.address.toLowerCase() : place.fiat.fiat_account_id
  return Object.hasOwn(OUTCOMES, name) ? OUTCOMES[name] : undefined
}
