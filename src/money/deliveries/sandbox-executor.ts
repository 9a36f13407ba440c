/**
 * A sandbox's executor (`rest.sandbox`), which makes no payments. It claims deliveries and settles them at once, unless
 * the amount or destination selects another outcome. For an unknown outcome it reports nothing: the next claim, after
 * the first has ended, settles the delivery.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { DueSearch } from '../../platform/store/due-search.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { checkDepositMode } from '../controls/deposit-mode.ts'
import { magicOutcome } from '../destinations/magic-places.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { readDecimals } from '../ledger/assets.ts'
import { DELIVERIES_CHANNEL } from './create.ts'
import { handOut } from './hand-out.ts'
import type { DeliveryOwners } from './owner.ts'
import { failAll, settle } from './results.ts'
import { type DeliveryRow, lockDelivery } from './store.ts'

export interface SandboxExecutorOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly owners: DeliveryOwners
}

type Outcome = 'settled' | 'refused' | 'unknown'

/** Outcomes by amount, as decimal text. Those by destination are in `money/destinations/magic-places`. */
const MAGIC: Readonly<Record<string, Outcome>> = { '11.04': 'refused', '11.05': 'unknown' }

const CLAIM = { channel: 'manual', defaultChannel: 'manual', executor: 'sandbox' } as const
const CLAIMS_MAX = 20
/** The claim's duration, and so the time for which an outcome stays unknown. */
const CLAIM_SECONDS = 3
const POLL_MILLISECONDS = 1_000

export class SandboxExecutor {
  readonly #options: SandboxExecutorOptions
  readonly #search: DueSearch
  #unlisten: (() => Promise<void>) | undefined
  #timer: Timer | undefined
  #working: Promise<void> | undefined
  #isWoken = false
  #stopped = false

  constructor(options: SandboxExecutorOptions) {
    this.#options = options
    this.#search = new DueSearch(options.clock)
  }

  async start(): Promise<void> {
    const wake = () => this.#wake()
    this.#unlisten = await this.#options.db.listen(DELIVERIES_CHANNEL, { onNotify: wake, onReconnect: wake })
    wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#working
    await this.#unlisten?.()
  }

  #wake(): void {
    this.#isWoken = true
    if (this.#stopped || this.#working !== undefined) return
    this.#timer?.cancel()
    this.#working = this.#work().finally(() => {
      this.#working = undefined
      if (this.#stopped) return
      this.#timer = this.#options.clock.schedule(this.#isWoken ? 0 : POLL_MILLISECONDS, () => this.#wake())
    })
  }

  async #work(): Promise<void> {
    this.#isWoken = false
    try {
      while (!this.#stopped && (await this.#executeDue()) > 0);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'sandbox deliveries failed and are tried again')
    }
  }

  /** Returns the number of executed deliveries. */
  async #executeDue(): Promise<number> {
    const { db, owners } = this.#options
    const request = { ...CLAIM, limit: CLAIMS_MAX, leaseSeconds: CLAIM_SECONDS }
    const handedOut = await this.#search.claim((isRecent) =>
      transactionWithRetries(db, async (transaction) => {
        const found = await handOut(transaction, owners, { ...request, isRecent })
        // Another process may have made the first deposit since the start, perhaps just before this search. A real
        // one's payment must not be invented, so nothing found is claimed.
        await checkDepositMode(transaction, true)
        return found
      }),
    )
    for (const { id } of handedOut) await transactionWithRetries(db, (transaction) => this.#execute(transaction, id))
    return handedOut.length
  }

  /** Reports a claimed delivery's outcome, unless it already has one. */
  async #execute<Tables>(transaction: Transaction<Tables>, id: string): Promise<void> {
    const { owners } = this.#options
    const row = await lockDelivery(transaction, id)
    if (row.status !== 'CLAIMED') return
    const decimals = await readDecimals(transaction)
    const outcome = outcomeOf(row, formatAmount(BigInt(row.amount), decimals.get(row.asset) ?? 0))
    if (outcome === 'settled') await settle(transaction, owners, row, { reference: `sandbox ${id}` })
    if (outcome === 'refused') {
      await failAll(transaction, owners, [row], { code: 'REFUSED', detail: 'refused by the sandbox' })
    }
  }
}

/** The selected outcome. An unknown one is settled at the second attempt. */
function outcomeOf({ destination, attempt }: DeliveryRow, amount: string): Outcome {
  const asked = MAGIC[amount] ?? magicOutcome(destination) ?? 'settled'
  return asked === 'unknown' && attempt > 1 ? 'settled' : asked
}
