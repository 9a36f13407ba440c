/**
 * Quotas limit how many records one customer may create, over all its clients and all nodes. This module compares the
 * store's counts with the current settings, rejects creations above them, and counts rejections in a metric. Existing
 * records are never affected. A rejected creation is rolled back, so it is not counted. Records created by the operator
 * for a customer count towards the totals and are limited by them, but not by the daily quota.
 */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { Problem } from '../../platform/http/problem.ts'
import { type CountedRecords, countCreation, readCreationCounts } from '../../platform/store/creation-time.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'

/** The current `quotas.*` settings. */
export interface QuotaLimits {
  readonly accountsMax: number
  readonly addressesMax: number
  readonly rulesMax: number
  readonly creationsPerDay: number
  readonly poolReservePercent: number
}

/** Setting names, without the prefix `quotas.`. */
const QUOTAS = ['accounts_max', 'addresses_max', 'rules_max', 'creations_per_day', 'pool_reserve_percent'] as const

type QuotaName = (typeof QUOTAS)[number]

/** A creation that has been counted and has its time, but has not been admitted yet. */
export interface PendingCreation {
  readonly createdAt: string
  /** Throws above a quota: 403 `quota_exceeded` or 429 `daily_quota_exceeded`. */
  admit(): void
}

interface Use {
  readonly limit: number
  readonly used: number
}

/** A customer's quota usage in the operator API. */
export interface QuotaDocument {
  readonly customer_id: string
  readonly accounts: Use
  readonly addresses: Use
  readonly rules: Use
  readonly creations_today: Use & { readonly resets_in_seconds: number }
}

export class Quotas {
  readonly #limits: () => QuotaLimits
  readonly #refusals: Counter<'quota'>

  /** @param limits read again for every creation */
  constructor(registry: MetricsRegistry, limits: () => QuotaLimits) {
    this.#limits = limits
    this.#refusals = new Counter({
      name: 'tidegate_quota_refusals_total',
      help: 'Creations refused by a quota, by its setting’s name in quotas.*',
      labelNames: ['quota'],
      registers: [registry],
    })
    for (const quota of QUOTAS) this.#refusals.inc({ quota }, 0)
  }

  get poolReservePercent(): number {
    return this.#limits().poolReservePercent
  }

  /**
   * Counts the records a customer is about to create in `transaction`, and returns their creation time. The customer's
   * other creations wait until the transaction ends. Call `admit` only after checking that the request does not repeat
   * an earlier one: repeated requests get 409 whatever the quota.
   */
  begin<Tables>(
    transaction: Transaction<Tables>,
    customerId: string,
    records: Partial<CountedRecords>,
  ): Promise<PendingCreation> {
    return this.#begin(transaction, customerId, records, true)
  }

  /** Like `begin`, for records that the operator creates for a customer. They do not count towards the daily quota. */
  beginForOperator<Tables>(
    transaction: Transaction<Tables>,
    customerId: string,
    records: Partial<CountedRecords>,
  ): Promise<PendingCreation> {
    return this.#begin(transaction, customerId, records, false)
  }

  async #begin<Tables>(
    transaction: Transaction<Tables>,
    customerId: string,
    records: Partial<CountedRecords>,
    isByCustomer: boolean,
  ): Promise<PendingCreation> {
    const { createdAt, totals, today, secondsOfDayLeft } = await countCreation(transaction, customerId, {
      records,
      isByCustomer,
    })
    const admit = (): void => {
      const { accountsMax, addressesMax, rulesMax, creationsPerDay } = this.#limits()
      this.#admitTotal('accounts', records, totals, accountsMax)
      this.#admitTotal('addresses', records, totals, addressesMax)
      this.#admitTotal('rules', records, totals, rulesMax)
      if (isByCustomer && today > creationsPerDay) {
        throw this.#dayIsUsedUp({ limit: creationsPerDay, used: today - 1 }, secondsOfDayLeft)
      }
    }
    return { createdAt, admit }
  }

  /** The limits checked by the statement that creates an account. */
  get accountLimits(): Pick<QuotaLimits, 'accountsMax' | 'creationsPerDay'> {
    return this.#limits()
  }

  /**
   * Throws the quota error for an account that the store did not create, as `admit` does. Returns if no quota is
   * exceeded now.
   */
  async refuseAccount(db: Db, customerId: string): Promise<void> {
    const { totals, today, secondsOfDayLeft } = await readCreationCounts(db, customerId)
    const { accountsMax, creationsPerDay } = this.#limits()
    this.#admitTotal('accounts', { accounts: 1 }, { ...totals, accounts: totals.accounts + 1 }, accountsMax)
    if (today >= creationsPerDay) throw this.#dayIsUsedUp({ limit: creationsPerDay, used: today }, secondsOfDayLeft)
  }

  /** @param totals including the records about to be created */
  #admitTotal(
    kind: keyof CountedRecords,
    records: Partial<CountedRecords>,
    totals: CountedRecords,
    limit: number,
  ): void {
    const added = records[kind] ?? 0
    if (added === 0 || totals[kind] <= limit) return
    const used = totals[kind] - added
    this.countRefusal(`${kind}_max`)
    throw new Problem('quota_exceeded', `${kind}_max: the customer has ${used} of at most ${limit} ${kind}`, {
      meta: { limit, used },
    })
  }

  #dayIsUsedUp({ limit, used }: Use, seconds: number): Problem {
    this.countRefusal('creations_per_day')
    const detail = `creations_per_day: the customer has used ${used} of at most ${limit} creations today. Try again in ${seconds} s`
    return new Problem('daily_quota_exceeded', detail, {
      meta: { limit, used },
      headers: { 'retry-after': String(seconds) },
    })
  }

  countRefusal(quota: QuotaName): void {
    this.#refusals.inc({ quota })
  }

  /** The customer's quota usage. For an unknown customer it is zero. */
  async read(db: Db, customerId: string): Promise<QuotaDocument> {
    const { totals, today, secondsOfDayLeft } = await readCreationCounts(db, customerId)
    const { accountsMax, addressesMax, rulesMax, creationsPerDay } = this.#limits()
    return {
      customer_id: customerId,
      accounts: { limit: accountsMax, used: totals.accounts },
      addresses: { limit: addressesMax, used: totals.addresses },
      rules: { limit: rulesMax, used: totals.rules },
      creations_today: { limit: creationsPerDay, used: today, resets_in_seconds: secondsOfDayLeft },
    }
  }
}
