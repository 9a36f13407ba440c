/**
 * The gateway processes of this machine, as the main process sees them: it accepts every connection itself, verifies its
 * token and its limits, and hands the socket to the process with the fewest connections, which serves the stream on it.
 * So limits are counted once for all of them, and REST needs no second process. A process that ends takes its
 * connections with it and nothing else, and is started again. What a process is asked has a time limit.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AffectedTokens } from '../auth/affected-tokens.ts'
import type { AccessToken } from '../auth/token-verifier.ts'
import { assert } from '../base/assert.ts'
import { PIPE_DESCRIPTOR } from '../base/child-process.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { Counter, Gauge, type MetricsRegistry, type MetricsSnapshot } from '../base/metrics.ts'
import type { BusExport } from '../channel/bus-export.ts'
import { type CommitRequest, decodeCommitRequest, decodeStateRequest } from '../channel/bus-requests.ts'
import { PipeLink } from '../channel/link-pipe.ts'
import type { CloseCause } from '../contract/stream-codes.ts'
import type { SessionDetails, SessionDocument } from './connection-document.ts'
import { handshakeHeaders } from './handshake.ts'
import type {
  FromGatewayProcess,
  GatewayProcessSettings,
  HandedConnection,
  MarketsControl,
  ReceiptKey,
  ToGatewayProcess,
} from './process-messages.ts'
import { SessionIndex } from './session-index.ts'
import type { AcceptedConnection } from './session-server.ts'

/** Wait before a process that ended is started again; doubled each time until one has been ready for a while. */
const RESTART_MILLISECONDS_MIN = 500
const RESTART_MILLISECONDS_MAX = 30_000
/** After so long as ready, the next restart is quick again. */
const STABLE_MILLISECONDS = 60_000
/** How long a process may take to answer a question of the operator or of a scrape. */
const ANSWER_MILLISECONDS_MAX = 1_000
/** How long a process may take to end when its pipe closes. */
const END_MILLISECONDS_MAX = 5_000

/** A connection that a process serves. */
export interface RemoteConnection {
  readonly id: string
  readonly token: AccessToken
  readonly clientAddress: string
  /** When it was opened, milliseconds of the wall clock. */
  readonly createdMilliseconds: number
  isOpen: boolean
}

export interface GatewayProcessesOptions {
  readonly count: number
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Starts one; it has a channel for messages and a pipe. */
  readonly startProcess: () => ChildProcess
  readonly settings: () => GatewayProcessSettings
  readonly markets: () => MarketsControl['added']
  readonly receiptKey: () => ReceiptKey | undefined
  readonly exporter: Pick<BusExport, 'onStateRequest'>
  readonly onCommitRequest: (request: CommitRequest) => void
}

interface Place {
  readonly number: number
  process: ChildProcess | undefined
  link: PipeLink | undefined
  isReady: boolean
  readySinceMilliseconds: number
  restartMilliseconds: number
  restart: Timer | undefined
  readonly connections: Map<string, RemoteConnection>
}

export class GatewayProcesses {
  readonly #options: GatewayProcessesOptions
  readonly #connections = new SessionIndex<RemoteConnection>()
  readonly #places: readonly Place[]
  readonly #placeOf = new Map<string, Place>()
  readonly #questions = new Map<number, (answer: FromGatewayProcess) => void>()
  readonly #restarts: Counter
  #question = 0
  #isStopping = false
  #onEmpty: (() => void) | undefined
  #onReady: (() => void) | undefined

  constructor(options: GatewayProcessesOptions) {
    this.#options = options
    const registers = [options.metrics]
    this.#restarts = new Counter({
      name: 'tidegate_gateway_process_ends_total',
      help: 'Gateway processes that ended without being stopped, and took their connections with them',
      registers,
    })
    const processes = this
    new Gauge({
      name: 'tidegate_gateway_processes_ready',
      help: 'Gateway processes that take connections',
      registers,
      collect() {
        this.set(processes.readyCount)
      },
    })
    this.#places = Array.from({ length: options.count }, (_, number) => ({
      number,
      process: undefined,
      link: undefined,
      isReady: false,
      readySinceMilliseconds: 0,
      restartMilliseconds: RESTART_MILLISECONDS_MIN,
      restart: undefined,
      connections: new Map(),
    }))
    for (const place of this.#places) this.#start(place)
  }

  get readyCount(): number {
    return this.#places.filter(({ isReady }) => isReady).length
  }

  /** Resolves when a process takes connections. */
  whenReady(): Promise<void> {
    if (this.readyCount > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onReady = resolve
    })
  }

  /** The connections of all processes. */
  get sessions(): ReadonlySet<RemoteConnection> {
    return this.#connections.all
  }

  connectionsOfClient(clientId: string): number {
    return this.#connections.countOfClient(clientId)
  }

  /** Hands a connection to a process; to be called only while one is ready. */
  open({ token, clientAddress, request, socket, head }: AcceptedConnection): void {
    const place = this.#places
      .filter(({ isReady }) => isReady)
      .reduce<Place | undefined>(
        (least, each) => (least === undefined || each.connections.size < least.connections.size ? each : least),
        undefined,
      )
    assert(place?.process !== undefined, 'no gateway process is ready')
    const createdMilliseconds = this.#options.clock.wallInstant().milliseconds
    const connection = { id: newId(), token, clientAddress, createdMilliseconds, isOpen: true }
    place.connections.set(connection.id, connection)
    this.#placeOf.set(connection.id, place)
    this.#connections.add(connection)
    // This process must read no more: what arrives until it has closed its descriptor would be lost.
    stopReading(socket)
    const early = socket.read() as Buffer | null
    const handed: HandedConnection = {
      id: connection.id,
      token,
      clientAddress,
      request: { method: request.method ?? '', url: request.url ?? '', headers: handshakeHeaders(request.headers) },
      head: early === null ? head : Buffer.concat([head, early]),
    }
    const message: ToGatewayProcess = { type: 'connection', connection: handed }
    // Otherwise Node lets the two processes count the sockets of the server together, which takes messages for each.
    Object.assign(socket, { server: undefined })
    place.process.send(message, socket, {}, (error) => {
      if (error !== null) this.#ended(place, connection.id)
      // The descriptor is the other process's by now: this forgets the object, for those who count connections.
      socket.destroy()
    })
  }

  /** Closes the affected connections for which `cause` returns a cause. */
  closeWhere(cause: (connection: RemoteConnection) => CloseCause | undefined, affected: AffectedTokens): void {
    const byCause = new Map<CloseCause, RemoteConnection[]>()
    for (const connection of this.#connections.affectedBy(affected)) {
      const found = cause(connection)
      if (found === undefined) continue
      const connections = byCause.get(found)
      if (connections === undefined) byCause.set(found, [connection])
      else connections.push(connection)
    }
    for (const [found, connections] of byCause) this.#close(connections, found)
  }

  /** Closes one connection, if it is still open. */
  close(id: string, cause: CloseCause): void {
    const connection = this.#placeOf.get(id)?.connections.get(id)
    if (connection !== undefined) this.#close([connection], cause)
  }

  /** The documents of connections; absent for those that have ended or whose process does not answer in time. */
  async describe(ids: readonly string[]): Promise<ReadonlyMap<string, SessionDocument>> {
    const byPlace = this.#byPlace(ids)
    const answers = await Promise.all(
      [...byPlace].map(([place, asked]) =>
        this.#ask(place, (question) => ({ type: 'describe', question, ids: asked })),
      ),
    )
    const documents = answers.flatMap((answer) => (answer?.type === 'described' ? answer.connections : []))
    return new Map(documents.map((document) => [document.id, document]))
  }

  /** One connection with its markets; undefined when it has ended or its process does not answer in time. */
  async inspect(id: string): Promise<SessionDetails | undefined> {
    const place = this.#placeOf.get(id)
    if (place === undefined) return undefined
    const answer = await this.#ask(place, (question) => ({ type: 'inspect', question, id }))
    return answer?.type === 'inspected' ? answer.connection : undefined
  }

  /** The metrics of all processes that answer in time, and how many connections subscribe to each market. */
  async measure(): Promise<{
    readonly metrics: readonly MetricsSnapshot[]
    readonly subscribers: ReadonlyMap<string, number>
  }> {
    const answers = await Promise.all(
      this.#places.map((place) => this.#ask(place, (question) => ({ type: 'measure', question }))),
    )
    const measured = answers.flatMap((answer) => (answer?.type === 'measured' ? [answer] : []))
    const subscribers = new Map<string, number>()
    for (const answer of measured) {
      for (const [market, count] of Object.entries(answer.subscribers)) {
        subscribers.set(market, (subscribers.get(market) ?? 0) + count)
      }
    }
    return { metrics: measured.map(({ metrics }) => metrics), subscribers }
  }

  sendMessages(bytes: Buffer): void {
    for (const { link } of this.#places) link?.send('messages', bytes)
  }

  sendHeartbeats(bytes: Buffer): void {
    for (const { link } of this.#places) link?.send('heartbeats', bytes)
  }

  sendDigest(bytes: Buffer): void {
    for (const { link } of this.#places) link?.send('digest', bytes)
  }

  /** Applies another list of markets, in the order of the bus. */
  changeMarkets(control: MarketsControl): void {
    const bytes = Buffer.from(JSON.stringify(control))
    for (const { link } of this.#places) link?.send('control', bytes)
  }

  changeSettings({ hub: { subscriptionsMax }, logLevel }: GatewayProcessSettings): void {
    for (const place of this.#places) this.#send(place, { type: 'settings', subscriptionsMax, logLevel })
  }

  changeReceiptKey(receiptKey: ReceiptKey | undefined): void {
    for (const place of this.#places) this.#send(place, { type: 'receipt-key', receiptKey })
  }

  /** Closes all connections, spread over `seconds`; resolves when none is left. */
  drain(seconds: number): Promise<void> {
    if (this.sessions.size === 0) return Promise.resolve()
    for (const place of this.#places) this.#send(place, { type: 'drain', seconds })
    return new Promise((resolve) => {
      this.#onEmpty = resolve
    })
  }

  /** Ends the processes; resolves when none is left. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#places.map((place) => this.#end(place)))
  }

  #start(place: Place): void {
    const { startProcess, settings, markets, receiptKey, log } = this.#options
    const process = startProcess()
    place.process = process
    const pipe = process.stdio[PIPE_DESCRIPTOR] as Duplex
    // The end of the process is noticed by 'exit'.
    pipe.on('error', (error) => log.debug({ err: error }, 'the pipe of a gateway process broke'))
    const link = new PipeLink(pipe, (name, bytes) => {
      if (name === 'stateRequest') {
        this.#options.exporter.onStateRequest(decodeStateRequest(bytes), (answer) => link.send('state', answer))
      } else if (name === 'commitRequest') {
        this.#options.onCommitRequest(decodeCommitRequest(bytes))
      }
    })
    place.link = link
    process.on('message', (message) => this.#onMessage(place, process, message as FromGatewayProcess))
    process.on('error', (error) => log.error({ process: place.number, err: error }, 'a gateway process failed'))
    process.on('exit', (code, signal) => this.#onExit(place, process, code, signal))
    this.#send(place, { type: 'start', settings: settings(), markets: markets(), receiptKey: receiptKey() })
  }

  #onMessage(place: Place, process: ChildProcess, message: FromGatewayProcess): void {
    if (place.process !== process) return
    if (message.type === 'ready') {
      place.isReady = true
      place.readySinceMilliseconds = this.#options.clock.monotonicMilliseconds()
      this.#options.log.info({ process: place.number, pid: process.pid }, 'gateway process ready')
      this.#onReady?.()
    } else if (message.type === 'closed') {
      this.#ended(place, message.id)
    } else {
      this.#questions.get(message.question)?.(message)
    }
  }

  #onExit(place: Place, process: ChildProcess, code: number | null, signal: string | null): void {
    if (place.process !== process) return
    const { log, clock } = this.#options
    const connections = place.connections.size
    const wasReady = place.isReady
    place.process = undefined
    place.link = undefined
    place.isReady = false
    for (const id of [...place.connections.keys()]) this.#ended(place, id)
    if (this.#isStopping) return
    this.#restarts.inc()
    const isStable = wasReady && clock.monotonicMilliseconds() - place.readySinceMilliseconds > STABLE_MILLISECONDS
    const wait = isStable ? RESTART_MILLISECONDS_MIN : place.restartMilliseconds
    place.restartMilliseconds = Math.min(2 * wait, RESTART_MILLISECONDS_MAX)
    const fields = { process: place.number, code, signal, connections, restart_milliseconds: wait }
    log.error(fields, 'a gateway process ended; its connections are closed, and it is started again')
    place.restart = clock.schedule(wait, () => this.#start(place))
  }

  #ended(place: Place, id: string): void {
    const connection = place.connections.get(id)
    if (connection === undefined) return
    place.connections.delete(id)
    this.#placeOf.delete(id)
    connection.isOpen = false
    this.#connections.remove(connection)
    if (this.sessions.size === 0) this.#onEmpty?.()
  }

  #close(connections: readonly RemoteConnection[], cause: CloseCause): void {
    for (const [place, ids] of this.#byPlace(connections.map(({ id }) => id))) {
      this.#send(place, { type: 'close', ids, cause })
    }
  }

  #byPlace(ids: readonly string[]): ReadonlyMap<Place, readonly string[]> {
    const byPlace = new Map<Place, string[]>()
    for (const id of ids) {
      const place = this.#placeOf.get(id)
      if (place === undefined) continue
      const known = byPlace.get(place)
      if (known === undefined) byPlace.set(place, [id])
      else known.push(id)
    }
    return byPlace
  }

  #send({ process }: Place, message: ToGatewayProcess): void {
    // A process that is gone is noticed by 'exit'.
    if (process?.connected === true) process.send(message, () => undefined)
  }

  #ask(place: Place, question: (number: number) => ToGatewayProcess): Promise<FromGatewayProcess | undefined> {
    const number = ++this.#question
    return new Promise((resolve) => {
      const finish = (answer: FromGatewayProcess | undefined) => {
        timer.cancel()
        this.#questions.delete(number)
        resolve(answer)
      }
      const timer = this.#options.clock.schedule(ANSWER_MILLISECONDS_MAX, () => finish(undefined))
      if (!place.isReady) finish(undefined)
      this.#questions.set(number, finish)
      this.#send(place, question(number))
    })
  }

  #end(place: Place): Promise<void> {
    place.restart?.cancel()
    const { process } = place
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
}

/** `pause` would only stop the events; the kernel's bytes would still be read into the object. */
function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { reading: boolean; readStop(): number } | null }
  if (handle === undefined || handle === null) return
  handle.reading = false
  handle.readStop()
}
