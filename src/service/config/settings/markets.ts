/** The settings for markets and where their data comes from. */
import { SCENARIOS } from '../../../streaming/sources/simulator/scenario.ts'
import { feeds } from '../feeds.ts'
import { markets } from '../markets.ts'
import { choice, factor, integer, seconds, toggle } from '../setting-kinds.ts'

export const MARKETS_SETTINGS = {
  markets: markets({
    initial: [],
    live: true,
    meaning: 'this service’s markets and their sources',
  }),
  feeds: feeds({
    meaning: 'connections to venues and publishers by name, for sources named NAME:SYMBOL',
  }),
  'simulator.allowed': toggle({
    initial: false,
    live: true,
    meaning:
      'allows the simulator, and publishers that declare invented prices (true in demo). A reload to false is refused while a market uses the simulator, and ends such publishers’ books',
  }),
  'simulator.seed': integer({
    initial: 1,
    min: 0,
    max: 4_294_967_295,
    meaning: 'random seed: the same seed produces the same orders',
  }),
  'simulator.rate': integer({ initial: 40, min: 1, max: 10_000, meaning: 'mean book updates per second and market' }),
  'simulator.scenario': choice({
    initial: 'none',
    values: SCENARIOS,
    meaning: 'event in the simulated markets, at the times listed in docs/how-to/test-your-client.md',
  }),
  'replay.speed': factor({
    initial: 1,
    min: 0.001,
    max: 1_000_000,
    meaning: 'speed for sources named replay:FILE, as a multiple of the recorded speed',
  }),
  'replay.from_seconds': seconds({
    initial: 0,
    min: 0,
    max: 999_999_999,
    meaning: 'start of the replay, from the recording’s first entry',
  }),
  'replay.loop': toggle({ initial: false, meaning: 'repeats a recording from its start when it ends' }),
} as const
