/** This module's tables, as the query builder sees them. The migration `webhook-endpoints` defines them. */
import type { StoredSecret } from './secrets.ts'

export type EndpointStatus = 'ACTIVE' | 'PAUSED' | 'DISABLED' | 'DELETED'

interface EndpointsTable {
  id: string
  customer_id: string
  client_id: string
  url: string
  /** Empty: all types. */
  types: readonly string[]
  status: EndpointStatus
  disabled_reason: string | null
  secrets: readonly StoredSecret[]
  created_at: string
}

interface RequestsTable {
  id: string
  endpoint_id: string
  event_id: string | null
  sequence: string | null
  attempt: number
  status: number | null
  error: string | null
  milliseconds: number
  created_at: string
}

export interface EndpointTables {
  webhook_endpoints: EndpointsTable
  webhook_requests: RequestsTable
}
