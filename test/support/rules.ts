/** Helpers for rule tests: a profile to create them for, and valid bodies that a test modifies. */
import type { RestCustomer } from './rest.ts'

export const RULES = '/v2/orchestration/rules'
export const ADDRESSES = '/v2/transfer/deposit-addresses'
/** An arbitrary address. */
export const ETHEREUM_ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

export interface TestAccount {
  readonly accountId: string
  readonly profileId: string
}

/** Creates an account with a profile. */
export async function newAccount(customer: RestCustomer, identityId = 'alice'): Promise<TestAccount> {
  const body = { account: { identity_id: identityId }, create_profile: true }
  const answer = await customer.call('POST', '/v2/identity/accounts', body)
  return { accountId: answer.body.id, profileId: answer.body.profile_id }
}

let refs = 0

/** The body of a rule from USDC on Ethereum to USD in its own profile. */
export function ruleBody(profileId: string, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ref_id: `rule ${++refs}`,
    profile_id: profileId,
    source_asset: 'USDC',
    destination_asset: 'USD',
    source: { crypto: { network: 'ETHEREUM' } },
    ...changes,
  }
}
