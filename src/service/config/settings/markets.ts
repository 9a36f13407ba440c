/** The settings for markets and where their data comes from. */
import { SCENARIOS } from '../../../streaming/sources/simulator/scenario.ts'
import { feeds } from '../feeds.ts'
import { markets } from '../markets.ts'
import { choice, factor, integer, seconds, toggle } from '../setting-kinds.ts'

export const MARKETS_SETTINGS = {
  markets: markets({
    initial: [],
    live: true,
    meaning: 'markets of this service, with their sources; demo has three simulated markets',
  }),
  feeds: feeds({
    meaning:
      'connections to venues and publishers by name, for sources named NAME:SYMBOL; a feed with the name of each venue exists by default',
  }),
  'simulator.allowed': toggle({
    initial: false,
    live: true,
    meaning:
      'whether markets may use the simulator, or a publisher that says that it invents its prices; true in demo. A reload to false is refused while a market names the simulator, and ends the books of such publishers',
  }),
  'simulator.seed': integer({ initial: 1, min: 0, max: 4_294_967_295, meaning: 'same seed, same orders' }),
  'simulator.rate': integer({ initial: 40, min: 1, max: 10_000, meaning: 'mean book updates per second and market' }),
  'simulator.scenario': choice({
    initial: 'none',
    values: SCENARIOS,
    meaning:
      'what happens to simulated markets, at the times that docs/how-to/test-your-client.md lists: `halt`, `outage`, `crossing`, `deep`, `storm`, or nothing',
  }),
  'replay.speed': factor({
    initial: 1,
    min: 0.001,
    max: 1_000_000,
    meaning: 'speed of sources named replay:FILE, as a multiple of the recorded speed',
  }),
  'replay.from_seconds': seconds({
    initial: 0,
    min: 0,
    max: 999_999_999,
    meaning: 'start of the replay, counted from the first entry of the recording',
  }),
  'replay.loop': toggle({ initial: false, meaning: 'whether a recording that has ended starts over' }),
} as const
