/** The documents of money, and the columns of their CSV files. */
import type { CsvColumn } from '../ui/csv-button.tsx'

type Terms = Readonly<Record<string, Readonly<Record<string, string | undefined>> | undefined>>

export interface DepositDocument {
  readonly id: string
  readonly customer_id?: string
  readonly profile_id?: string
  readonly account_id?: string
  readonly asset: string
  readonly amount: string
  readonly status: string
  readonly secondary_status?: string
  readonly disposition?: { readonly code: string }
  readonly reason?: string
  readonly crypto?: {
    readonly network: string
    readonly address: string
    readonly tx_hash: string
    readonly tx_index: number
  }
  readonly fiat?: {
    readonly network: string
    readonly memo_id?: string
    readonly remittance?: string
    readonly bank_reference?: string
    readonly sender?: string
  }
  readonly orchestration_rule_id?: string
  readonly orchestration_id?: string
  readonly delivery_id?: string
  readonly confirmations?: number
  readonly occurred_at: string
  readonly completed_at?: string
  readonly created_at: string
}

export interface OrchestrationDocument {
  readonly id: string
  readonly customer_id: string
  readonly profile_id: string
  readonly account_id?: string
  readonly ref_id?: string
  readonly orchestration_rule_id?: string
  readonly deposit_id?: string
  readonly retry_of?: string
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount?: string
  readonly price?: string
  readonly price_source?: string
  readonly receipt?: Readonly<
    Record<'initial_amount' | 'fee_amount' | 'converted_amount' | 'rate' | 'outgoing_amount', string>
  >
  readonly status: string
  readonly step?: string
  readonly waiting_for?: string
  readonly waiting_detail?: string
  readonly waiting_since?: string
  readonly expires_at: string
  readonly fail_reason?: { readonly code: string; readonly detail: string }
  readonly source: Terms
  readonly destination: Terms
  readonly created_at: string
  readonly updated_at: string
}

export interface DeliveryDocument {
  readonly id: string
  readonly status: string
  readonly attempt: number
  readonly asset: string
  readonly amount: string
  readonly fee?: string
  readonly destination: Terms
  readonly customer_id: string
  readonly profile_id: string
  readonly orchestration_id?: string
  readonly deposit_id?: string
  readonly channel: string
  readonly executor?: string
  readonly lease_until?: string
  readonly next_attempt_at?: string
  readonly waiting_for?: string
  readonly waiting_detail?: string
  readonly reference?: string
  readonly late?: boolean
  readonly fail_reason?: { readonly code: string; readonly detail: string }
  readonly created_at: string
  readonly updated_at: string
  readonly attempts?: readonly DeliveryAttempt[]
}

export interface DeliveryAttempt {
  readonly attempt: number
  readonly executor: string
  readonly outcome?: string
  readonly detail?: string
  readonly started_at: string
  readonly ended_at?: string
}

/** Columns of members with the same name. */
function members<Item>(...names: readonly (keyof Item & string)[]): readonly CsvColumn<Item>[] {
  return names.map((name) => ({ name, text: (item: Item) => item[name] as string | number | undefined }))
}

function destination({ destination: terms }: { readonly destination: Terms }): string {
  const [form] = Object.values(terms)
  return form?.address ?? form?.fiat_account_id ?? form?.profile_id ?? ''
}

export const DEPOSIT_CSV: readonly CsvColumn<DepositDocument>[] = [
  ...members<DepositDocument>('id', 'occurred_at', 'completed_at', 'asset', 'amount', 'status', 'secondary_status'),
  { name: 'disposition', text: ({ disposition }) => disposition?.code },
  { name: 'network', text: ({ crypto, fiat }) => crypto?.network ?? fiat?.network },
  { name: 'address', text: ({ crypto }) => crypto?.address },
  { name: 'tx_hash', text: ({ crypto }) => crypto?.tx_hash },
  { name: 'tx_index', text: ({ crypto }) => crypto?.tx_index },
  { name: 'memo_id', text: ({ fiat }) => fiat?.memo_id },
  { name: 'bank_reference', text: ({ fiat }) => fiat?.bank_reference },
  ...members<DepositDocument>(
    'customer_id',
    'account_id',
    'profile_id',
    'orchestration_id',
    'delivery_id',
    'reason',
    'created_at',
  ),
]

export const ORCHESTRATION_CSV: readonly CsvColumn<OrchestrationDocument>[] = [
  ...members<OrchestrationDocument>(
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
  ...members<OrchestrationDocument>('customer_id', 'profile_id', 'deposit_id', 'orchestration_rule_id', 'ref_id'),
]

export const DELIVERY_CSV: readonly CsvColumn<DeliveryDocument>[] = [
  ...members<DeliveryDocument>('id', 'created_at', 'updated_at', 'status', 'attempt', 'asset', 'amount', 'fee'),
  { name: 'destination', text: destination },
  { name: 'fail_code', text: ({ fail_reason }) => fail_reason?.code },
  ...members<DeliveryDocument>(
    'reference',
    'executor',
    'channel',
    'customer_id',
    'profile_id',
    'orchestration_id',
    'deposit_id',
  ),
]
