/**
 * Load on worker processes that are killed: three sources report the same payments in an order of their own, an executor
 * is asked to pay, and processes die with SIGKILL, in the middle of a report, of a request to the executor, or between
 * two statements. Another one starts in the place of each. Who got no answer asks again.
 */
import type { DepositReportBody } from '../../../../src/money/deposits/schemas.ts'
import type { Random } from '../../../support/random.ts'
import { hex } from '../world/model.ts'
import type { Executor } from './executor.ts'
import { WorkerProcess } from './processes.ts'
import type { ProgramOptions } from './program.ts'

/** Each reports every payment, under a name of its own. */
const SOURCES = ['custody', 'node', 'bank'] as const
/** Payments that are made at once when none is left to report. */
const PAYMENTS_TOGETHER = 10
/** An address of no customer. */
export const UNKNOWN_ADDRESS = `0x${'7'.repeat(40)}`
/** So that a campaign in which no process dies ends. */
const PAYMENTS_MAX = 20_000
/** Reports of one call, and calls at once. */
const REPORTS_MAX = 4
const LANES = 6
/** Statements of a process that dies between two: some reports and batches. */
const STATEMENTS_MAX = 150
/** A process dies in the last of at most this many calls, or requests. */
const CALLS_MAX = 6
const REQUESTS_MAX = 4

/** A payment that was made once, to an address of the service or to one of no customer. */
interface Payment {
  readonly txHash: string
  readonly txIndex: number
  readonly amount: string
  readonly address: string
}

/** A source was answered with this status. */
export interface Acknowledgement {
  readonly source: string
  readonly externalId: string
  readonly status: string
}

interface Report {
  readonly body: DepositReportBody
  readonly payment: Payment
}

type Death =
  | { readonly kind: 'statement'; readonly diesAfter: number }
  | { readonly kind: 'call'; left: number }
  | { readonly kind: 'request'; left: number }

interface Worker {
  readonly name: string
  readonly process: WorkerProcess
  /** Absent: it is not killed. */
  readonly death: Death | undefined
}

export interface CampaignOptions {
  readonly random: Random
  readonly executor: Executor
  /** Where the program is. */
  readonly folder: string
  readonly store: Pick<ProgramOptions, 'engine' | 'store'>
  /** Processes that work at the same time. */
  readonly workers: number
  readonly kills: number
  /** The least number of payments. */
  readonly payments: number
  /** Deposit addresses of the service. */
  readonly addresses: readonly string[]
}

export class Campaign {
  readonly payments: Payment[] = []
  readonly acknowledged: Acknowledgement[] = []
  /** Reports that were not answered, and were sent again. */
  unanswered = 0
  kills = 0
  readonly #options: CampaignOptions
  #reports: Report[] = []
  #workers: Worker[] = []
  #started = 0
  #doomed = 0
  #log = ''
  #failure: unknown

  constructor(options: CampaignOptions) {
    this.#options = options
    options.executor.onRequest = (name) => this.#onRequest(name)
  }

  /** Until that many were killed, and everything that was paid is reported; the workers that are left. */
  async run(): Promise<readonly WorkerProcess[]> {
    const { workers } = this.#options
    await Promise.all(Array.from({ length: workers }, () => this.#start()))
    await Promise.all(Array.from({ length: LANES }, () => this.#reportAll()))
    if (this.#failure !== undefined) throw this.#failure
    return this.#workers.map(({ process }) => process)
  }

  /** What all of them have logged, for the message of a failure. */
  get log(): string {
    return this.#log + this.#workers.map(({ process }) => process.log).join('')
  }

  async #start(): Promise<void> {
    const { folder, store, executor, kills } = this.#options
    const name = `worker-${++this.#started}`
    const death = this.#doomed < kills ? this.#newDeath() : undefined
    if (death !== undefined) this.#doomed++
    const process = new WorkerProcess(folder, {
      ...store,
      webhookUrl: executor.urlFor(name),
      ...(death?.kind === 'statement' ? { diesAfter: death.diesAfter } : {}),
    })
    const worker = { name, process, death }
    this.#workers.push(worker)
    void process.ended.then(() => this.#replace(worker))
    await process.ready
    await process.passTime(0)
  }

  #newDeath(): Death {
    const { random } = this.#options
    const kind = random.pick(['statement', 'call', 'request'] as const)
    if (kind === 'statement') return { kind, diesAfter: 1 + random.integer(STATEMENTS_MAX) }
    return { kind, left: 1 + random.integer(kind === 'call' ? CALLS_MAX : REQUESTS_MAX) }
  }

  async #replace(worker: Worker): Promise<void> {
    this.#workers = this.#workers.filter((other) => other !== worker)
    this.#log += worker.process.log
    if (worker.death === undefined) return
    this.kills++
    try {
      await this.#start()
    } catch (error) {
      this.#failure ??= error
    }
  }

  /** Whether whoever asked lives. */
  #onRequest(name: string): boolean {
    const worker = this.#workers.find((each) => each.name === name)
    if (worker?.death?.kind !== 'request' || --worker.death.left > 0) return true
    worker.process.kill()
    return false
  }

  /** Reports what there is, a few at a time, to any worker; ends when there is nothing left and all kills are done. */
  async #reportAll(): Promise<void> {
    const { random, kills, payments } = this.#options
    while (this.#failure === undefined) {
      if (this.#reports.length === 0) {
        if (this.kills >= kills && this.payments.length >= payments) return
        if (this.payments.length >= PAYMENTS_MAX) throw new Error(`only ${this.kills} were killed: ${this.log}`)
        this.#makePayments()
      }
      const living = this.#workers.filter(({ process }) => process.isAlive)
      if (living.length === 0) await new Promise((resolve) => setImmediate(resolve))
      else await this.#report(random.pick(living), this.#reports.splice(0, 1 + random.integer(REPORTS_MAX)))
    }
  }

  async #report({ process, death }: Worker, reports: readonly Report[]): Promise<void> {
    await process.ready
    const asked = process.report(reports.map(({ body }) => body))
    if (death?.kind === 'call' && --death.left === 0) process.kill()
    const answers = await asked
    for (const [index, report] of reports.entries()) {
      const answer = answers?.[index]
      if (answer !== undefined && 'status' in answer) {
        const { source, external_id: externalId } = report.body
        this.acknowledged.push({ source, externalId, status: answer.status })
        continue
      }
      // Not answered, or not stored because the process stood still for too long: the source reports it again.
      this.unanswered++
      this.#insert(report)
      if (answer !== undefined && !/unavailable|StoreUnavailable/i.test(answer.fault)) {
        this.#failure ??= new Error(`${answer.fault}: ${this.log}`)
      }
    }
  }

  #makePayments(): void {
    const { random, addresses } = this.#options
    for (let number = 0; number < PAYMENTS_TOGETHER; number++) {
      const payment = {
        txHash: `0x${hex(random, 64)}`,
        txIndex: random.integer(3),
        amount: `${1 + random.integer(500)}.${String(random.integer(1_000_000)).padStart(6, '0')}`,
        address: random.chance(0.95) ? random.pick(addresses) : UNKNOWN_ADDRESS,
      }
      this.payments.push(payment)
      // Two outputs of one transaction are two payments.
      const others = random.chance(0.1) ? [{ ...payment, txIndex: payment.txIndex + 3 }] : []
      this.payments.push(...others)
      for (const each of [payment, ...others]) this.#makeReports(each)
    }
  }

  #makeReports(payment: Payment): void {
    const { random } = this.#options
    const number = this.payments.indexOf(payment)
    for (const source of SOURCES) {
      const statuses = random.pick([['COMPLETED'], ['PENDING', 'COMPLETED']] as const)
      for (const status of statuses) {
        const { address, amount, txHash: tx_hash, txIndex: tx_index } = payment
        const body = {
          source,
          external_id: `${source} ${number}`,
          asset: 'USDC',
          amount,
          status,
          crypto: { network: 'ETHEREUM', address, tx_hash, tx_index },
          occurred_at: '2026-11-22T12:00:00.000Z',
        } as DepositReportBody
        this.#insert({ body, payment })
      }
    }
  }

  /** At a random place among those that wait: the order of the sources is another one for each payment. */
  #insert(report: Report): void {
    this.#reports.splice(this.#options.random.integer(this.#reports.length + 1), 0, report)
  }
}
