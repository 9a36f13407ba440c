/** The CSV columns for deposits, orchestrations and deliveries. */
import type { Schema } from '../base/operator-api.ts'
import type { CsvColumn } from '../ui/csv-button.tsx'
import type { Terms } from './rule-text.ts'

/** Columns with the same name as their member. */
function members<Item>(...names: readonly (keyof Item & string)[]): readonly CsvColumn<Item>[] {
  return names.map((name) => ({ name, text: (item: Item) => item[name] as string | number | undefined }))
}

function destination({ destination: terms }: { readonly destination: Terms }): string {
  const [form] = Object.values(terms)
  return form?.address ?? form?.fiat_account_id ?? form?.profile_id ?? ''
}

export const DEPOSIT_CSV: readonly CsvColumn<Schema<'Deposit'>>[] = [
  ...members<Schema<'Deposit'>>('id', 'occurred_at', 'completed_at', 'asset', 'amount', 'status', 'secondary_status'),
  { name: 'disposition', text: ({ disposition }) => disposition?.code },
  { name: 'network', text: ({ crypto, fiat }) => crypto?.network ?? fiat?.network },
  { name: 'address', text: ({ crypto }) => crypto?.address },
  { name: 'tx_hash', text: ({ crypto }) => crypto?.tx_hash },
  { name: 'tx_index', text: ({ crypto }) => crypto?.tx_index },
  { name: 'memo_id', text: ({ fiat }) => fiat?.memo_id },
  { name: 'bank_reference', text: ({ fiat }) => fiat?.bank_reference },
  ...members<Schema<'Deposit'>>(
    'customer_id',
    'account_id',
    'profile_id',
    'orchestration_id',
    'delivery_id',
    'reason',
    'created_at',
  ),
]

export const ORCHESTRATION_CSV: readonly CsvColumn<Schema<'OperatorOrchestration'>>[] = [
  ...members<Schema<'OperatorOrchestration'>>(
    'id',
    'created_at',
    'updated_at',
    'status',
    'waiting_for',
    'source_asset',
    'source_amount',
    'destination_asset',
    'destination_amount',
    'price',
    'price_source',
  ),
  { name: 'fee_amount', text: ({ receipt }) => receipt?.fee_amount },
  { name: 'destination', text: destination },
  { name: 'fail_code', text: ({ fail_reason }) => fail_reason?.code },
  ...members<Schema<'OperatorOrchestration'>>(
    'customer_id',
    'profile_id',
    'deposit_id',
    'orchestration_rule_id',
    'ref_id',
  ),
]

export const DELIVERY_CSV: readonly CsvColumn<Schema<'Delivery'>>[] = [
  ...members<Schema<'Delivery'>>('id', 'created_at', 'updated_at', 'status', 'attempt', 'asset', 'amount', 'fee'),
  { name: 'destination', text: destination },
  { name: 'network', text: ({ destination: { crypto, fiat } }) => crypto?.network ?? fiat?.network },
  { name: 'memo', text: ({ destination: { crypto, fiat } }) => crypto?.memo ?? fiat?.memo },
  { name: 'fail_code', text: ({ fail_reason }) => fail_reason?.code },
  ...members<Schema<'Delivery'>>(
    'reference',
    'executor',
    'channel',
    'customer_id',
    'profile_id',
    'orchestration_id',
    'deposit_id',
  ),
]
