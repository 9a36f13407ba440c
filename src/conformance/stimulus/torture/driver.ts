/**
 * The operations for scenarios: bring the client to a settled connection, wait for its reaction, and report a wrong
 * reaction by name. All waiting is bounded and divided by the pace. The client's own delays are not divided, so waiting
 * for them has a minimum.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { Waits } from '../../judge/harness.ts'
import type { ClientProcess } from './client-process.ts'
import { ClientMissing, WrongReaction } from './reactions.ts'
import type { ScriptedConnection } from './scripted-connection.ts'
import type { ScriptedMarkets } from './scripted-markets.ts'
import type { TortureService } from './service.ts'

export interface DriverOptions {
  readonly service: TortureService
  readonly clock: Clock
  /** Divides the service's times: `--pace`. */
  readonly pace: number
  /** The program under test, if this process starts it. */
  readonly client: ClientProcess | undefined
  /** Shows a request to the person at the terminal. */
  readonly ask: (text: string) => void
}

/** Minimum wait for a client to come back: its own delays are not divided by the pace. */
const RETURN_MILLISECONDS_MIN = 40_000
/** Minimum time in which a client must stay away. */
const ABSENCE_MILLISECONDS_MIN = 1_500
/** Longest time from a client's start to its subscriptions: for a program started here, and for any other. */
const PROGRAM_START_MILLISECONDS_MAX = 60_000
const PERSON_START_MILLISECONDS_MAX = 600_000
/** More attempts in one second are a loop without a delay. */
const ATTEMPTS_PER_SECOND_MAX = 10
/** Longest wait for the pong to a ping after all data, and then the time for the client to act on the data. */
const PONG_MILLISECONDS_MAX = 10_000
const AFTERMATH_MILLISECONDS = 200
/** A delay below this counts as none: a client's random delay is hardly ever this short. */
const AT_ONCE_MILLISECONDS = 20

/** The requirements on a returning client. */
export interface ReturnRules {
  readonly waitSeconds: number
  /** No attempt may carry the previous connection's token. */
  readonly needsNewToken?: boolean
}

export class ScenarioDriver {
  readonly service: TortureService
  readonly #options: DriverOptions
  readonly #waits: Waits
  /** Whether the program may be started: a scenario ended it, or this is the first scenario. */
  #mayStart = true

  constructor(options: DriverOptions) {
    this.#options = options
    this.#waits = new Waits(options.clock)
    this.service = options.service
  }

  get markets(): ScriptedMarkets {
    return this.service.markets
  }

  get pace(): number {
    return this.#options.pace
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** Monotonic milliseconds, as attempts have them. */
  now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }

  /** Whether the program under test has ended. */
  get hasEnded(): boolean {
    return this.#options.client?.isRunning === false
  }

  /** Must be called after every client action. */
  notify(): void {
    this.#waits.notify()
  }

  /** Ends every wait: the run was interrupted. */
  stop(): void {
    this.#waits.stop(new ClientMissing('interrupted'))
  }

  /** The market which scenarios disturb: the client's first subscription. */
  marketOf(connection: ScriptedConnection): string {
    return connection.markets[0] as string
  }

  /** Waits for `seconds`, divided by the pace. */
  async pass(seconds: number): Promise<void> {
    await this.#until(() => false, this.#scaled(seconds))
  }

  /** Waits for a connection with subscriptions and data. Starts the client if it does not run. */
  async settled(): Promise<ScriptedConnection> {
    const { client, ask } = this.#options
    let earlier: ScriptedConnection | undefined
    const isSettled = () => this.service.current !== earlier && this.service.current?.isSettled === true
    if (client === undefined && !isSettled()) {
      // A running client reconnects. Otherwise a person is asked to start it.
      if (!this.#mayStart) await this.#until(isSettled, RETURN_MILLISECONDS_MIN)
      if (!isSettled()) ask('waiting for the client: start it, or start it again')
    }
    if (client?.isRunning === false) {
      if (!this.#mayStart) throw this.#programEnded('after the scenario before this one')
      // The end of a program may be noticed before the end of its connection.
      earlier = this.service.current
      client.start()
    }
    this.#mayStart = false
    const limit = client === undefined ? PERSON_START_MILLISECONDS_MAX : PROGRAM_START_MILLISECONDS_MAX
    const hasCome = await this.#until(() => isSettled() || client?.isRunning === false, limit)
    if (isSettled()) return this.service.current as ScriptedConnection
    const how = client?.ending ?? (hasCome ? '' : 'it subscribed none of this server’s markets in time')
    throw new ClientMissing(`there is no client to test: ${how}`)
  }

  /** Waits for the client's next connection with all earlier subscriptions. Throws `WrongReaction`. */
  async returns(before: ScriptedConnection, { waitSeconds, needsNewToken }: ReturnRules): Promise<ScriptedConnection> {
    const next = () => this.#laterThan(before)
    const isBack = () => next()?.isSettled === true && missingIn(before, next()).length === 0
    await this.#until(() => isBack() || this.hasEnded, this.#scaled(waitSeconds, RETURN_MILLISECONDS_MIN))
    this.#checkAttempts(before, needsNewToken === true)
    const connection = next()
    if (isBack() && connection !== undefined) return connection
    this.checkRunning()
    if (connection === undefined) throw new WrongReaction('did-not-come-back', this.#attemptsText())
    throw new WrongReaction(
      'subscriptions-missing',
      missingIn(before, connection).join(', ') || 'no data was requested',
    )
  }

  /**
   * Checks for further attempts, of which there must be none, and stops the client. The next scenario starts it again.
   */
  async staysAway(waitSeconds: number): Promise<void> {
    const { client } = this.#options
    const hasTried = () => this.service.attempts.length > 0
    await this.#until(() => hasTried() || this.hasEnded, this.#scaled(waitSeconds, ABSENCE_MILLISECONDS_MIN))
    const isWrong = hasTried()
    await client?.stop()
    this.#mayStart = true
    if (isWrong) throw new WrongReaction('came-back', this.#attemptsText())
  }

  /**
   * Checks that the client keeps the connection for `seconds` (divided by the pace) and repeats no existing
   * subscription. `earlierRepeats`: the number of repeats before the scenario.
   */
  async stays(
    connection: ScriptedConnection,
    seconds: number,
    earlierRepeats = connection.repeated.length,
  ): Promise<void> {
    const isDisturbed = () => !connection.isOpen || connection.repeated.length > earlierRepeats
    await this.#until(isDisturbed, this.#scaled(seconds))
    await this.#caughtUp(connection)
    this.checkOpen(connection)
    const repeated = new Set(connection.repeated.slice(earlierRepeats))
    if (repeated.size > 0) throw new WrongReaction('subscribed-again', [...repeated].join(', '))
  }

  /** Resolves to whether the predicate came true in time: `waitSeconds` divided by the pace, at least a client's own delays. */
  reaches(predicate: () => boolean, waitSeconds: number): Promise<boolean> {
    return this.#until(predicate, this.#scaled(waitSeconds, RETURN_MILLISECONDS_MIN))
  }

  /** The same without the minimum: for immediate reactions, or reactions which must not happen. */
  reachesSoon(predicate: () => boolean, waitSeconds: number): Promise<boolean> {
    return this.#until(predicate, this.#scaled(waitSeconds))
  }

  checkOpen(connection: ScriptedConnection): void {
    if (connection.isOpen) return
    this.checkRunning()
    throw new WrongReaction('closed-by-client', `close code ${connection.closed?.code}`)
  }

  checkRunning(): void {
    if (this.hasEnded) throw this.#programEnded('in this scenario')
  }

  /** Checks that the client continues, on this connection or on another with the same subscriptions. */
  async continues(connection: ScriptedConnection, waitSeconds: number): Promise<void> {
    await this.#caughtUp(connection)
    if (!connection.isOpen) await this.returns(connection, { waitSeconds })
  }

  /** `delays`: milliseconds from each close to the client's next attempt. At least one must not be immediate. */
  checkDelays(delays: readonly number[]): void {
    if (delays.every((delay) => delay < AT_ONCE_MILLISECONDS)) {
      throw new WrongReaction('reconnect-loop', `${delays.length} new connections within ${Math.ceil(sum(delays))} ms`)
    }
  }

  /** Checks that no attempt follows a refusal within its Retry-After, unless the client cannot read refusals. */
  checkRetryAfter(what: 'token' | 'handshake', seconds: number): void {
    const attempts = this.service.attempts
    const refused = attempts.findIndex((attempt) => attempt.what === what && attempt.status >= 400)
    const refusal = attempts[refused]
    const next = attempts.slice(refused + 1)[0]
    if (refusal === undefined || next === undefined || !refusal.hasHeader) return
    const waited = next.atMilliseconds - refusal.atMilliseconds
    // Two processes' clocks differ slightly, so a timer may seem early.
    if (waited < seconds * 1000 - 10) {
      throw new WrongReaction('retry-after-ignored', `after ${Math.round(waited)} ms instead of ${seconds} s`)
    }
  }

  /** Ends the connection, so the client subscribes again: stops its program, or else closes the connection. */
  async restart(connection: ScriptedConnection): Promise<void> {
    const { client } = this.#options
    this.#mayStart = client !== undefined || !connection.isOpen
    if (client === undefined) connection.session?.close('operator')
    else await client.stop()
    await this.#until(() => !connection.isOpen, RETURN_MILLISECONDS_MIN)
  }

  #programEnded(when: string): WrongReaction {
    this.#mayStart = true
    return new WrongReaction('program-ended', `${when}: ${this.#options.client?.ending ?? ''}`)
  }

  /** Waits until the client has processed all data, and has had time to act on it. */
  async #caughtUp(connection: ScriptedConnection): Promise<void> {
    if (!connection.isOpen || connection.transport?.canPing !== true) return
    const { pongCount } = connection
    connection.transport.ping()
    await this.#until(() => connection.pongCount > pongCount || !connection.isOpen, PONG_MILLISECONDS_MAX)
    await this.#until(() => !connection.isOpen, AFTERMATH_MILLISECONDS)
  }

  #laterThan(before: ScriptedConnection): ScriptedConnection | undefined {
    const last = this.service.connections.at(-1)
    return last === before ? undefined : last
  }

  #checkAttempts(before: ScriptedConnection, needsNewToken: boolean): void {
    const { attempts } = this.service
    for (const [index, { atMilliseconds }] of attempts.entries()) {
      const later = attempts[index + ATTEMPTS_PER_SECOND_MAX]
      if (later !== undefined && later.atMilliseconds - atMilliseconds < 1_000) {
        throw new WrongReaction('reconnect-loop', `more than ${ATTEMPTS_PER_SECOND_MAX} attempts within a second`)
      }
    }
    const refused = new Set(needsNewToken ? [before.token] : [])
    let repeatable: string | undefined
    for (const { what, token, status } of attempts) {
      if (refused.has(token) && token !== repeatable) {
        throw new WrongReaction('old-token', 'a handshake carried the previous token')
      }
      // Node.js 24 repeats a handshake answered 401 once, with the same headers, before its caller hears of it.
      repeatable = what === 'handshake' && status === 401 && !refused.has(token) ? token : undefined
      if (what === 'handshake' && status === 401) refused.add(token)
    }
  }

  #attemptsText(): string {
    const { attempts } = this.service
    if (attempts.length === 0) return 'there was no attempt'
    const texts = attempts.slice(0, 5).map(({ what, status }) => `${what} ${status === 0 ? 'cut' : status}`)
    return `${attempts.length} attempts: ${texts.join(', ')}${attempts.length > 5 ? ', …' : ''}`
  }

  #scaled(seconds: number, millisecondsMin = 0): number {
    return Math.max((seconds * 1000) / this.#options.pace, millisecondsMin)
  }

  #until(predicate: () => boolean, milliseconds: number): Promise<boolean> {
    return this.#waits.until(predicate, milliseconds)
  }
}

function missingIn(before: ScriptedConnection, after: ScriptedConnection | undefined): readonly string[] {
  return [...before.subscribed].filter((key) => after?.subscribed.has(key) !== true)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
