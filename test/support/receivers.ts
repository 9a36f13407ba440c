/**
 * Customers as rows, each with one profile, one deposit address and one rule, for code that needs many of them:
 * benchmarks, and suites that use the store without a service.
 */
import { CRYPTO_NETWORKS } from '../../src/contract/crypto-networks.ts'
import { ensureLedgerAssets } from '../../src/money/ledger/assets.ts'
import type { RuleDestination } from '../../src/money/rules/model.ts'
import { newId } from '../../src/platform/base/ids.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'

const ASSETS = [
  { symbol: 'USDC', decimals: 6 },
  { symbol: 'USDG', decimals: 6 },
]

/**
 * Creates this many customers, whose rules convert USDC into USDG at par. @returns their deposit addresses
 * @param destination the rules' destination; absent: the customer's own profile
 */
export async function createReceivers(
  db: Db,
  count: number,
  destination?: RuleDestination,
): Promise<readonly string[]> {
  // Only digits, so that the address is the same in every form.
  const addresses = Array.from({ length: count }, () => {
    const digits = Array.from({ length: 40 }, () => Math.floor(Math.random() * 10)).join('')
    return `0x${digits}`
  })
  const ids = () => addresses.map(() => newId())
  const [customers, profiles, accounts, deposits, rules] = [ids(), ids(), ids(), ids(), ids()]
  await db.transaction(async (transaction) => {
    await ensureLedgerAssets(transaction, ASSETS)
    await sql`
      with made as (
        select * from unnest(${customers}::uuid[], ${profiles}::uuid[], ${accounts}::uuid[], ${deposits}::uuid[],
          ${rules}::uuid[], ${addresses}::text[]) as made (customer, profile, account, address_id, rule, address)
      ), customers as (
        insert into customers (id, name, streaming) select customer, customer::text, false from made
      ), profiles as (
        insert into profiles (id, customer_id, type, created_at) select profile, customer, 'NORMAL', now() from made
      ), accounts as (
        insert into accounts (id, customer_id, identity_id, metadata, members, type, review_status, admin_disabled,
          user_disabled, profile_id, created_at, updated_at)
        select account, customer, 'receiver', '{}', '[]', 'BROKERAGE', 'APPROVED', false, false, profile, now(), now()
        from made
      ), addresses as (
        insert into deposit_addresses (id, customer_id, profile_id, account_id, crypto_network, family, address,
          conversion_target_asset, metadata, created_at)
        select address_id, customer, profile, account, 'ETHEREUM', ${CRYPTO_NETWORKS.ETHEREUM}, address,
          'NO_CONVERSION', '{}', now()
        from made
      ), audited as (
        insert into audit (actor, action, subject, detail)
        select 'operator', action, subject, '{}'
        from made, lateral (values ('account.create', account::text), ('rule.create', rule::text)) as done (action, subject)
      )
      insert into rules (id, customer_id, ref_id, profile_id, account_id, status, source_asset, destination_asset, source,
        destination, deposit_address_id, created_at)
      select rule, customer, rule::text, profile, account, 'ACTIVE', 'USDC', 'USDG',
        jsonb_build_object('crypto', jsonb_build_object('network', 'ETHEREUM', 'address_id', address_id, 'address', address)),
        coalesce(${destination === undefined ? null : JSON.stringify(destination)}::jsonb,
          jsonb_build_object('profile', jsonb_build_object('profile_id', profile))), address_id, now()
      from made
    `.execute(transaction)
  })
  return addresses
}
