/** A transfer's fee is what was charged for it: the executor's cost of a payment no longer replaces it. */
import type { Migration } from './migration.ts'

export const chargedFees: Migration = {
  name: '202611240350-charged-fees',
  text: `
    update transfers set
      fee = charged.fee,
      updated_at = greatest(
        date_trunc('milliseconds', clock_timestamp()), transfers.updated_at + interval '1 millisecond')
    from (
      select deliveries.id, case when source_asset = destination_asset then coalesce(fee_amount, 0) else 0 end as fee
      from deliveries left join orchestrations on orchestrations.id = orchestration_id
      where deliveries.fee is not null
    ) as charged
    where transfers.id = charged.id and transfers.fee <> charged.fee
  `,
}
