/**
 * Whether other nodes are connected to NATS while this one is not. A node without a connection asks through the store,
 * once a second. Nodes with a connection answer, each at most once a second. Nothing is stored. While the store cannot
 * be reached either, there is no answer. Failed statements are repeated a second later. The store itself reports why.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

const CHANNEL = 'tidegate_bus'
const ASK_MILLISECONDS = 1_000
/** An answer counts until three more are missing. */
const ANSWER_MILLISECONDS_MAX = 3_500
/** Answers count after this time. When all nodes lose NATS, they may notice it up to two seconds apart. */
const ANSWERED_MILLISECONDS_MIN = 3_000

export interface BusReportsOptions {
  readonly db: Db
  readonly clock: Clock
  /** This node's identifier. */
  readonly node: string
  readonly isConnected: () => boolean
}

export class BusReports {
  readonly #options: BusReportsOptions
  #answeredMilliseconds = Number.NEGATIVE_INFINITY
  /** The first and the last answer since this node has had no connection. */
  #answers: { readonly firstMilliseconds: number; lastMilliseconds: number } | undefined
  #unlisten: (() => Promise<void>) | undefined
  #sending: Promise<void> | undefined
  #isStopped = false
  #timer: Timer

  constructor(options: BusReportsOptions) {
    this.#options = options
    this.#timer = options.clock.schedule(0, () => this.#tick())
  }

  /** Whether other nodes are connected, and have been for three seconds, while this one is not. */
  get othersAreConnected(): boolean {
    if (this.#answers === undefined || !this.#isAnswered(this.#answers)) return false
    const { firstMilliseconds, lastMilliseconds } = this.#answers
    return !this.#options.isConnected() && lastMilliseconds - firstMilliseconds >= ANSWERED_MILLISECONDS_MIN
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer.cancel()
    await this.#sending
    await this.#unlisten?.()
  }

  #tick(): void {
    this.#timer = this.#options.clock.schedule(ASK_MILLISECONDS, () => this.#tick())
    const isConnected = this.#options.isConnected()
    if (isConnected) this.#answers = undefined
    if (this.#unlisten === undefined) this.#do(() => this.#listen())
    else if (!isConnected) this.#do(() => this.#notify('ask'))
  }

  /** One statement at a time: the next tick repeats what is omitted. */
  #do(work: () => Promise<void>): void {
    if (this.#sending !== undefined || this.#isStopped || !this.#options.db.available) return
    this.#sending = work()
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable) && !(error instanceof StatementFailed)) throw error
      })
      .finally(() => {
        this.#sending = undefined
      })
  }

  async #listen(): Promise<void> {
    this.#unlisten = await this.#options.db.listen(CHANNEL, {
      onNotify: (payload) => this.#take(payload),
      // A question or answer that was lost meanwhile is repeated by the next question.
      onReconnect: () => undefined,
    })
  }

  #take(payload: string): void {
    const { clock, node, isConnected } = this.#options
    const [what, from] = payload.split(' ')
    if (from === node) return
    const now = clock.monotonicMilliseconds()
    if (what === 'connected' && !isConnected()) this.#noteAnswer(now)
    if (what !== 'ask' || !isConnected() || now - this.#answeredMilliseconds < ASK_MILLISECONDS) return
    this.#answeredMilliseconds = now
    this.#do(() => this.#notify('connected'))
  }

  #noteAnswer(now: number): void {
    if (this.#answers !== undefined && this.#isAnswered(this.#answers)) this.#answers.lastMilliseconds = now
    else this.#answers = { firstMilliseconds: now, lastMilliseconds: now }
  }

  #isAnswered({ lastMilliseconds }: { readonly lastMilliseconds: number }): boolean {
    return this.#options.clock.monotonicMilliseconds() - lastMilliseconds <= ANSWER_MILLISECONDS_MAX
  }

  async #notify(what: 'ask' | 'connected'): Promise<void> {
    const { db, node } = this.#options
    await sql`select pg_notify(${CHANNEL}, ${`${what} ${node}`})`.execute(db.tables())
  }
}
