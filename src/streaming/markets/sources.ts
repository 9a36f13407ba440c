/**
 * Creates the markets' sources from the settings: the simulator, the ingest listener, modules, the recording player,
 * and one source per feed, with the kind and addresses in its settings.
 */
import { createReplay } from '../recordings/replay.ts'
import { createModuleSource } from '../sources/module/module-source.ts'
import type { Scenario } from '../sources/simulator/scenario.ts'
import { createSimulator, type SimulatedTrade } from '../sources/simulator/simulator.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { TidegateSource, type Upstream } from '../sources/tidegate/tidegate-source.ts'
import type { VenueAddresses } from '../sources/venues/venue.ts'
import { VENUES, type VenueName, type VenueSourceParts } from '../sources/venues/venues.ts'

/** The settings with the same names. */
export interface SourceSettings extends FeedSettings {
  readonly 'simulator.seed': number
  readonly 'simulator.rate': number
  readonly 'simulator.scenario': Scenario
  readonly 'replay.speed': number
  readonly 'replay.from_seconds': number
  readonly 'replay.loop': boolean
}

export interface FeedSettings {
  /** By name. */
  readonly feeds: ReadonlyMap<
    string,
    | { readonly kind: VenueName; readonly addresses: VenueAddresses }
    | { readonly kind: 'tidegate'; readonly upstream: Upstream }
  >
}

export interface SourceParts extends Omit<VenueSourceParts, 'name' | 'markets'> {
  readonly config: SourceSettings
  /** Called with every simulator trade before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
  /** Creates the source `ingest`. Absent: no listener, and no market has this source. */
  readonly createIngestSource?: (markets: readonly SourceMarket[]) => Source
}

/** Creates a source for these markets: a feed's, the simulator, the ingest listener or the recording player. */
export type CreateSource = (name: string, markets: readonly SourceMarket[]) => Source

export function createSources({ config, onTrade, createIngestSource, ...shared }: SourceParts): CreateSource {
  const { clock, log } = shared
  return (name, markets) => {
    if (name === 'simulator') {
      return createSimulator({
        markets,
        seed: config['simulator.seed'],
        updatesPerSecond: config['simulator.rate'],
        scenario: config['simulator.scenario'],
        clock,
        ...(onTrade === undefined ? {} : { onTrade }),
      })
    }
    if (name === 'module') {
      return createModuleSource({ ...shared, markets })
    }
    if (name === 'ingest' && createIngestSource !== undefined) return createIngestSource(markets)
    if (name !== 'replay') return createFeedSource(config, { ...shared, name, markets })
    return createReplay({
      markets,
      speed: config['replay.speed'],
      fromSeconds: config['replay.from_seconds'],
      loops: config['replay.loop'],
      clock,
      log,
    })
  }
}

/**
 * The feed must be configured, which `loadConfig` and `reload` check for every market.
 * @throws {Error} when it is not
 */
export function createFeedSource(config: FeedSettings, parts: VenueSourceParts): Source {
  const feed = config.feeds.get(parts.name)
  if (feed === undefined) throw new Error(`there is no feed ${parts.name}`)
  if (feed.kind === 'tidegate') {
    return new TidegateSource({ ...parts, ...feed.upstream })
  }
  return VENUES[feed.kind].createSource(feed.addresses, parts)
}
