/**
 * The operations for pull scenarios. A first connection stays open throughout and sees every message, so messages on
 * the others can be compared with it. It also shows whether a scenario disturbed it.
 */
import { Failed } from '../harness.ts'
import type { CheckRun, ScenarioDriver } from './check-run.ts'
import type { Position } from './published-market.ts'
import { type PullAddress, PullConnection } from './pull-connection.ts'

export class PullDriver implements ScenarioDriver {
  readonly run: CheckRun
  readonly address: PullAddress
  #first: PullConnection | undefined
  /** Whether a market was ever subscribed, and whether a scenario has ended. */
  #hasSubscribed = false
  #hasPlayed = false
  /** Only for the current scenario. */
  #others: PullConnection[] = []

  constructor(run: CheckRun, address: PullAddress) {
    this.run = run
    this.address = address
  }

  get symbols(): readonly string[] {
    return [...this.run.markets.keys()]
  }

  /** The first market's symbol. */
  get symbol(): string {
    return this.symbols[0] as string
  }

  /** After the first scenario, which subscribes: without a subscription every other one would report the same again. */
  get hopeless(): string | undefined {
    return this.#hasPlayed && !this.#hasSubscribed ? 'no subscription was accepted before' : undefined
  }

  /** The connection which sees everything. It is opened again if it was lost. */
  async first(): Promise<PullConnection> {
    if (this.#first?.isOpen) return this.#first
    const connection = new PullConnection(this.run, this.address, true)
    this.#first = connection
    await this.#expectOpen(connection)
    for (const symbol of this.symbols) await this.#subscribe(connection, symbol)
    return connection
  }

  /** Opens another connection, for this scenario only. */
  async open(): Promise<PullConnection> {
    const connection = this.attempt(this.address)
    await this.#expectOpen(connection)
    return connection
  }

  /** Begins to open a connection for this scenario. */
  attempt(address: PullAddress): PullConnection {
    const connection = new PullConnection(this.run, address)
    this.#others.push(connection)
    return connection
  }

  /** Subscribes and waits for the beginning: the SNAPSHOT, or after a resumption what follows. */
  async subscribe(connection: PullConnection, symbol = this.symbol, resume?: Position, isPast = true): Promise<void> {
    await this.#subscribe(connection, symbol, resume, isPast)
  }

  /** Ends the first connection, whose loss is not reported again. */
  forgetFirst(): void {
    this.#first?.close()
    this.#first = undefined
  }

  /** Waits for a numbered message on the connection. False when none arrives while the market is observed. */
  numbered(connection: PullConnection, symbol = this.symbol): Promise<boolean> {
    const { numbered = 0 } = connection.line(symbol) ?? {}
    return this.run.until(
      () => (connection.line(symbol)?.numbered ?? 0) > numbered || !connection.isOpen,
      this.run.options.times.observe,
    )
  }

  /** Ends a scenario: overdue heartbeats and lost connections are reported, and its connections are closed. */
  async afterEach(): Promise<void> {
    this.#hasPlayed = true
    this.#first?.checkHeartbeat()
    for (const connection of this.#others) {
      connection.checker.checkHeartbeat(this.run.now)
      connection.close()
    }
    this.#others = []
    const text = this.#first?.endText ?? ''
    if (text === '') return
    this.run.report('connection-closed', undefined, `the first connection: ${text}`)
    this.#first = undefined
  }

  close(): void {
    this.#first?.close()
  }

  async #expectOpen(connection: PullConnection): Promise<void> {
    if (await connection.opened()) return
    const { endText } = connection
    // It is reported here, and not again as a lost connection. A handshake that never ends would keep the process alive.
    if (connection === this.#first) this.#first = undefined
    connection.close()
    this.run.fail('handshake-refused', undefined, endText || 'no answer')
  }

  async #subscribe(connection: PullConnection, symbol: string, resume?: Position, isPast = true): Promise<void> {
    const { answer } = this.run.options.times
    const { state, message, isResumed } = await connection.subscribe(symbol, resume, isPast)
    if (state === 'refused') this.run.fail('market-refused', symbol, message || 'without a message')
    this.#hasSubscribed = true
    const line = connection.line(symbol)
    if (line === undefined) throw new Failed('the acknowledgement is wrong')
    if (isResumed) return
    const hasBegun = await this.run.until(() => line.hasBegun || !connection.isOpen, answer)
    if (!hasBegun) this.run.fail('snapshot-missing', symbol, `none within ${answer / 1000} s after the acknowledgement`)
  }
}
