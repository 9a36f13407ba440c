/**
 * This machine's gateway processes, as the main process sees them. They listen to one port and verify tokens
 * themselves. The main process sends them the books, the directory and each other's connection counts, asks them for
 * the operator, and supervises them. A process that ends takes only its own connections with it.
 */
import type { Meter, UsageRow } from '../../access/metering/meter.ts'
import type { Timer } from '../../platform/base/clock.ts'
import { addCounts, Counter, Gauge, type MetricsRegistry, type MetricsSnapshot } from '../../platform/base/metrics.ts'
import { Problem } from '../../platform/http/problem.ts'
import { pageOfParts } from '../../platform/store/page-memory.ts'
import type { SessionDetails } from './connection-document.ts'
import type { ConnectionCounts, Questions, ToGatewayProcess } from './process-messages.ts'
import {
  type ConnectionPart,
  type ConnectionRequest,
  type FoundConnection,
  pageRequestOf,
  type ServedConnections,
} from './served-connections.ts'
import { HolderCounts } from './session-index.ts'
import { COUNTS_MILLISECONDS } from './shared-counts.ts'
import { SupervisedProcess, type SupervisedProcessOptions } from './supervised-process.ts'

/** Time between two pings, and how much later a second may end and still count. */
const CHECK_MILLISECONDS = 1_000
const LATE_MILLISECONDS_MAX = 250

export interface GatewayProcessesOptions extends SupervisedProcessOptions {
  readonly count: number
  readonly metrics: MetricsRegistry
  readonly meter: Pick<Meter, 'add'>
  /** A process has ended, and with it the usage since this wall-clock time. */
  readonly onUsageLost: (sinceMilliseconds: number) => void
}

/** A process with its last counts. */
interface Counted {
  readonly process: SupervisedProcess
  readonly holders: HolderCounts
  total: number
  /** What the process last reported. Undefined until it has. */
  metrics: MetricsSnapshot | undefined
}

export class GatewayProcesses implements ServedConnections {
  readonly #options: GatewayProcessesOptions
  readonly #counted: readonly Counted[]
  /** Customers and clients whose use the processes have to be sent. */
  readonly #changed = new Set<string>()
  /** What ended processes had counted. */
  #endedCounts: MetricsSnapshot = []
  #countsTimer: Timer | undefined
  #checkTimer: Timer | undefined
  #checkedMilliseconds = 0
  #onReady: (() => void) | undefined

  constructor(options: GatewayProcessesOptions) {
    this.#options = options
    const ends = this.#createMetrics()
    this.#counted = Array.from({ length: options.count }, (_, number): Counted => {
      const events = {
        ready: () => {
          this.#onReady?.()
          for (const { holders } of this.#counted) this.#countsChanged(holders.holderIds)
        },
        counted: (counts: ConnectionCounts) => this.#count(counted, counts),
        used: (rows: readonly UsageRow[]) => options.meter.add(rows),
        measured: (metrics: MetricsSnapshot) => {
          counted.metrics = metrics
        },
        usageLost: options.onUsageLost,
        ended: () => {
          ends.inc()
          this.#countsChanged(counted.holders.holderIds)
          counted.holders.clear()
          counted.total = 0
          this.#endedCounts = addCounts(this.#endedCounts, counted.metrics ?? [])
          counted.metrics = undefined
        },
      }
      const process = new SupervisedProcess(number, options, events)
      const counted: Counted = { process, holders: new HolderCounts(), total: 0, metrics: undefined }
      return counted
    })
  }

  start(): void {
    for (const { process } of this.#counted) process.start()
    this.#checkedMilliseconds = this.#options.clock.monotonicMilliseconds()
    this.#checkTimer = this.#scheduleCheck()
  }

  get readyCount(): number {
    return this.#counted.filter(({ process }) => process.isAvailable).length
  }

  /** Resolves when a process takes connections. */
  whenReady(): Promise<void> {
    if (this.readyCount > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onReady = resolve
    })
  }

  async list(request: ConnectionRequest, bytesMax: number): Promise<ConnectionPart> {
    const page = pageRequestOf(request)
    // Throws for an invalid cursor.
    pageOfParts([], page)
    const parts = (await this.#askAll('list', [request, bytesMax / this.#options.count])).flatMap(
      (each) => each?.answer ?? [],
    )
    const { items, next_page_cursor } = pageOfParts(parts, page)
    const end = next_page_cursor === undefined ? undefined : items.at(-1)
    const total = parts.reduce((sum, part) => sum + part.total, 0)
    return { records: items, total, ...(end === undefined ? {} : { end }) }
  }

  find(id: string): Promise<FoundConnection | undefined> {
    return this.#first('find', id)
  }

  show(id: string): Promise<SessionDetails | undefined> {
    return this.#first('show', id)
  }

  /** Closes one connection, if it is still open. */
  close(id: string): void {
    this.send({ type: 'close', id })
  }

  /**
   * Metrics from all processes, with what ended ones had counted, and each market's subscriber count at those that answer
   * in time. Another's metrics are its last ones, so no counter falls.
   */
  async measure(): Promise<{
    readonly metrics: readonly MetricsSnapshot[]
    readonly subscribers: ReadonlyMap<string, number>
  }> {
    const measured = (await Promise.all(this.#counted.map((counted) => this.#measure(counted)))).flatMap(
      (answer) => answer ?? [],
    )
    const subscribers = new Map<string, number>()
    for (const [market, count] of measured.flatMap((each) => [...each.subscribers])) {
      subscribers.set(market, (subscribers.get(market) ?? 0) + count)
    }
    const metrics = [...this.#counted.map((counted) => counted.metrics ?? []), this.#endedCounts]
    return { metrics: metrics.filter(({ length }) => length > 0), subscribers }
  }

  sendFrame(...frame: Parameters<SupervisedProcess['sendFrame']>): void {
    for (const { process } of this.#counted) process.sendFrame(...frame)
  }

  send(message: ToGatewayProcess): void {
    for (const { process } of this.#counted) process.send(message)
  }

  /** Ends the listeners, and all connections spread over `seconds`. Resolves when none is left. */
  async drain(seconds: number): Promise<void> {
    await Promise.all(this.#counted.map(({ process }) => process.drain(seconds)))
  }

  /** Ends the processes. Resolves when none is left. */
  async stop(): Promise<void> {
    this.#checkTimer?.cancel()
    this.#countsTimer?.cancel()
    await Promise.all(this.#counted.map(({ process }) => process.stop()))
  }

  async #measure(counted: Counted): Promise<Questions['measure']['answer'] | undefined> {
    const answer = (await counted.process.ask('measure', undefined))?.answer
    if (answer !== undefined) counted.metrics = answer.metrics
    // One that ended during a drain has no connections any more.
    else if (!counted.process.isRunning && counted.metrics !== undefined) {
      this.#endedCounts = addCounts(this.#endedCounts, counted.metrics)
      counted.metrics = undefined
    }
    return answer
  }

  #createMetrics(): Counter {
    const registers = [this.#options.metrics]
    const processes = this
    new Gauge({
      name: 'tidegate_gateway_processes_ready',
      help: 'Gateway processes that accept connections',
      registers,
      collect() {
        this.set(processes.readyCount)
      },
    })
    return new Counter({
      name: 'tidegate_gateway_process_ends_total',
      help: 'Gateway processes that ended without being stopped, together with their connections',
      registers,
    })
  }

  #scheduleCheck(): Timer {
    const { clock } = this.#options
    return clock.schedule(CHECK_MILLISECONDS, () => {
      const now = clock.monotonicMilliseconds()
      const isOnTime = now - this.#checkedMilliseconds <= CHECK_MILLISECONDS + LATE_MILLISECONDS_MAX
      this.#checkedMilliseconds = now
      this.#checkTimer = this.#scheduleCheck()
      // After the answers that have arrived.
      clock.endOfTick(() => {
        for (const { process } of this.#counted) process.check(isOnTime)
      })
    })
  }

  #count(counted: Counted, { total, holders }: ConnectionCounts): void {
    counted.total = total
    for (const [id, use] of holders) counted.holders.set(id, use)
    this.#countsChanged(holders.map(([id]) => id))
  }

  /** Sends each process what is used at the others, a moment later. */
  #countsChanged(holderIds: Iterable<string>): void {
    for (const id of holderIds) this.#changed.add(id)
    this.#countsTimer ??= this.#options.clock.schedule(COUNTS_MILLISECONDS, () => {
      this.#countsTimer = undefined
      const changed = [...this.#changed]
      this.#changed.clear()
      for (const counted of this.#counted) {
        const others = this.#counted.filter((each) => each !== counted)
        const sum = (of: (other: Counted) => number) => others.reduce((total, other) => total + of(other), 0)
        const useOf = (id: string) => ({
          connections: sum((other) => other.holders.of(id).connections),
          subscriptions: sum((other) => other.holders.of(id).subscriptions),
        })
        const holders = changed.map((id) => [id, useOf(id)] as const)
        counted.process.send({ type: 'others', counts: { total: sum(({ total }) => total), holders } })
      }
    })
  }

  #askAll<Name extends keyof Questions>(name: Name, asked: Questions[Name]['asked']) {
    return Promise.all(this.#counted.map(({ process }) => process.ask(name, asked)))
  }

  /** The answer from the process that has the connection. Only when every one has answered is it known that none has. */
  async #first<Name extends 'find' | 'show'>(name: Name, id: string): Promise<Questions[Name]['answer']> {
    const answers = await this.#askAll(name, id)
    const found = answers.find((each) => each?.answer !== undefined)
    if (found === undefined && answers.includes(undefined)) {
      const detail = 'a gateway process, which may have the connection, has not answered in time: try again'
      throw new Problem('unavailable', detail)
    }
    return found?.answer
  }
}
