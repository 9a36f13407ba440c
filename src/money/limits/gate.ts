/**
 * The gate LIMIT. Movements are counted in the transaction reserving their money, or else when their payment is to be
 * handed out. Transactions counting in one asset for one customer follow each other, so they never pass a limit
 * together. A movement without a limit is not counted, and nothing is read while there is none.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { lockNames } from '../../platform/store/lock-order.ts'
import type { GateFinding, GateSubject } from '../gates/model.ts'
import { formatAmount } from '../ledger/amounts.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { type LimitedMovement, limitedMovement, withAccountIds } from './limited-movement.ts'
import { type Exceeded, effectiveLimits, exceededLimit, type HourlyUse, type Limit, type LimitScope } from './model.ts'
import { insertUses, type LimitState, readLimitState, returnUses, SECONDS_PER_HOUR } from './use-store.ts'

export interface LimitSettings {
  /** The setting `limits.defaults`. */
  readonly limits: readonly Limit[]
}

/** A waiting movement's limits are read again after this time, because they may have been raised. */
const RETRY_SECONDS_MAX = 300
const NEVER_OPENS = 'waiting does not help: cancel it, release it or raise the limit'

/** The locks under which movements are counted. */
export interface LockedLimits {
  /** Whether the transaction holds any. It may take no others then. */
  readonly isLocked: boolean
  /** Whether it needs one that it may not take. Its movements are left to another transaction. */
  readonly isMissing: boolean
  /** Counts subjects with a known amount within the limits, and those whose gate LIMIT was opened. */
  count(subjects: readonly GateSubject[]): Promise<void>
}

/**
 * Locks the use in which these subjects' movements may be counted. A movement already counted with its amount needs no
 * lock.
 *
 * @param mayLock whether the transaction has locked nothing that comes after
 */
export async function lockLimits<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  { limits: defaults }: LimitSettings,
  mayLock = true,
): Promise<LockedLimits> {
  const movements = await withAccountIds(transaction, possiblyLimited(subjects, defaults))
  const state = movements.length === 0 ? undefined : await readLimitState(transaction, movements)
  const uncounted = movements.filter(
    (movement) => state !== undefined && !isCountedAs(movement, state) && isLimited(movement, defaults, state),
  )
  if (uncounted.length === 0) return { isLocked: false, isMissing: false, count: async () => undefined }
  if (!mayLock) return { isLocked: false, isMissing: true, count: async () => undefined }
  const names = new Set(uncounted.map(lockName))
  await lockNames(transaction, 'limit', [...names])
  return {
    isLocked: true,
    isMissing: false,
    async count(counting) {
      const limited = await withAccountIds(transaction, possiblyLimited(counting, defaults))
      const known = limited.filter((movement) => movement.amount !== undefined && names.has(lockName(movement)))
      if (known.length > 0) await countMovements(transaction, known, defaults)
    },
  }
}

function lockName({ customerId, asset }: LimitedMovement): string {
  return `${customerId}/${asset}`
}

function isCountedAs({ id, amount }: LimitedMovement, { counted }: LimitState): boolean {
  return amount !== undefined && counted.get(id)?.amount === amount
}

async function countMovements<Tables>(
  transaction: Transaction<Tables>,
  movements: readonly LimitedMovement[],
  defaults: readonly Limit[],
): Promise<void> {
  const state = await readLimitState(transaction, movements)
  const thisHour = Math.floor(state.now / SECONDS_PER_HOUR)
  const admitted: LimitedMovement[] = []
  const refused: LimitedMovement[] = []
  for (const movement of movements) {
    if (isCountedAs(movement, state) || !isLimited(movement, defaults, state)) continue
    const before = state.counted.get(movement.id)
    const hoursOf = (scope: LimitScope): HourlyUse => {
      const hours = new Map(state.hours(movement, scope))
      const add = (hour: number, amount: MinorUnits) => hours.set(hour, (hours.get(hour) ?? 0n) + amount)
      if (before !== undefined && hours.has(before.hour)) add(before.hour, -before.amount)
      // The batch's earlier movements count too.
      for (const other of admitted) if (isSummed(movement, other, scope)) add(thisHour, other.amount as MinorUnits)
      return hours
    }
    const exceeded = exceededLimit(movement.amount as MinorUnits, limitsOf(movement, defaults, state), hoursOf)
    if (exceeded === undefined || movement.isOpened) admitted.push(movement)
    else if (before !== undefined) refused.push(movement)
  }
  await insertUses(transaction, admitted)
  await returnUses(transaction, refused)
}

function isLimited(movement: LimitedMovement, defaults: readonly Limit[], state: LimitState): boolean {
  return limitsOf(movement, defaults, state).length > 0
}

function isSummed(movement: LimitedMovement, other: LimitedMovement, scope: LimitScope): boolean {
  const isSame = movement.customerId === other.customerId && movement.asset === other.asset
  return isSame && (scope === 'customer' || movement.destination === other.destination)
}

/** Returns the finding for each subject whose movement has a limit and is not counted. Undefined: none was read. */
export function readLimitGate<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: LimitSettings,
): Promise<readonly (readonly GateFinding[])[]> | undefined {
  const movements = possiblyLimited(subjects, settings.limits)
  return movements.length === 0 ? undefined : readFindings(transaction, subjects, movements, settings.limits)
}

async function readFindings<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  limited: readonly LimitedMovement[],
  defaults: readonly Limit[],
): Promise<readonly (readonly GateFinding[])[]> {
  const movements = await withAccountIds(transaction, limited)
  const state = await readLimitState(transaction, movements)
  const byId = new Map(movements.map((movement) => [movement.id, movement]))
  return subjects.map(({ owner }) => {
    const movement = 'orchestrationId' in owner ? byId.get(owner.orchestrationId) : undefined
    if (movement?.amount === undefined || state.counted.has(movement.id)) return []
    const limits = limitsOf(movement, defaults, state)
    if (limits.length === 0) return []
    const exceeded = exceededLimit(movement.amount, limits, (scope) => state.hours(movement, scope))
    if (exceeded !== undefined) return [findingOf(exceeded, state)]
    return [{ code: 'LIMIT', detail: 'it is not counted yet', retrySeconds: 1 }]
  })
}

function findingOf({ limit, used, available, nextRelease, opensAt }: Exceeded, state: LimitState): GateFinding {
  const { scope, window, asset } = limit
  const name = `the limit in ${asset} per ${scope} and ${window}`
  const text = (amount: MinorUnits) => formatAmount(amount, state.decimalsOf(asset))
  const isReached = opensAt !== undefined
  const seconds = isReached ? Math.ceil(opensAt * SECONDS_PER_HOUR - state.now) : RETRY_SECONDS_MAX
  const detail = isReached ? `${name} is reached` : `the amount is above ${name}`
  return {
    code: 'LIMIT',
    detail: isReached ? detail : `${detail}: ${NEVER_OPENS}`,
    retrySeconds: Math.min(RETRY_SECONDS_MAX, Math.max(1, seconds)),
    refusal: {
      code: 'limit_exceeded',
      detail,
      meta: {
        limit: text(limit.amount),
        used: text(used),
        available: text(available),
        ...(nextRelease === undefined ? {} : { next_release_at: hourText(nextRelease) }),
      },
    },
  }
}

/** The start of an hour since 1970, as RFC 3339. */
export function hourText(hour: number): string {
  return new Date(hour * SECONDS_PER_HOUR * 1_000).toISOString()
}

/** The movements for which there may be a limit: by default, or of their customer's own. */
function possiblyLimited(subjects: readonly GateSubject[], defaults: readonly Limit[]): readonly LimitedMovement[] {
  return subjects.flatMap((subject) => {
    const movement = limitedMovement(subject)
    if (movement === undefined) return []
    const hasDefault = defaults.some(({ asset }) => asset === movement.asset)
    return hasDefault || movement.hasOwnLimits !== false ? [movement] : []
  })
}

function limitsOf(movement: LimitedMovement, defaults: readonly Limit[], state: LimitState): readonly Limit[] {
  return effectiveLimits(
    defaults.filter(({ asset }) => asset === movement.asset),
    state.ownLimits(movement),
  )
}
