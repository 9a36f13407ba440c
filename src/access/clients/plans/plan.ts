/**
 * Plans: what a customer and its client may use. A customer has one plan, and a client may have one that narrows it, so
 * a token has up to two. Each bound is checked in both, and a refusal names the plan that it follows from. The heartbeat
 * is never denied. Pure.
 */
import { CHANNELS, type ChannelType } from '../../../contract/channels.ts'

/** The built-in plan without bounds, which every customer has at first. */
export const UNLIMITED = 'unlimited'

/** A plan. An absent bound: there is none. */
export interface Plan {
  readonly name: string
  /** Symbols. */
  readonly markets?: ReadonlySet<string>
  readonly channels?: ReadonlySet<string>
  readonly depthMax?: number
  readonly intervalMillisecondsMin?: number
  readonly connectionsMax?: number
  readonly subscriptionsMax?: number
  readonly restRatePerSecond?: number
}

/** A token's plan, and the customer or client whose use it counts. */
export interface HeldPlan {
  readonly plan: Plan
  readonly holder: 'customer' | 'client'
  readonly holderId: string
}

/** The customer's plan, then the client's. Plans without bounds are left out. */
export type HeldPlans = readonly HeldPlan[]

/** Without bounds. */
export const NO_PLANS: HeldPlans = []

/** The market_data and top_of_book params which a plan serves in place of the requested ones. */
export interface ServedParams {
  /** Levels per side; 0 = all. */
  readonly depth: number
  /** Absent: every change. */
  readonly intervalMilliseconds?: number | undefined
}

/** Why the plans do not include a market's channel. Undefined: they do. */
export function planRefusal(plans: HeldPlans, type: ChannelType, market: string): string | undefined {
  if (type === 'heartbeat') return undefined
  for (const { plan } of plans) {
    const { name, markets, channels, depthMax, intervalMillisecondsMin } = plan
    if (channels?.has(type) === false) return `the plan ${name} does not include the channel ${type}`
    if (CHANNELS[type].perMarket && markets?.has(market) === false) {
      return `the plan ${name} does not include the market ${market}`
    }
    // A publication has the whole published book, and every commit.
    if (type === 'publication' && (depthMax ?? intervalMillisecondsMin) !== undefined) {
      const bound = depthMax === undefined ? `interval_ms_min ${intervalMillisecondsMin}` : `depth_max ${depthMax}`
      return `the plan ${name} has ${bound}, so it does not include the channel ${type}`
    }
  }
  return undefined
}

/** Whether the plans include a market. */
export function includesMarket(plans: HeldPlans, market: string): boolean {
  return plans.every(({ plan }) => plan.markets?.has(market) !== false)
}

/** The params within the plans' bounds. */
export function servedParams(plans: HeldPlans, { depth, intervalMilliseconds }: ServedParams): ServedParams {
  const bounds = boundsOf(plans)
  const isDeeper = bounds.depthMax !== undefined && (depth === 0 || depth > bounds.depthMax)
  const isOftener = (intervalMilliseconds ?? 0) < (bounds.intervalMillisecondsMin ?? 0)
  return {
    depth: isDeeper ? (bounds.depthMax as number) : depth,
    intervalMilliseconds: isOftener ? bounds.intervalMillisecondsMin : intervalMilliseconds,
  }
}

/** In the customer's own document. */
interface OwnPlanDocument {
  readonly name: string
  readonly markets?: string[]
  readonly channels?: string[]
  readonly depth_max?: number
  readonly interval_ms_min?: number
  readonly connections_max?: number
  readonly subscriptions_max?: number
  readonly rest_rate_per_second?: number
}

/** The client's own plan, or else its customer's, with the narrower bounds. */
export function ownPlanDocument(plans: HeldPlans): OwnPlanDocument {
  const { markets, channels, ...numbers } = boundsOf(plans)
  return {
    name: plans.at(-1)?.plan.name ?? UNLIMITED,
    ...(markets === undefined ? {} : { markets: [...markets] }),
    ...(channels === undefined ? {} : { channels: [...channels] }),
    ...present('depth_max', numbers.depthMax),
    ...present('interval_ms_min', numbers.intervalMillisecondsMin),
    ...present('connections_max', numbers.connectionsMax),
    ...present('subscriptions_max', numbers.subscriptionsMax),
    ...present('rest_rate_per_second', numbers.restRatePerSecond),
  }
}

/** The narrower bounds among the plans. */
function boundsOf(plans: HeldPlans): Omit<Plan, 'name'> {
  const [first, second] = plans
  if (first === undefined) return {}
  if (second === undefined) return first.plan
  const [one, other] = [first.plan, second.plan]
  return {
    ...present('markets', intersection(one.markets, other.markets)),
    ...present('channels', intersection(one.channels, other.channels)),
    ...present('depthMax', least(one.depthMax, other.depthMax)),
    ...present('intervalMillisecondsMin', greatest(one.intervalMillisecondsMin, other.intervalMillisecondsMin)),
    ...present('connectionsMax', least(one.connectionsMax, other.connectionsMax)),
    ...present('subscriptionsMax', least(one.subscriptionsMax, other.subscriptionsMax)),
    ...present('restRatePerSecond', least(one.restRatePerSecond, other.restRatePerSecond)),
  }
}

export function isEqualPlan(one: Plan, other: Plan): boolean {
  return (
    one.name === other.name &&
    one.depthMax === other.depthMax &&
    one.intervalMillisecondsMin === other.intervalMillisecondsMin &&
    one.connectionsMax === other.connectionsMax &&
    one.subscriptionsMax === other.subscriptionsMax &&
    one.restRatePerSecond === other.restRatePerSecond &&
    isEqualSet(one.markets, other.markets) &&
    isEqualSet(one.channels, other.channels)
  )
}

function isEqualSet(one: ReadonlySet<string> | undefined, other: ReadonlySet<string> | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.size === other.size && [...one].every((member) => other.has(member))
}

function present<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Each in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Each in Name]: Value })
}

function intersection(
  one: ReadonlySet<string> | undefined,
  other: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return new Set([...one].filter((member) => other.has(member)))
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

function greatest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)
}
