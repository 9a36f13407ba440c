/** Helpers for tests of destinations: valid bodies that a test modifies. */
import type { RestAnswer, RestCustomer } from './rest.ts'
import { ETHEREUM_ADDRESS } from './rules.ts'

export const TO_ADDRESSES = '/v2/transfer/crypto-destination-addresses'
export const FIAT_ACCOUNTS = '/v2/transfer/fiat-accounts'

let refs = 0

export function newRef(): string {
  return `destination ${++refs}`
}

/** Registers an Ethereum address, unless the changes name another one. */
export function registerAddress(customer: RestCustomer, changes: object = {}): Promise<RestAnswer> {
  const body = { ref_id: newRef(), crypto_network: 'ETHEREUM', address: ETHEREUM_ADDRESS, ...changes }
  return customer.call('POST', TO_ADDRESSES, body)
}

export function fiatBody(changes: object = {}) {
  return {
    ref_id: newRef(),
    fiat_network: 'WIRE',
    owner: { name: 'Ada Lovelace', type: 'INDIVIDUAL', address: '1 Example Street' },
    account: { account_type: 'ABA', routing_number: '021000021', account_number: '9876543210', bank_name: 'A Bank' },
    ...changes,
  }
}
