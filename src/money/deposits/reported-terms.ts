/** The deposit columns from a report: for a new deposit, and for one whose terms the report replaces. */
import { newId } from '../../platform/base/ids.ts'
import { formatAmount } from '../ledger/amounts.ts'
import type { DepositRow } from './known.ts'
import type { Report } from './report.ts'
import type { DepositValues } from './tables.ts'
import { operatorHold } from './transitions.ts'

/** A configured asset's decimals. */
export type DecimalsOf = (asset: string) => number | undefined

/** A deposit created by a report, before its owner is known. */
export function newDepositOf(report: Report): DepositValues {
  return {
    id: newId(),
    customer_id: null,
    profile_id: null,
    account_id: null,
    ...termColumns(report),
    status: report.status,
    secondary_status: report.holdReason === undefined ? null : 'HELD',
    disposition: null,
    deposit_address_id: null,
    fiat_instructions_id: null,
    rule_id: null,
    orchestration_id: null,
    skips_rules: false,
    delivery_id: null,
    returned_from: null,
    confirmations: report.confirmations,
    reason: report.holdReason ?? null,
    gates: report.holdReason === undefined ? null : [operatorHold(report.holdReason)],
    opened_gates: [],
    corrections: [],
    transfer_id: null,
  }
}

/**
 * The deposit with a report's terms. An owner found by address or memo is looked up again. An owner chosen by a person
 * is kept.
 */
export function replacedBy(before: DepositRow, report: Report): DepositValues {
  const { memo_id, remittance, bank_reference, sender, ...terms } = termColumns(report)
  const replaced = {
    ...before,
    ...terms,
    memo_id: memo_id ?? before.memo_id,
    remittance: remittance ?? before.remittance,
    bank_reference: bank_reference ?? before.bank_reference,
    sender: sender ?? before.sender,
  }
  const isAssigned = before.deposit_address_id === null && before.fiat_instructions_id === null
  if (isAssigned) return replaced
  const unowned = { customer_id: null, profile_id: null, account_id: null }
  return { ...replaced, ...unowned, deposit_address_id: null, fiat_instructions_id: null }
}

function termColumns(report: Report) {
  return {
    asset: report.asset,
    amount: String(report.amount),
    network: report.network,
    address: report.address,
    tx_hash: report.txHash,
    tx_index: report.txIndex,
    memo_id: report.memoId,
    remittance: report.remittance,
    bank_reference: report.bankReference,
    sender: report.sender,
    occurred_at: report.occurredAt,
  }
}

/** The terms before a report replaced them. */
export function replacedTerms(before: DepositRow, after: DepositValues, decimalsOf: DecimalsOf) {
  const names = ['asset', 'amount', 'network', 'address', 'tx_hash', 'tx_index', 'memo_id', 'bank_reference'] as const
  const different = names.filter((name) => before[name] !== null && before[name] !== after[name])
  const decimals = decimalsOf(before.asset)
  const amount = decimals === undefined ? `${before.amount} units` : formatAmount(BigInt(before.amount), decimals)
  return Object.fromEntries(different.map((name) => [name, name === 'amount' ? amount : before[name]]))
}
