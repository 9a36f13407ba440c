/**
 * Limits on what leaves a customer's profiles, and how a movement is compared with them. Pure.
 *
 * A `movement` limit is the largest amount of one movement. A `day` limit is the largest sum over the last 24 hours, in
 * hourly buckets: an amount counts from its hour until 24 hours after that hour's end, so rounding never favours the
 * customer. The scope `customer` sums all the customer's movements in the asset, the scope `destination` those to one
 * destination.
 */
import type { MinorUnits } from '../ledger/posting.ts'

export const LIMIT_SCOPES = ['customer', 'destination'] as const

export type LimitScope = (typeof LIMIT_SCOPES)[number]

export const LIMIT_WINDOWS = ['movement', 'day'] as const

export type LimitWindow = (typeof LIMIT_WINDOWS)[number]

export interface Limit {
  readonly scope: LimitScope
  readonly asset: string
  readonly window: LimitWindow
  readonly amount: MinorUnits
}

/** Amounts by hour, in hours since 1970. */
export type HourlyUse = ReadonlyMap<number, MinorUnits>

/** Hours until a bucket no longer counts: its own, and the 24 after it. */
export const COUNTED_HOURS = 25

/** The defaults, with the customer's own limits instead where scope, asset and window are equal. */
export function effectiveLimits(defaults: readonly Limit[], own: readonly Limit[]): readonly Limit[] {
  const replaced = new Set(own.map(keyOf))
  return [...defaults.filter((limit) => !replaced.has(keyOf(limit))), ...own]
}

function keyOf({ scope, asset, window }: Limit): string {
  return `${scope} ${asset} ${window}`
}

/** A limit's use. */
export interface LimitUse {
  readonly used: MinorUnits
  readonly available: MinorUnits
  /** The hour, since 1970, at whose start the next amount is released. Undefined: nothing is used. */
  readonly nextRelease: number | undefined
}

export function useOf({ amount, window }: Limit, hours: HourlyUse): LimitUse {
  if (window === 'movement') return { used: 0n, available: amount, nextRelease: undefined }
  const used = [...hours.values()].reduce((sum, part) => sum + part, 0n)
  const nextRelease = hours.size === 0 ? undefined : Math.min(...hours.keys()) + COUNTED_HOURS
  return { used, available: used < amount ? amount - used : 0n, nextRelease }
}

/** A limit too small for a movement. */
export interface Exceeded extends LimitUse {
  readonly limit: Limit
  /** The hour at whose start enough is released for the movement. Undefined: it can never pass by waiting. */
  readonly opensAt: number | undefined
}

/**
 * The limit stopping a movement of this amount. Undefined: none. Of several, it is one for which waiting does not help,
 * or else the last to open.
 *
 * @param hoursOf the counted amounts by scope
 */
export function exceededLimit(
  amount: MinorUnits,
  limits: readonly Limit[],
  hoursOf: (scope: LimitScope) => HourlyUse,
): Exceeded | undefined {
  let worst: Exceeded | undefined
  for (const limit of limits) {
    const hours = hoursOf(limit.scope)
    const use = useOf(limit, hours)
    if (amount <= use.available) continue
    const exceeded = { ...use, limit, opensAt: opensAt(amount, limit, use, hours) }
    if (exceeded.opensAt === undefined) return exceeded
    if (worst?.opensAt === undefined || exceeded.opensAt > worst.opensAt) worst = exceeded
  }
  return worst
}

function opensAt(amount: MinorUnits, limit: Limit, { used }: LimitUse, hours: HourlyUse): number | undefined {
  let missing = used + amount - limit.amount
  if (limit.window === 'movement' || amount > limit.amount) return undefined
  for (const [hour, released] of [...hours].sort(([first], [second]) => first - second)) {
    missing -= released
    if (missing <= 0n) return hour + COUNTED_HOURS
  }
  return undefined
}
