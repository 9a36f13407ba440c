/** A new deposit's JSON form, for the answer to its first report. It equals the store's text. */
import type { Asset } from '../../contract/assets.ts'
import { formatAmount } from '../ledger/amounts.ts'
import type { DepositDocument } from './store.ts'
import type { DepositValues } from './tables.ts'

/**
 * @param assets must contain the deposit's asset
 * @param createdAt the creation time, by the store's clock
 */
export function newDepositDocument(
  deposit: DepositValues,
  assets: readonly Asset[],
  createdAt: string,
): DepositDocument {
  const { network, address, tx_hash, tx_index, disposition } = deposit
  const { decimals } = assets.find(({ symbol }) => symbol === deposit.asset) as Asset
  const way =
    tx_hash === null || address === null || tx_index === null
      ? {
          fiat: withoutNulls({
            network,
            memo_id: deposit.memo_id,
            remittance: deposit.remittance,
            bank_reference: deposit.bank_reference,
            sender: deposit.sender,
          }),
        }
      : { crypto: { network, address, tx_hash, tx_index } }
  return {
    ...withoutNulls({
      id: deposit.id,
      customer_id: deposit.customer_id,
      profile_id: deposit.profile_id,
      account_id: deposit.account_id,
      asset: deposit.asset,
      amount: formatAmount(BigInt(deposit.amount), decimals),
      status: deposit.status,
      secondary_status: deposit.secondary_status,
      disposition: disposition === null ? null : { code: disposition },
      gates:
        deposit.secondary_status === 'HELD'
          ? (deposit.gates?.map(({ code, detail }) => ({ code, detail })) ?? null)
          : null,
      reason: deposit.reason,
    }),
    ...way,
    ...withoutNulls({
      deposit_address_id: deposit.deposit_address_id,
      deposit_instructions_id: deposit.fiat_instructions_id,
      orchestration_rule_id: deposit.rule_id,
      orchestration_id: deposit.orchestration_id,
      confirmations: deposit.confirmations,
      occurred_at: deposit.occurred_at,
      completed_at: deposit.status === 'COMPLETED' ? createdAt : null,
      created_at: createdAt,
      updated_at: createdAt,
      version: createdAt,
    }),
  }
}

type WithoutNulls<Members> = {
  readonly [Name in keyof Members as null extends Members[Name] ? never : Name]: Members[Name]
} & { readonly [Name in keyof Members as null extends Members[Name] ? Name : never]?: NonNullable<Members[Name]> }

/** The members with a value, in their order. */
function withoutNulls<Members extends object>(members: Members): WithoutNulls<Members> {
  const kept: Record<string, unknown> = {}
  for (const name in members) if (members[name] !== null) kept[name] = members[name]
  return kept as WithoutNulls<Members>
}
