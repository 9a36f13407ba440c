/**
 * One gateway process, supervised by the main process: started, pinged once a second, killed when it does not answer,
 * because the connections in its accept queue would wait for ever, and started again when it has ended. A question to
 * it has a time limit.
 */
import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { UsageRow } from '../../access/metering/meter.ts'
import { PIPE_DESCRIPTOR } from '../../platform/base/child-process.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { MetricsSnapshot } from '../../platform/base/metrics.ts'
import type { BusExport } from '../links/bus-export.ts'
import { type CommitRequest, decodeCommitRequest, decodeStateRequest } from '../links/bus-requests.ts'
import { PipeLink } from '../links/link-pipe.ts'
import { EventsForProcess } from './event-link.ts'
import type { EventSource } from './event-subscription.ts'
import type { ConnectionCounts, FromGatewayProcess, Questions, ToGatewayProcess } from './process-messages.ts'

/** Wait before an ended process is started again; doubled each time until one has been ready for a while. */
const RESTART_MILLISECONDS_MIN = 500
const RESTART_MILLISECONDS_MAX = 30_000
/** After so long as ready, the next restart is quick again. */
const STABLE_MILLISECONDS = 60_000
/** How long a process may take to end when its pipe closes. */
const END_MILLISECONDS_MAX = 5_000
/** Seconds in a row without an answer to a ping, after which a process is asked nothing. */
const MISSES_UNAVAILABLE = 3
/** After this many it is killed, and its clients connect again. */
const MISSES_MAX = 10
/** The same while it starts: it loads the program, and answers nothing meanwhile. */
const STARTING_MISSES_MAX = 60
/** How long a process may take to answer the operator or a scrape. */
const ANSWER_MILLISECONDS_MAX = 1_000

export interface SupervisedProcessOptions {
  readonly clock: Clock
  readonly log: Log
  /** Starts one, with a channel for messages and a pipe. */
  readonly startProcess: () => ChildProcess
  /** Its first message. */
  readonly start: () => unknown
  /** The directory's content, sent before its changes. */
  readonly directorySnapshot: () => Buffer | undefined
  readonly exporter: Pick<BusExport, 'onStateRequest'>
  readonly onCommitRequest: (request: CommitRequest) => void
  /** Where customers' events are read for its connections. */
  readonly events: EventSource
}

export interface ProcessEvents {
  /** It listens. */
  ready(): void
  counted(counts: ConnectionCounts): void
  used(rows: readonly UsageRow[]): void
  /** Its last metrics. */
  measured(metrics: MetricsSnapshot): void
  /** It has ended, and its usage since this wall-clock time was not reported. */
  usageLost(sinceMilliseconds: number): void
  /** It has ended without being stopped, and its connections with it. */
  ended(): void
}

export class SupervisedProcess {
  readonly #number: number
  readonly #options: SupervisedProcessOptions
  readonly #events: ProcessEvents
  #process: ChildProcess | undefined
  #link: PipeLink | undefined
  #eventsForProcess: EventsForProcess | undefined
  #isReady = false
  #readySinceMilliseconds = 0
  /** Wall-clock time up to which its usage is reported. */
  #reportedMilliseconds = 0
  #restartMilliseconds = RESTART_MILLISECONDS_MIN
  #restart: Timer | undefined
  #isStopping = false
  #onDrained: (() => void) | undefined
  #hasDrained = false
  /** Whether a ping is still unanswered. Another follows only after the answer, so pings do not pile up. */
  #isPinged = false
  #misses = 0
  readonly #questions = new Map<number, (answer: unknown) => void>()
  #question = 0

  constructor(number: number, options: SupervisedProcessOptions, events: ProcessEvents) {
    this.#number = number
    this.#options = options
    this.#events = events
  }

  /** Whether it serves connections and answers. */
  get isAvailable(): boolean {
    return this.#isReady && this.#process?.connected === true && this.#misses < MISSES_UNAVAILABLE
  }

  send(message: ToGatewayProcess): void {
    // The 'exit' event reports an ended process.
    if (this.#process?.connected === true) this.#process.send(message, () => undefined)
  }

  sendFrame(...frame: Parameters<PipeLink['send']>): void {
    this.#link?.send(...frame)
  }

  /** Undefined when it does not answer in time. */
  ask<Name extends keyof Questions>(
    name: Name,
    asked: Questions[Name]['asked'],
  ): Promise<{ readonly answer: Questions[Name]['answer'] } | undefined> {
    if (!this.isAvailable) return Promise.resolve(undefined)
    const number = ++this.#question
    return new Promise((resolve) => {
      const finish = (answer?: { readonly answer: Questions[Name]['answer'] }) => {
        timer.cancel()
        this.#questions.delete(number)
        resolve(answer)
      }
      const timer = this.#options.clock.schedule(ANSWER_MILLISECONDS_MAX, () => finish())
      this.#questions.set(number, (answer) => finish({ answer: answer as Questions[Name]['answer'] }))
      this.send({ type: 'question', number, name, asked })
    })
  }

  /**
   * Must be called every second, after the messages that have arrived.
   * @param counts whether the second counts against the process: the main process was not late itself
   */
  check(counts: boolean): void {
    if (!this.#isPinged) {
      this.#isPinged = true
      this.send({ type: 'ping' })
    } else if (counts && this.#process !== undefined) {
      this.#misses += 1
      if (this.#misses !== (this.#isReady ? MISSES_MAX : STARTING_MISSES_MAX)) return
      const fields = { process: this.#number, pid: this.#process.pid, seconds: this.#misses }
      this.#options.log.error(fields, 'a gateway process does not answer. It is killed')
      this.#process.kill('SIGKILL')
    }
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  /** Ends its listener, and its connections spread over `seconds`. Resolves when none is left. */
  drain(seconds: number): Promise<void> {
    this.#isStopping = true
    this.#restart?.cancel()
    if (this.#process?.connected !== true) return Promise.resolve()
    this.send({ type: 'drain', seconds })
    return new Promise((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** Ends it. Resolves when it has ended. */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#restart?.cancel()
    const process = this.#process
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#options.clock.schedule(END_MILLISECONDS_MAX, () => process.kill('SIGKILL'))
      process.once('exit', () => {
        timer.cancel()
        resolve()
      })
      if (process.connected) process.disconnect()
    })
  }

  start(): void {
    const { startProcess, start, directorySnapshot, clock, log, events } = this.#options
    const process = startProcess()
    this.#process = process
    this.#eventsForProcess = new EventsForProcess(events, (reply) => {
      // An answer may come after the process's end, and the next process numbers its calls alike.
      if (this.#process === process) this.send(reply)
    })
    this.#reportedMilliseconds = clock.wallInstant().milliseconds
    this.#misses = 0
    this.#isPinged = false
    this.#hasDrained = false
    process.on('message', (message) => this.#onMessage(process, message as FromGatewayProcess))
    process.on('error', (error) => {
      log.error({ process: this.#number, err: error }, 'a gateway process failed')
      // It could not be started: no 'exit' follows.
      if (process.pid === undefined) this.#onExit(process, null, null)
    })
    if (process.pid === undefined) return
    process.on('exit', (code, signal) => this.#onExit(process, code, signal))
    this.#link = this.#createLink(process.stdio[PIPE_DESCRIPTOR] as Duplex)
    this.send({ type: 'start', start: start() })
    const snapshot = directorySnapshot()
    if (snapshot !== undefined) this.sendFrame('directory', snapshot)
  }

  #createLink(pipe: Duplex): PipeLink {
    const { log, exporter, onCommitRequest } = this.#options
    // The 'exit' event reports the process's end.
    pipe.on('error', (error) => log.debug({ err: error }, 'the pipe to a gateway process broke'))
    const link = new PipeLink(pipe, (name, bytes) => {
      if (name === 'stateRequest') {
        exporter.onStateRequest(decodeStateRequest(bytes), (states) => {
          for (const state of states) link.send('state', state)
        })
      } else if (name === 'commitRequest') {
        onCommitRequest(decodeCommitRequest(bytes))
      }
    })
    return link
  }

  #onMessage(process: ChildProcess, message: FromGatewayProcess): void {
    if (this.#process !== process) return
    switch (message.type) {
      case 'ready':
        this.#isReady = true
        this.#readySinceMilliseconds = this.#options.clock.monotonicMilliseconds()
        this.#options.log.info({ process: this.#number, pid: process.pid }, 'gateway process ready')
        this.#events.ready()
        break
      case 'pong':
        this.#isPinged = false
        this.#misses = 0
        break
      case 'counts':
        this.#events.counted(message.counts)
        break
      case 'usage':
        this.#events.used(message.rows)
        break
      case 'usage-reported':
        this.#reportedMilliseconds = message.untilMilliseconds
        break
      case 'drained':
        this.#hasDrained = true
        this.#onDrained?.()
        break
      case 'metrics':
        this.#events.measured(message.metrics)
        break
      case 'answer':
        this.#questions.get(message.number)?.(message.answer)
        break
      case 'event-call':
      case 'event-wanted':
        this.#eventsForProcess?.receive(message)
    }
  }

  #onExit(process: ChildProcess, code: number | null, signal: string | null): void {
    if (this.#process !== process) return
    const { log, clock } = this.#options
    const wasReady = this.#isReady
    this.#process = undefined
    this.#link = undefined
    this.#isReady = false
    this.#eventsForProcess?.end()
    this.#onDrained?.()
    if (wasReady && !this.#hasDrained) this.#events.usageLost(this.#reportedMilliseconds)
    if (this.#isStopping) return
    const isStable = wasReady && clock.monotonicMilliseconds() - this.#readySinceMilliseconds > STABLE_MILLISECONDS
    const wait = isStable ? RESTART_MILLISECONDS_MIN : this.#restartMilliseconds
    this.#restartMilliseconds = Math.min(2 * wait, RESTART_MILLISECONDS_MAX)
    const fields = { process: this.#number, code, signal, restart_milliseconds: wait }
    log.error(fields, 'a gateway process ended. Its connections are closed, and it is started again')
    this.#restart = clock.schedule(wait, () => this.start())
    this.#events.ended()
  }
}
