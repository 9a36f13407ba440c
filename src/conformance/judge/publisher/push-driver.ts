/**
 * The operations for push scenarios. The publisher has one connection, which the scenarios cut, delay and refuse. It
 * comes back by itself.
 */
import type { CheckRun, ScenarioDriver } from './check-run.ts'
import type { PublicationLine } from './publication-line.ts'
import type { PushConnection } from './push-connection.ts'
import type { PushServer } from './push-server.ts'

/** More attempts within a second are a loop without a delay. */
const ATTEMPTS_PER_SECOND_MAX = 10

export class PushDriver implements ScenarioDriver {
  readonly run: CheckRun
  readonly server: PushServer
  #isAbsent = false
  /** The connection whose loss is not expected. */
  #kept: PushConnection | undefined

  constructor(run: CheckRun, server: PushServer) {
    this.run = run
    this.server = server
  }

  get symbols(): readonly string[] {
    return [...this.run.markets.keys()]
  }

  /** After a publisher did not connect in time: it is waited for once. */
  get hopeless(): string | undefined {
    return this.#isAbsent ? 'the publisher did not connect before' : undefined
  }

  /** The open connection, or the next one, with which the publisher has begun to send every market. */
  async connection(): Promise<PushConnection> {
    const { connect } = this.run.options.times
    await this.run.until(() => this.server.current !== undefined, connect)
    const connection = this.server.current
    if (connection === undefined) {
      this.#isAbsent = true
      this.run.fail('not-connected', undefined, `no connection is open after ${connect / 1000} s`)
    }
    this.#kept = connection
    return connection
  }

  /** Expects a SNAPSHOT for every market without one on the connection. */
  async expectSnapshots(connection: PushConnection, before: ReadonlyMap<string, number>, what: string): Promise<void> {
    const { answer } = this.run.options.times
    const isMissing = (symbol: string) => (this.line(connection, symbol)?.snapshots ?? 0) <= (before.get(symbol) ?? 0)
    await this.run.until(() => !connection.isOpen || !this.symbols.some(isMissing), answer)
    const missing = this.symbols.find(isMissing)
    if (missing === undefined) return
    const seen = connection.isOpen ? `none within ${answer / 1000} s ${what}` : `${connection.endText} ${what}`
    this.run.fail('snapshot-missing', missing, seen)
  }

  /** Expects every market to continue on the connection: a publisher without a next message sends a SNAPSHOT. */
  async expectContinued(connection: PushConnection): Promise<void> {
    const { answer } = this.run.options.times
    const isMissing = (symbol: string) => this.line(connection, symbol)?.hasBegun !== true
    await this.run.until(() => !connection.isOpen || !this.symbols.some(isMissing), answer)
    const missing = this.symbols.find(isMissing)
    // A connection that ended is reported after the scenario.
    if (missing === undefined || !connection.isOpen) return
    this.run.fail('accepted-ignored', missing, `nothing within ${answer / 1000} s after the connection`)
  }

  line(connection: PushConnection, symbol: string): PublicationLine | undefined {
    return connection.checker.line(symbol)
  }

  snapshots(connection: PushConnection): ReadonlyMap<string, number> {
    return new Map(this.symbols.map((symbol) => [symbol, this.line(connection, symbol)?.snapshots ?? 0]))
  }

  /** From now on the current connection may be lost. */
  release(): void {
    this.#kept = undefined
    this.server.attempts = []
  }

  /** Reports attempts without a delay since `release`. */
  checkAttempts(): void {
    const { attempts } = this.server
    const first = attempts.findIndex(
      (time, index) => (attempts[index + ATTEMPTS_PER_SECOND_MAX] ?? Infinity) - time < 1_000,
    )
    if (first !== -1) {
      this.run.report('reconnect-loop', undefined, `more than ${ATTEMPTS_PER_SECOND_MAX} attempts within a second`)
    }
  }

  async afterEach(): Promise<void> {
    const kept = this.#kept
    kept?.checker.checkHeartbeat(this.run.now)
    if (kept !== undefined && kept.endText !== '') this.run.report('connection-closed', undefined, kept.endText)
    this.#kept = undefined
    this.server.onAccept = undefined
    this.server.isUnavailable = false
    const current = this.server.current
    if (current !== undefined) current.isSilent = false
  }
}
