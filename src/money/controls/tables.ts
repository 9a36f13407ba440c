/** The table `controls` for the query builder. The migration `deliveries` defines it. */
interface ControlsTable {
  id: number
  paused_assets: readonly string[]
  paused_networks: readonly string[]
  /** SOURCE/DESTINATION. */
  paused_pairs: readonly string[]
  deliveries_paused: boolean
  /** Null: never changed. */
  updated_at: string | null
}

export interface ControlsTables {
  controls: ControlsTable
}
