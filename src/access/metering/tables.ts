/** This module's tables, as the query builder sees them. The migration `usage` defines them. */

interface SumColumns {
  customer_id: string
  client_id: string
  market: string
  channel: string
  messages: string
  bytes: string
  connection_ms: string
  rest_requests: string
}

export interface UsageTables {
  usage_hours: SumColumns & { hour: string; run_id: string }
  usage_days: SumColumns & { day: string }
}
