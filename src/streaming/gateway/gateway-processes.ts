/**
 * This machine's gateway processes, as the main process sees them. The main process accepts every connection itself and
 * verifies its token and its limits. It hands the socket to the process with the fewest connections, which serves the
 * stream on it. So limits are counted once for all processes, and REST needs no second process. A process that ends
 * closes only its own connections. Sockets wait here for a process for a few seconds, and are then refused. Questions
 * to a process have a time limit.
 */
import type { Socket } from 'node:net'
import type { AffectedTokens } from '../../access/clients/affected-tokens.ts'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { CloseCause } from '../../contract/stream-codes.ts'
import type { Timer } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import { Counter, Gauge, type MetricsRegistry, type MetricsSnapshot } from '../../platform/base/metrics.ts'
import { answerRefusal, handshakeUnavailable } from '../../platform/http/websocket-handshake.ts'
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
import { SupervisedProcess, type SupervisedProcessOptions } from './supervised-process.ts'

/** How long a process may take to answer the operator or a scrape. */
const ANSWER_MILLISECONDS_MAX = 1_000
/**
 * How long a connection waits for a process to take its socket. A process that does not answer is killed after ten
 * seconds, so no handshake lasts longer than 15 s.
 */
const WAIT_MILLISECONDS_MAX = 3_000
const TOO_LATE = 'no gateway process could take the connection in time'
/** Time between two pings, and how much later a second may end and still count. */
const CHECK_MILLISECONDS = 1_000
const LATE_MILLISECONDS_MAX = 250

/** A connection served by a process, or waiting for one. */
export interface RemoteConnection {
  readonly id: string
  readonly token: AccessToken
  readonly clientAddress: string
  /** When it was opened, wall-clock milliseconds. */
  readonly createdMilliseconds: number
  isOpen: boolean
}

export interface GatewayProcessesOptions extends SupervisedProcessOptions {
  readonly count: number
  readonly metrics: MetricsRegistry
}

interface Waiting {
  readonly connection: RemoteConnection
  readonly accepted: AcceptedConnection
  readonly untilMilliseconds: number
}

export class GatewayProcesses {
  readonly #options: GatewayProcessesOptions
  readonly #connections = new SessionIndex<RemoteConnection>()
  readonly #byId = new Map<string, RemoteConnection>()
  readonly #processes: readonly SupervisedProcess[]
  /** By connection that was handed over. */
  readonly #processOf = new Map<string, SupervisedProcess>()
  /** Connections not handed to a process yet, the oldest first. */
  readonly #waiting = new Map<string, Waiting>()
  readonly #questions = new Map<number, (answer: FromGatewayProcess) => void>()
  #question = 0
  #checkTimer: Timer
  #checkedMilliseconds: number
  #onEmpty: (() => void) | undefined
  #onReady: (() => void) | undefined

  constructor(options: GatewayProcessesOptions) {
    this.#options = options
    const ends = this.#createMetrics()
    this.#processes = Array.from(
      { length: options.count },
      (_, number) =>
        new SupervisedProcess(number, options, {
          free: () => this.#handOver(),
          closed: (id) => this.#ended(id),
          answered: (message) => this.#questions.get(message.question)?.(message),
          ended: () => {
            ends.inc()
            this.#handOver()
          },
        }),
    )
    this.#checkedMilliseconds = options.clock.monotonicMilliseconds()
    this.#checkTimer = this.#scheduleCheck()
  }

  get readyCount(): number {
    return this.#processes.filter(({ isAvailable }) => isAvailable).length
  }

  /** Resolves when a process takes connections. */
  whenReady(): Promise<void> {
    if (this.readyCount > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onReady = resolve
    })
  }

  /** Every process's connections. */
  get sessions(): ReadonlySet<RemoteConnection> {
    return this.#connections.all
  }

  connectionsOfClient(clientId: string): number {
    return this.#connections.countOfClient(clientId)
  }

  /** Takes a connection, which a process serves as soon as one can take its socket. */
  open(accepted: AcceptedConnection): void {
    const { token, clientAddress } = accepted
    const { clock } = this.#options
    const createdMilliseconds = clock.wallInstant().milliseconds
    const connection = { id: newId(), token, clientAddress, createdMilliseconds, isOpen: true }
    this.#byId.set(connection.id, connection)
    this.#connections.add(connection)
    const untilMilliseconds = clock.monotonicMilliseconds() + WAIT_MILLISECONDS_MAX
    this.#waiting.set(connection.id, { connection, accepted, untilMilliseconds })
    this.#handOver()
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
    const connection = this.#byId.get(id)
    if (connection !== undefined) this.#close([connection], cause)
  }

  /** Connections' documents. Absent when a connection has ended or its process does not answer in time. */
  async describe(ids: readonly string[]): Promise<ReadonlyMap<string, SessionDocument>> {
    const answers = await Promise.all(
      [...this.#byProcess(ids)].map(([process, asked]) =>
        this.#ask(process, (question) => ({ type: 'describe', question, ids: asked })),
      ),
    )
    const documents = answers.flatMap((answer) => (answer?.type === 'described' ? answer.connections : []))
    return new Map(documents.map((document) => [document.id, document]))
  }

  /** One connection with its markets. Undefined when it has ended or its process does not answer in time. */
  async inspect(id: string): Promise<SessionDetails | undefined> {
    const process = this.#processOf.get(id)
    if (process === undefined) return undefined
    const answer = await this.#ask(process, (question) => ({ type: 'inspect', question, id }))
    return answer?.type === 'inspected' ? answer.connection : undefined
  }

  /** Metrics from all processes that answer in time, and each market's subscriber count. */
  async measure(): Promise<{
    readonly metrics: readonly MetricsSnapshot[]
    readonly subscribers: ReadonlyMap<string, number>
  }> {
    const answers = await Promise.all(
      this.#processes.map((process) => this.#ask(process, (question) => ({ type: 'measure', question }))),
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
    for (const process of this.#processes) process.sendFrame('messages', bytes)
  }

  sendHeartbeats(bytes: Buffer): void {
    for (const process of this.#processes) process.sendFrame('heartbeats', bytes)
  }

  sendDigest(bytes: Buffer): void {
    for (const process of this.#processes) process.sendFrame('digest', bytes)
  }

  /** Applies another market list, in bus order. */
  changeMarkets(control: MarketsControl): void {
    const bytes = Buffer.from(JSON.stringify(control))
    for (const process of this.#processes) process.sendFrame('control', bytes)
  }

  changeSettings({ hub: { subscriptionsMax }, logLevel }: GatewayProcessSettings): void {
    for (const process of this.#processes) process.send({ type: 'settings', subscriptionsMax, logLevel })
  }

  changeReceiptKey(receiptKey: ReceiptKey | undefined): void {
    for (const process of this.#processes) process.send({ type: 'receipt-key', receiptKey })
  }

  /** Closes all connections, spread over `seconds`. Resolves when none is left. */
  drain(seconds: number): Promise<void> {
    for (const waiting of [...this.#waiting.values()]) this.#refuse(waiting, 'the node is shutting down')
    if (this.sessions.size === 0) return Promise.resolve()
    for (const process of this.#processes) process.send({ type: 'drain', seconds })
    return new Promise((resolve) => {
      this.#onEmpty = resolve
    })
  }

  /** Ends the processes. Resolves when none is left. */
  async stop(): Promise<void> {
    this.#checkTimer.cancel()
    for (const waiting of [...this.#waiting.values()]) this.#refuse(waiting, 'the node is shutting down')
    await Promise.all(this.#processes.map((process) => process.stop()))
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
        for (const process of this.#processes) process.check(isOnTime)
        this.#handOver()
        for (const waiting of this.#waiting.values()) {
          if (waiting.untilMilliseconds > now) break
          this.#refuse(waiting, TOO_LATE)
        }
      })
    })
  }

  /** Hands over waiting connections, while the process with the fewest connections is free. */
  #handOver(): void {
    if (this.#onReady !== undefined && this.readyCount > 0) this.#onReady()
    const now = this.#options.clock.monotonicMilliseconds()
    for (const [id, waiting] of this.#waiting) {
      const process = this.#nextProcess()
      if (process === undefined) return
      const { connection, accepted, untilMilliseconds } = waiting
      if (accepted.socket.destroyed || untilMilliseconds <= now) {
        this.#refuse(waiting, TOO_LATE)
      } else {
        this.#waiting.delete(id)
        this.#processOf.set(id, process)
        process.hand(handedConnection(connection, accepted), accepted.socket)
      }
    }
  }

  /** The process with the fewest connections, if it is free: another one would not keep them spread. */
  #nextProcess(): SupervisedProcess | undefined {
    const least = this.#processes
      .filter(({ isWaitedFor }) => isWaitedFor)
      .reduce<SupervisedProcess | undefined>(
        (found, each) => (found === undefined || each.connectionCount < found.connectionCount ? each : found),
        undefined,
      )
    return least?.isFree === true ? least : undefined
  }

  #refuse({ connection: { id }, accepted }: Waiting, detail: string): void {
    this.#waiting.delete(id)
    this.#ended(id)
    answerRefusal(accepted.socket, handshakeUnavailable(detail), this.#options.clock)
  }

  #ended(id: string): void {
    const connection = this.#byId.get(id)
    if (connection === undefined) return
    this.#byId.delete(id)
    this.#processOf.delete(id)
    connection.isOpen = false
    this.#connections.remove(connection)
    if (this.sessions.size === 0) this.#onEmpty?.()
  }

  #close(connections: readonly RemoteConnection[], cause: CloseCause): void {
    for (const { id } of connections) {
      const waiting = this.#waiting.get(id)
      if (waiting !== undefined) this.#refuse(waiting, 'the client’s access has changed')
    }
    for (const [process, ids] of this.#byProcess(connections.map(({ id }) => id))) {
      process.send({ type: 'close', ids, cause })
    }
  }

  #byProcess(ids: readonly string[]): ReadonlyMap<SupervisedProcess, readonly string[]> {
    const byProcess = new Map<SupervisedProcess, string[]>()
    for (const id of ids) {
      const process = this.#processOf.get(id)
      if (process === undefined) continue
      const known = byProcess.get(process)
      if (known === undefined) byProcess.set(process, [id])
      else known.push(id)
    }
    return byProcess
  }

  #ask(
    process: SupervisedProcess,
    question: (number: number) => ToGatewayProcess,
  ): Promise<FromGatewayProcess | undefined> {
    if (!process.isAvailable) return Promise.resolve(undefined)
    const number = ++this.#question
    return new Promise((resolve) => {
      const finish = (answer: FromGatewayProcess | undefined) => {
        timer.cancel()
        this.#questions.delete(number)
        resolve(answer)
      }
      const timer = this.#options.clock.schedule(ANSWER_MILLISECONDS_MAX, () => finish(undefined))
      this.#questions.set(number, finish)
      process.send(question(number))
    })
  }
}

function handedConnection(
  { id, token, clientAddress }: RemoteConnection,
  { request, socket, head }: AcceptedConnection,
): HandedConnection {
  const early = socket.read() as Buffer | null
  // This process must read no more: what arrives until it has closed its descriptor would be lost.
  stopReading(socket)
  return {
    id,
    token,
    clientAddress,
    request: { method: request.method ?? '', url: request.url ?? '', headers: handshakeHeaders(request.headers) },
    head: early === null ? head : Buffer.concat([head, early]),
  }
}

/** `pause` would only stop the events. The kernel's bytes would still be read into the object. */
function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { reading: boolean; readStop(): number } | null }
  if (handle === undefined || handle === null) return
  handle.reading = false
  handle.readStop()
}
