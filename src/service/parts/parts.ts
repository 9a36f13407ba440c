/** The values that every part is given when it starts. */
import type { Directory } from '../../access/clients/directory.ts'
import type { TokenVerifier } from '../../access/clients/token-verifier.ts'
import type { Meter } from '../../access/metering/meter.ts'
import type { SeenPosition } from '../../money/controls/store-identity.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Ingest } from '../../streaming/ingest/ingest.ts'
import type { Bus } from '../../streaming/sequencing/bus.ts'
import type { SimulatedTrade } from '../../streaming/sources/simulator/simulator.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import type { StoreDefault } from '../config/store-defaults.ts'
import type { DemoPage } from '../pages/demo-page.ts'
import type { Lifecycle } from '../process/lifecycle.ts'
import type { SchemaState } from '../process/store-wait.ts'

export interface ServiceOptions {
  readonly config: Config
  /** Where the values come from, for the operator. Absent = all set by the starting program. */
  readonly origins?: Origins
  readonly log: Log
  readonly clock: Clock
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number
  /** Called with every simulated trade before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
  /** Carries the commits, for callers that subscribe as well. Absent = this service has its own bus. */
  readonly bus?: Bus
  /** Set by the demo: addresses without a configured key are derived from a seed for testing, in the data folder. */
  readonly hasTestSeed?: boolean
  /** Set by the demo: a browser on this machine gets a live ladder at `/`, once the demo client exists. */
  readonly hasDemoPage?: boolean
  /** Takes the data folder from a holder on another machine, which cannot be asked whether it runs. */
  readonly takeOver?: boolean
  /** Aborts the start: started parts are stopped, and the start fails with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Shared by all parts of the process. */
export interface Parts extends ServiceOptions {
  /** The current configuration, which a reload replaces. `config` stays the start's, for keys that need a restart. */
  readonly current: { config: Config; origins: Origins }
  readonly lifecycle: Lifecycle
  readonly metrics: MetricsRegistry
  readonly bus: Bus
  readonly directory: Directory
  readonly verifier: TokenVerifier
  /** Counts what clients use. */
  readonly meter: Meter
  readonly signal: AbortSignal
  readonly demoPage: DemoPage | undefined
  readonly ingest: Ingest | undefined
  readonly state: {
    schema: SchemaState | undefined
    /** Where this process last saw the store. Undefined: it has no note. */
    seenStore?: SeenPosition | undefined
    /** The defaults that the store keeps. Empty until it was read. */
    storeDefaults: readonly StoreDefault[]
    /** Set once, when the start has completed. */
    started: boolean
    /** Set once, when stopping begins. */
    draining: boolean
    /** The address for customers: `http.public_url`, or the public listener's once it is open. */
    publicUrl: string
    /**
     * The stream's address for customers: `stream.public_url`, or that of its own port once it is open. Empty: that of
     * `publicUrl`.
     */
    streamUrl: string
  }
}
