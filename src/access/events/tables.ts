/** This module's tables, as the query builder sees them. The migration `events` defines them. */

interface EventsTable {
  customer_id: string
  sequence: string
  type: string
  object_type: string
  object_id: string
  ref_id: string | null
  status: string | null
  changed_at: string
  created_at: string
}

interface EventCountersTable {
  customer_id: string
  last_sequence: string
  last_created_at: string
  watched_until: string
}

export interface EventTables {
  events: EventsTable
  event_counters: EventCountersTable
}

/** The store's notification channel: the id of a customer with new events. */
export const EVENTS_CHANNEL = 'tidegate_events'
