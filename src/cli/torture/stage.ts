/**
 * Where scenarios are played: it brings the client to a settled connection, waits for what the client does, and turns
 * what it must not do into a named wrong reaction. All waiting is bounded, and scaled by the pace; what a client waits
 * by itself is not, so waiting for it has a floor.
 */
import type { Clock } from '../../base/clock.ts'
import type { ClientProcess } from './client-process.ts'
import { ClientMissing, WrongReaction } from './reactions.ts'
import type { ScriptedConnection } from './scripted-connection.ts'
import type { ScriptedMarkets } from './scripted-markets.ts'
import type { TortureService } from './service.ts'

export interface StageOptions {
  readonly service: TortureService
  readonly clock: Clock
  /** So many times faster than life. */
  readonly pace: number
  /** The program under test, when we start it. */
  readonly client: ClientProcess | undefined
  /** Asks the person at the terminal for something. */
  readonly ask: (text: string) => void
}

/** The least time in which a client has to come back: its own delays are not scaled. */
const RETURN_MILLISECONDS_MIN = 40_000
/** The least time in which a client that must not come back is watched. */
const ABSENCE_MILLISECONDS_MIN = 1_500
/** How long a client may take from its start to its subscriptions: a program of ours, and one that a person starts. */
const PROGRAM_START_MILLISECONDS_MAX = 60_000
const PERSON_START_MILLISECONDS_MAX = 600_000
/** More attempts in one second are a loop without a delay. */
const ATTEMPTS_PER_SECOND_MAX = 10
/** How long a client may take to answer a ping behind what it has to work through, and to act on what it found. */
const PONG_MILLISECONDS_MAX = 10_000
const AFTERMATH_MILLISECONDS = 200
/** A client that waits at random hardly ever waits this little. */
const AT_ONCE_MILLISECONDS = 20

/** What else is expected of a client that comes back. */
export interface ReturnRules {
  readonly waitSeconds: number
  /** No attempt may carry a token of before. */
  readonly needsNewToken?: boolean
}

export class Stage {
  readonly service: TortureService
  readonly #options: StageOptions
  readonly #waiting = new Set<() => void>()
  #stopped: Error | undefined
  /** Whether the program has to be started because a scenario ended it, or none has been played yet. */
  #mayStart = true

  constructor(options: StageOptions) {
    this.#options = options
    this.service = options.service
  }

  get markets(): ScriptedMarkets {
    return this.service.markets
  }

  get pace(): number {
    return this.#options.pace
  }

  /** Milliseconds of the clock that attempts are noted with. */
  now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }

  /** Whether the program under test has ended. */
  get hasEnded(): boolean {
    return this.#options.client?.isRunning === false
  }

  /** To be called whenever the client did something. */
  notify(): void {
    for (const look of [...this.#waiting]) look()
  }

  /** Ends every wait: the run was interrupted. */
  stop(): void {
    this.#stopped = new ClientMissing('interrupted')
    this.notify()
  }

  /** The market that scenarios disturb: the first that the client has subscribed. */
  marketOf(connection: ScriptedConnection): string {
    return connection.markets[0] as string
  }

  /** Lets scaled seconds pass. */
  async pass(seconds: number): Promise<void> {
    await this.#until(() => false, this.#scaled(seconds))
  }

  /** A connection with subscriptions and data; the client is started when it does not run. */
  async settled(): Promise<ScriptedConnection> {
    const { client, ask } = this.#options
    const isSettled = () => this.service.current?.isSettled === true
    if (client === undefined && !isSettled()) {
      // A client that was not stopped comes back by itself; a person is asked when it does not.
      if (!this.#mayStart) await this.#until(isSettled, RETURN_MILLISECONDS_MIN)
      if (!isSettled()) ask('waiting for the client: start it, or start it again')
    }
    if (client?.isRunning === false) {
      if (!this.#mayStart) throw this.#programEnded('after the scenario before this one')
      client.start()
    }
    this.#mayStart = false
    const limit = client === undefined ? PERSON_START_MILLISECONDS_MAX : PROGRAM_START_MILLISECONDS_MAX
    const hasCome = await this.#until(() => isSettled() || client?.isRunning === false, limit)
    if (isSettled()) return this.service.current as ScriptedConnection
    const how = client?.ending ?? (hasCome ? '' : 'it subscribed no market of this server in time')
    throw new ClientMissing(`there is no client to judge: ${how}`)
  }

  /** The client's next connection, which has every subscription of the one before. */
  async returns(before: ScriptedConnection, { waitSeconds, needsNewToken }: ReturnRules): Promise<ScriptedConnection> {
    const next = () => this.#laterThan(before)
    const isBack = () => next()?.isSettled === true && missingIn(before, next()).length === 0
    await this.#until(() => isBack() || this.hasEnded, this.#scaled(waitSeconds, RETURN_MILLISECONDS_MIN))
    this.#judgeAttempts(before, needsNewToken === true)
    const connection = next()
    if (isBack() && connection !== undefined) return connection
    this.judgeRunning()
    if (connection === undefined) throw new WrongReaction('did-not-come-back', this.#attemptsText())
    throw new WrongReaction(
      'subscriptions-missing',
      missingIn(before, connection).join(', ') || 'no data was requested',
    )
  }

  /** The client makes no attempt any more; it is restarted for the next scenario. */
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
   * The client keeps the connection for scaled seconds, and requests nothing that is subscribed. `earlierRepeats`: how
   * often it had done so before the scenario disturbed it.
   */
  async stays(
    connection: ScriptedConnection,
    seconds: number,
    earlierRepeats = connection.repeated.length,
  ): Promise<void> {
    const isDisturbed = () => !connection.isOpen || connection.repeated.length > earlierRepeats
    await this.#until(isDisturbed, this.#scaled(seconds))
    await this.#caughtUp(connection)
    this.judgeOpen(connection)
    const repeated = new Set(connection.repeated.slice(earlierRepeats))
    if (repeated.size > 0) throw new WrongReaction('subscribed-again', [...repeated].join(', '))
  }

  /** Resolves to whether the predicate came true in time (scaled seconds, with the floor of a client's own delays). */
  reaches(predicate: () => boolean, waitSeconds: number): Promise<boolean> {
    return this.#until(predicate, this.#scaled(waitSeconds, RETURN_MILLISECONDS_MIN))
  }

  /** The same without the floor: for what a client does at once, or not at all. */
  reachesSoon(predicate: () => boolean, waitSeconds: number): Promise<boolean> {
    return this.#until(predicate, this.#scaled(waitSeconds))
  }

  judgeOpen(connection: ScriptedConnection): void {
    if (connection.isOpen) return
    this.judgeRunning()
    throw new WrongReaction('closed-by-client', `close code ${connection.closed?.code}`)
  }

  judgeRunning(): void {
    if (this.hasEnded) throw this.#programEnded('in this scenario')
  }

  /** The client continues: on this connection, or on another with the same subscriptions. */
  async continues(connection: ScriptedConnection, waitSeconds: number): Promise<void> {
    await this.#caughtUp(connection)
    if (!connection.isOpen) await this.returns(connection, { waitSeconds })
  }

  /** `delays`: milliseconds from each of several closes to the client's next attempt; not all of them may be none. */
  judgeDelays(delays: readonly number[]): void {
    if (delays.every((delay) => delay < AT_ONCE_MILLISECONDS)) {
      throw new WrongReaction('reconnect-loop', `${delays.length} new connections within ${Math.ceil(sum(delays))} ms`)
    }
  }

  /** No attempt follows a refusal before the time that it named; not judged where the client cannot read a refusal. */
  judgeRetryAfter(what: 'token' | 'handshake', seconds: number): void {
    const attempts = this.service.attempts
    const refused = attempts.findIndex((attempt) => attempt.what === what && attempt.status >= 400)
    const refusal = attempts[refused]
    const next = attempts.slice(refused + 1)[0]
    if (refusal === undefined || next === undefined || !refusal.hasHeader) return
    const waited = next.atMilliseconds - refusal.atMilliseconds
    // A timer may fire a little early by the clock of another process.
    if (waited < seconds * 1000 - 10) {
      throw new WrongReaction('retry-after-ignored', `after ${Math.round(waited)} ms instead of ${seconds} s`)
    }
  }

  /** Starts over with a client that has no subscription left: by its program, or else by its connection. */
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

  /** Lets the client work through everything that it was sent, and act on it. */
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

  #judgeAttempts(before: ScriptedConnection, needsNewToken: boolean): void {
    const { attempts } = this.service
    const handshakes = attempts.filter(({ what }) => what === 'handshake')
    for (const [index, { atMilliseconds }] of attempts.entries()) {
      const later = attempts[index + ATTEMPTS_PER_SECOND_MAX]
      if (later !== undefined && later.atMilliseconds - atMilliseconds < 1_000) {
        throw new WrongReaction('reconnect-loop', `more than ${ATTEMPTS_PER_SECOND_MAX} attempts in a second`)
      }
    }
    const refused = new Set(needsNewToken ? [before.token] : [])
    for (const { token, status } of handshakes) {
      if (refused.has(token)) throw new WrongReaction('old-token', 'a handshake carried the token of before')
      if (status === 401) refused.add(token)
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

  /** Resolves to whether the predicate came true within the time. */
  #until(predicate: () => boolean, milliseconds: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        timer.cancel()
        this.#waiting.delete(look)
        settle()
      }
      const look = (): void => {
        const stopped = this.#stopped
        if (stopped !== undefined) end(() => reject(stopped))
        else if (predicate()) end(() => resolve(true))
      }
      const timer = this.#options.clock.schedule(milliseconds, () => end(() => resolve(predicate())))
      this.#waiting.add(look)
      look()
    })
  }
}

function missingIn(before: ScriptedConnection, after: ScriptedConnection | undefined): readonly string[] {
  return [...before.subscribed].filter((key) => after?.subscribed.has(key) !== true)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
