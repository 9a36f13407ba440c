/**
 * One gateway process, supervised by the main process: started, pinged once a second, killed when it does not answer,
 * and started again when it has ended. It is handed one socket at a time, the next one after an acknowledgement. So no
 * message waits behind sockets, and a process that ends loses at most one unserved socket.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { PIPE_DESCRIPTOR } from '../../platform/base/child-process.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { BusExport } from '../links/bus-export.ts'
import { type CommitRequest, decodeCommitRequest, decodeStateRequest } from '../links/bus-requests.ts'
import { PipeLink } from '../links/link-pipe.ts'
import type {
  FromGatewayProcess,
  GatewayProcessSettings,
  HandedConnection,
  MarketsControl,
  ReceiptKey,
  ToGatewayProcess,
} from './process-messages.ts'

/** Wait before an ended process is started again; doubled each time until one has been ready for a while. */
const RESTART_MILLISECONDS_MIN = 500
const RESTART_MILLISECONDS_MAX = 30_000
/** After so long as ready, the next restart is quick again. */
const STABLE_MILLISECONDS = 60_000
/** How long a process may take to end when its pipe closes. */
const END_MILLISECONDS_MAX = 5_000
/** Seconds in a row without an answer to a ping, after which a process gets no new connection. */
const MISSES_UNAVAILABLE = 3
/** After this many it is killed, and its clients connect again. */
const MISSES_MAX = 10
/** The same while it starts: it loads the program, and answers nothing meanwhile. */
const STARTING_MISSES_MAX = 60
/** An acknowledgement takes less than a millisecond. No further socket waits for a process this late. */
const ACKNOWLEDGE_MILLISECONDS_MAX = 250

export interface SupervisedProcessOptions {
  readonly clock: Clock
  readonly log: Log
  /** Starts one, with a channel for messages and a pipe. */
  readonly startProcess: () => ChildProcess
  readonly settings: () => GatewayProcessSettings
  readonly markets: () => MarketsControl['added']
  readonly receiptKey: () => ReceiptKey | undefined
  readonly exporter: Pick<BusExport, 'onStateRequest'>
  readonly onCommitRequest: (request: CommitRequest) => void
}

/** Events from a process and its connections. */
export interface ProcessEvents {
  /** It may be handed a socket. */
  free(): void
  /** The connection has ended, or never reached the process. */
  closed(id: string): void
  answered(message: Extract<FromGatewayProcess, { readonly question: number }>): void
  /** It ended without being stopped. All its connections are closed. */
  ended(): void
}

interface Handing {
  readonly id: string
  readonly socket: Socket
  readonly sinceMilliseconds: number
}

export class SupervisedProcess {
  readonly #number: number
  readonly #options: SupervisedProcessOptions
  readonly #events: ProcessEvents
  /** The connections handed to it. */
  readonly #connections = new Set<string>()
  #process: ChildProcess | undefined
  #link: PipeLink | undefined
  #isReady = false
  #readySinceMilliseconds = 0
  #restartMilliseconds = RESTART_MILLISECONDS_MIN
  #restart: Timer | undefined
  #isStopping = false
  /** The socket not acknowledged yet. */
  #handing: Handing | undefined
  /** Whether a ping is still unanswered. Another follows only after the answer, so pings do not pile up. */
  #isPinged = false
  #handingAtPing: Handing | undefined
  #misses = 0

  constructor(number: number, options: SupervisedProcessOptions, events: ProcessEvents) {
    this.#number = number
    this.#options = options
    this.#events = events
    this.#start()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Whether it serves connections and answers. */
  get isAvailable(): boolean {
    return this.#isReady && this.#process?.connected === true && this.#misses < MISSES_UNAVAILABLE
  }

  /** Whether to wait for it as the one that gets the next connection. */
  get isWaitedFor(): boolean {
    if (!this.isAvailable) return false
    const now = this.#options.clock.monotonicMilliseconds()
    return this.#handing === undefined || now - this.#handing.sinceMilliseconds < ACKNOWLEDGE_MILLISECONDS_MAX
  }

  /** Whether it may be handed a socket now. */
  get isFree(): boolean {
    return this.isAvailable && this.#handing === undefined
  }

  /** Hands it a connection. Must be called only while it is free. */
  hand(connection: HandedConnection, socket: Socket): void {
    const { id } = connection
    this.#connections.add(id)
    this.#handing = { id, socket, sinceMilliseconds: this.#options.clock.monotonicMilliseconds() }
    // Otherwise Node lets the two processes count the server's sockets together, with messages for each socket.
    Object.assign(socket, { server: undefined })
    const message: ToGatewayProcess = { type: 'connection', connection }
    // Kept open until it is acknowledged: what Node would close then stays open for ever when the process ends before.
    this.#process?.send(message, socket, { keepOpen: true }, (error) => {
      if (error !== null) this.#lost(id)
    })
  }

  send(message: ToGatewayProcess): void {
    // The 'exit' event reports an ended process.
    if (this.#process?.connected === true) this.#process.send(message, () => undefined)
  }

  sendFrame(...frame: Parameters<PipeLink['send']>): void {
    this.#link?.send(...frame)
  }

  /**
   * Must be called every second, after the messages that have arrived.
   * @param counts whether the second counts against the process: the main process was not late itself
   */
  check(counts: boolean): void {
    if (!this.#isPinged) {
      this.#isPinged = true
      this.#handingAtPing = this.#handing
      this.send({ type: 'ping' })
    } else if (counts) {
      this.#miss()
    }
  }

  #miss(): void {
    if (this.#process === undefined) return
    const { log } = this.#options
    const fields = { process: this.#number, pid: this.#process.pid, connections: this.connectionCount }
    this.#misses += 1
    if (this.#misses === MISSES_UNAVAILABLE && this.#isReady) {
      log.warn(fields, 'a gateway process does not answer. It gets no new connections')
    } else if (this.#misses === (this.#isReady ? MISSES_MAX : STARTING_MISSES_MAX)) {
      log.error({ ...fields, seconds: this.#misses }, 'a gateway process does not answer. It is killed')
      this.#process.kill('SIGKILL')
    }
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

  #start(): void {
    const { startProcess, settings, markets, receiptKey, log } = this.#options
    const process = startProcess()
    this.#process = process
    this.#misses = 0
    this.#isPinged = false
    process.on('message', (message) => this.#onMessage(process, message as FromGatewayProcess))
    process.on('error', (error) => {
      log.error({ process: this.#number, err: error }, 'a gateway process failed')
      // It could not be started: no 'exit' follows.
      if (process.pid === undefined) this.#onExit(process, null, null)
    })
    if (process.pid === undefined) return
    process.on('exit', (code, signal) => this.#onExit(process, code, signal))
    this.#link = this.#createLink(process.stdio[PIPE_DESCRIPTOR] as Duplex)
    this.send({ type: 'start', settings: settings(), markets: markets(), receiptKey: receiptKey() })
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
    if (message.type === 'ready') {
      this.#isReady = true
      this.#readySinceMilliseconds = this.#options.clock.monotonicMilliseconds()
      this.#options.log.info({ process: this.#number, pid: process.pid }, 'gateway process ready')
      this.#events.free()
    } else if (message.type === 'pong') {
      this.#onPong()
    } else if (message.type === 'taken') {
      this.#handed(message.id)
      this.#events.free()
    } else if (message.type === 'closed') {
      this.#close(message.id)
    } else {
      this.#events.answered(message)
    }
  }

  #onPong(): void {
    this.#isPinged = false
    this.#misses = 0
    // Messages arrive in order, so the socket sent before the ping did not arrive.
    if (this.#handing !== undefined && this.#handing === this.#handingAtPing) this.#lost(this.#handing.id)
    this.#events.free()
  }

  #onExit(process: ChildProcess, code: number | null, signal: string | null): void {
    if (this.#process !== process) return
    const { log, clock } = this.#options
    const connections = this.connectionCount
    const wasReady = this.#isReady
    this.#process = undefined
    this.#link = undefined
    this.#isReady = false
    if (this.#handing !== undefined) this.#handed(this.#handing.id)
    for (const id of [...this.#connections]) this.#close(id)
    if (this.#isStopping) return
    const isStable = wasReady && clock.monotonicMilliseconds() - this.#readySinceMilliseconds > STABLE_MILLISECONDS
    const wait = isStable ? RESTART_MILLISECONDS_MIN : this.#restartMilliseconds
    this.#restartMilliseconds = Math.min(2 * wait, RESTART_MILLISECONDS_MAX)
    const fields = { process: this.#number, code, signal, connections, restart_milliseconds: wait }
    log.error(fields, 'a gateway process ended. Its connections are closed, and it is started again')
    this.#restart = clock.schedule(wait, () => this.#start())
    this.#events.ended()
  }

  #lost(id: string): void {
    this.#handed(id)
    this.#close(id)
  }

  /** Closes this process's descriptor. The connection stays open if the other process has taken it. */
  #handed(id: string): void {
    if (this.#handing?.id !== id) return
    this.#handing.socket.destroy()
    this.#handing = undefined
  }

  #close(id: string): void {
    if (this.#connections.delete(id)) this.#events.closed(id)
  }
}
