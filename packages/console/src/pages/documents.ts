/** The documents of the operator API that pages show, as far as they read them. */

export interface LevelDocument {
  readonly price: string
  readonly amount: string
}

export interface SourceDocument {
  readonly source: string
  readonly live: boolean
  readonly reason?: string
  readonly since: string
  readonly notices: readonly string[]
  /** Of a market with several sources. */
  readonly levels?: number
  readonly heard_at?: string
}

export interface MarketDocument {
  readonly symbol: string
  readonly live: boolean
  readonly reason?: string
  readonly stale_since?: string
  readonly sources: readonly string[]
  readonly source_states: readonly SourceDocument[]
  readonly depth: number
  readonly version: number
  readonly committed_at?: string
  readonly bid_levels: number
  readonly ask_levels: number
  readonly best_bid?: LevelDocument
  readonly best_ask?: LevelDocument
  readonly subscribers: number
}

export interface OverviewPoint {
  readonly at: string
  readonly connections: number
  readonly lagging: number
  readonly queued_bytes: number
  readonly messages_per_second?: number
  readonly bytes_per_second?: number
  readonly latency_p50_ms?: number
  readonly latency_p99_ms?: number
  readonly cpu_percent?: number
  readonly memory_bytes: number
}

export interface OverviewDocument {
  readonly version: string
  readonly started_at: string
  readonly ready: boolean
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[]
  readonly interval_seconds: number
  readonly history: readonly OverviewPoint[]
}

export interface ConnectionDocument {
  readonly id: string
  readonly client_id: string
  readonly customer_id: string
  readonly client_address: string
  readonly subprotocol?: string
  readonly created_at: string
  readonly subscriptions: number
  readonly behind: boolean
  readonly queued_bytes: number
  readonly bytes_out: number
}
