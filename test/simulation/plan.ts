/**
 * What happens in one run of the simulation: a list of events that a seed determines. Each event has everything that it
 * needs, so a list from which events were removed is a run too, which is how a failing run is shrunk.
 */
import { EXTENDED_INTERVALS } from '../../src/contract/channels.ts'
import { Random } from '../support/random.ts'

export const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD'] as const
/** Levels per side that a market may publish; 0 = all. */
export const PUBLISHED_DEPTHS = [25, 0, 10] as const
export const GATEWAYS = 2
export const CLIENTS = 20

export type Mood = 'fast' | 'slow' | 'paused'

export type Event =
  /** Source messages of one market, at every feed that runs. */
  | { readonly kind: 'update'; readonly market: number; readonly seed: number; readonly count: number }
  | { readonly kind: 'snapshot'; readonly market: number; readonly seed: number }
  | { readonly kind: 'lost' | 'missed'; readonly market: number }
  | { readonly kind: 'pass'; readonly milliseconds: number }
  /** The end of one event-loop tick only. */
  | { readonly kind: 'tick' }
  | {
      readonly kind: 'link'
      readonly gateway: number
      readonly loss: number
      readonly repetition: number
      readonly delayMilliseconds: number
    }
  /** Another process leads; the earlier one ends, or publishes until `endEarlier`. */
  | { readonly kind: 'failover'; readonly keepsEarlier: boolean; readonly seed: number }
  | { readonly kind: 'endEarlier' }
  | { readonly kind: 'wallStep'; readonly milliseconds: number }
  /** Every process stands still, and its timers run late. */
  | { readonly kind: 'standStill'; readonly milliseconds: number }
  | { readonly kind: 'restartGateway'; readonly gateway: number }
  /** The configuration is reloaded with another published depth of a market. */
  | { readonly kind: 'reload'; readonly market: number; readonly depth: number; readonly seed: number }
  | { readonly kind: 'mood'; readonly client: number; readonly mood: Mood }
  | { readonly kind: 'read'; readonly client: number }
  | {
      readonly kind: 'connect'
      readonly client: number
      readonly gateway: number
      readonly kernelBytes: number
      readonly seed: number
    }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly client: number; readonly seed: number }
  /** Bytes that are not a request, too many requests, or requests without effect. */
  | { readonly kind: 'hostile'; readonly client: number; readonly seed: number }
  /** Faults end, every client reads, and what each has must be complete. */
  | { readonly kind: 'rest' }

/** What the report counts as a fault; messages that links lose or repeat are counted where they are. */
export const FAULTS: ReadonlySet<Event['kind']> = new Set([
  'lost',
  'missed',
  'link',
  'failover',
  'wallStep',
  'standStill',
  'restartGateway',
  'reload',
  'mood',
  'connect',
  'hostile',
] as const)

export const INTERVALS = [undefined, undefined, ...EXTENDED_INTERVALS.slice(0, 3)] as const
export const DEPTHS = [undefined, undefined, 1, 5, 10] as const

const EVENTS_PER_REST = 2_000

/** The events of a seed; the last is a rest. */
export function plan(seed: number, count: number): Event[] {
  const random = new Random(seed)
  const events: Event[] = Array.from({ length: CLIENTS }, (_, client) => connect(random, client))
  while (events.length < count - 1) {
    events.push(events.length % EVENTS_PER_REST === 0 ? { kind: 'rest' } : event(random))
  }
  return [...events, { kind: 'rest' }]
}

function connect(random: Random, client: number): Event {
  return {
    kind: 'connect',
    client,
    gateway: random.integer(GATEWAYS),
    kernelBytes: 1_024 << random.integer(6),
    seed: random.integer(2 ** 31),
  }
}

function event(random: Random): Event {
  const dice = random.next()
  const market = random.integer(MARKETS.length)
  const seed = random.integer(2 ** 31)
  if (dice < 0.4) return { kind: 'update', market, seed, count: random.chance(0.05) ? 40 : 1 + random.integer(3) }
  if (dice < 0.68) return { kind: 'pass', milliseconds: random.pick([0.5, 2, 2, 10, 40]) * random.next() }
  if (dice < 0.72) return { kind: 'tick' }
  if (dice < 0.75) return { kind: 'snapshot', market, seed }
  return rareEvent(random, market, seed, (dice - 0.75) * 4)
}

function rareEvent(random: Random, market: number, seed: number, dice: number): Event {
  const client = random.integer(CLIENTS)
  if (dice < 0.25) return { kind: 'mood', client, mood: random.pick(['fast', 'fast', 'slow', 'paused'] as const) }
  if (dice < 0.4) return { kind: 'read', client }
  if (dice < 0.52) return connect(random, client)
  if (dice < 0.67) return { kind: 'subscribe', client, seed }
  if (dice < 0.73) return { kind: 'unsubscribe', client, seed }
  if (dice < 0.77) return { kind: 'hostile', client, seed }
  if (dice < 0.89) return link(random)
  if (dice < 0.9) return { kind: 'lost', market }
  if (dice < 0.91) return { kind: 'missed', market }
  if (dice < 0.94) return { kind: 'pass', milliseconds: random.pick([1_500, 5_000, 30_000]) }
  if (dice < 0.955) return { kind: 'failover', keepsEarlier: random.chance(0.5), seed }
  if (dice < 0.97) return { kind: 'endEarlier' }
  if (dice < 0.98) return { kind: 'wallStep', milliseconds: random.integer(4_000) - 3_000 }
  if (dice < 0.985) return { kind: 'standStill', milliseconds: random.pick([50, 800, 6_000]) }
  if (dice < 0.994) return { kind: 'restartGateway', gateway: random.integer(GATEWAYS) }
  return { kind: 'reload', market, depth: random.pick(PUBLISHED_DEPTHS), seed }
}

function link(random: Random): Event {
  const gateway = random.integer(GATEWAYS)
  const dice = random.integer(10)
  if (dice === 0) return { kind: 'link', gateway, loss: 1, repetition: 0, delayMilliseconds: 0 }
  if (dice < 5) return { kind: 'link', gateway, loss: random.next() / 10, repetition: 0.1, delayMilliseconds: 40 }
  return { kind: 'link', gateway, loss: 0, repetition: 0, delayMilliseconds: 0 }
}
