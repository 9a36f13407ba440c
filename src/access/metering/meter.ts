/**
 * What clients use, counted in this process: per client, market and channel. A counter is only added to. `take` passes
 * on the differences since the last call, and forgets clients without a connection.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { tickEnd } from '../../platform/base/time-limit.ts'

export interface UsageSums {
  messages: number
  /** Whole WebSocket frames, before TLS. */
  bytes: number
  connectionMilliseconds: number
  restRequests: number
}

/** Use by one client in one channel. */
export interface UsageRow extends Readonly<UsageSums> {
  readonly customerId: string
  readonly clientId: string
  /** Empty for what belongs to no market. */
  readonly market: string
  readonly channel: string
}

/** Replies, notices and control frames, connection time and REST requests. */
const CONTROL = 'control'

/** Counters visited per tick by `take`, and those of one more client. */
const CELLS_PER_TICK = 1_000

/** One client's counters for one channel. */
export class UsageCell implements UsageSums {
  readonly market: string
  readonly channel: string
  messages = 0
  bytes = 0
  connectionMilliseconds = 0
  restRequests = 0
  readonly #taken: UsageSums = { messages: 0, bytes: 0, connectionMilliseconds: 0, restRequests: 0 }

  constructor(market: string, channel: string) {
    this.market = market
    this.channel = channel
  }

  count(messages: number, bytes: number): void {
    this.messages += messages
    this.bytes += bytes
  }

  /** What was counted since the last call. Undefined: nothing. */
  take(): UsageSums | undefined {
    const taken = this.#taken
    const sums = {
      messages: this.messages - taken.messages,
      bytes: this.bytes - taken.bytes,
      connectionMilliseconds: this.connectionMilliseconds - taken.connectionMilliseconds,
      restRequests: this.restRequests - taken.restRequests,
    }
    if (sums.messages + sums.bytes + sums.connectionMilliseconds + sums.restRequests === 0) return undefined
    addSums(taken, sums)
    return sums
  }
}

/** One client's counters. */
export class ClientUsage {
  readonly control = new UsageCell('', CONTROL)
  readonly #cells = new Map<string, UsageCell>()
  #connections = 0
  #countedMilliseconds = 0

  get cellCount(): number {
    return 1 + this.#cells.size
  }

  /** Connections whose time is counted. */
  get connections(): number {
    return this.#connections
  }

  /** A channel's counters. `market`: empty where the channel has none. */
  of(market: string, channel: string): UsageCell {
    if (channel === CONTROL) return this.control
    const key = `${channel} ${market}`
    let cell = this.#cells.get(key)
    if (cell === undefined) {
      cell = new UsageCell(market, channel)
      this.#cells.set(key, cell)
    }
    return cell
  }

  countConnection(difference: 1 | -1, nowMilliseconds: number): void {
    this.#countTime(nowMilliseconds)
    this.#connections += difference
  }

  *take(nowMilliseconds: number): Iterable<Omit<UsageRow, 'customerId' | 'clientId'>> {
    this.#countTime(nowMilliseconds)
    for (const cell of [this.control, ...this.#cells.values()]) {
      const sums = cell.take()
      if (sums !== undefined) yield { market: cell.market, channel: cell.channel, ...sums }
    }
  }

  #countTime(nowMilliseconds: number): void {
    const passed = Math.round(nowMilliseconds) - this.#countedMilliseconds
    this.control.connectionMilliseconds += passed * this.#connections
    this.#countedMilliseconds += passed
  }
}

export interface UsageHolder {
  readonly customerId: string
  readonly clientId: string
}

export class Meter {
  readonly #clock: Clock
  readonly #clients = new Map<string, { readonly customerId: string; readonly usage: ClientUsage }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A client's counters. A reference may be kept while the client has a connection. */
  of({ customerId, clientId }: UsageHolder): ClientUsage {
    let client = this.#clients.get(clientId)
    if (client === undefined) {
      client = { customerId, usage: new ClientUsage() }
      this.#clients.set(clientId, client)
    }
    return client.usage
  }

  /** @param difference of the client's connections */
  countConnection(holder: UsageHolder, difference: 1 | -1): void {
    this.of(holder).countConnection(difference, this.#clock.monotonicMilliseconds())
  }

  /** Adds what another process has counted. */
  add(rows: readonly UsageRow[]): void {
    for (const row of rows) addSums(this.of(row).of(row.market, row.channel), row)
  }

  /** Passes on what was counted since the last call, a limited number of rows per tick. */
  async take(use: (row: UsageRow) => void): Promise<void> {
    let visited = 0
    for (const [clientId, { customerId, usage }] of this.#clients) {
      const now = this.#clock.monotonicMilliseconds()
      for (const taken of usage.take(now)) use({ customerId, clientId, ...taken })
      if (usage.connections === 0) this.#clients.delete(clientId)
      visited += usage.cellCount
      if (visited < CELLS_PER_TICK) continue
      visited = 0
      await tickEnd(this.#clock)
    }
  }
}

export function addSums(sums: UsageSums, added: Readonly<UsageSums>): void {
  sums.messages += added.messages
  sums.bytes += added.bytes
  sums.connectionMilliseconds += added.connectionMilliseconds
  sums.restRequests += added.restRequests
}
