/** The main process's side of gateway processes that die, freeze, or lose a socket: no client waits for ever. */
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { GatewayProcesses } from '../../../src/streaming/gateway/gateway-processes.ts'
import type { FromGatewayProcess, ToGatewayProcess } from '../../../src/streaming/gateway/process-messages.ts'
import type { AcceptedConnection } from '../../../src/streaming/gateway/session-server.ts'
import { captureLog } from '../../support/captured-log.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** A process that answers what it is asked, unless it is frozen; the test acknowledges sockets. */
class FakeProcess extends EventEmitter {
  pid: number | undefined
  connected = true
  exitCode = null
  signalCode: string | null = null
  readonly stdio = [null, null, null, null, new PassThrough()]
  readonly received: ToGatewayProcess[] = []
  isFrozen = false

  constructor(pid: number | undefined) {
    super()
    this.pid = pid
  }

  send(message: ToGatewayProcess): void {
    this.received.push(message)
    if (message.type === 'ping' && !this.isFrozen) this.answer({ type: 'pong' })
  }

  answer(message: FromGatewayProcess): void {
    this.emit('message', message)
  }

  /** The identifiers of the sockets that it was sent. */
  get connections(): string[] {
    return this.received.flatMap((message) => (message.type === 'connection' ? [message.connection.id] : []))
  }

  /** Acknowledges sockets as they come, until there is none. */
  takeAll(): void {
    for (let taken = 0; taken < this.connections.length; taken++) {
      this.answer({ type: 'taken', id: this.connections[taken] as string })
    }
  }

  kill(signal: string): void {
    this.signalCode = signal
    this.connected = false
    this.emit('exit', null, signal)
  }
}

let clock: VirtualClock
let started: FakeProcess[]
let processes: GatewayProcesses
let lines: string[]
let pidOf: (number: number) => number | undefined

beforeEach(() => {
  clock = new VirtualClock()
  started = []
  pidOf = (number) => 1_000 + number
  create(2)
  for (const process of started) process.answer({ type: 'ready' })
})

function create(count: number): void {
  const captured = captureLog()
  lines = captured.lines
  started = []
  processes = new GatewayProcesses({
    count,
    clock,
    log: captured.log,
    metrics: createMetricsRegistry(),
    startProcess: () => {
      const process = new FakeProcess(pidOf(started.length))
      started.push(process)
      return process as never
    },
    settings: () => ({}) as never,
    markets: () => [],
    receiptKey: () => undefined,
    exporter: { onStateRequest: () => undefined },
    onCommitRequest: () => undefined,
  })
}

const [FIRST, SECOND] = [0, 1]
const process = (number: number) => started[number] as FakeProcess

/** The client's end of a connection that is opened: what it is answered, and whether it is closed. */
function open(clientId = 'client') {
  const socket = new PassThrough()
  let answer = ''
  Object.assign(socket, {
    end(text = '') {
      answer += text
      socket.destroy()
    },
  })
  const token = { clientId, customerId: 'customer' }
  const request = { method: 'GET', url: '/', headers: {} }
  processes.open({
    token,
    clientAddress: '127.0.0.1',
    request,
    socket,
    head: Buffer.alloc(0),
  } as unknown as AcceptedConnection)
  return {
    get isClosed() {
      return socket.destroyed
    },
    get answer() {
      return answer
    },
    send: (text: string) => void socket.write(text),
    leave: () => void socket.destroy(),
  }
}

const counts = () => started.map(({ connections }) => connections.length)

describe('sockets on their way to a process', () => {
  test('sockets are handed over to all processes in turn, and the next follows when one is acknowledged', () => {
    for (let number = 0; number < 6; number++) open()
    expect(counts()).toEqual([1, 1])
    for (const each of started) each.takeAll()
    for (const each of started) each.takeAll()
    expect(counts()).toEqual([3, 3])
    expect(processes.sessions.size).toBe(6)
  })

  test('sockets on their way to a dead process are closed, and those that wait go to the other process', () => {
    const clients = Array.from({ length: 10 }, () => open())
    const [lost] = clients
    process(FIRST).kill('SIGKILL')
    expect(lost?.isClosed).toBe(true)
    process(SECOND).takeAll()
    expect(counts()).toEqual([1, 9])
    expect(processes.sessions.size).toBe(9)
  })

  test('a socket is answered with 503 after three seconds without a process that accepts it', () => {
    for (const each of started) each.isFrozen = true
    const clients = Array.from({ length: 4 }, () => open())
    clock.advance(2_900)
    expect(clients.map(({ answer }) => answer)).toEqual(['', '', '', ''])
    clock.advance(1_100)
    expect(clients.map(({ answer }) => answer.slice(0, 12))).toEqual(['', '', 'HTTP/1.1 503', 'HTTP/1.1 503'])
    expect(clients[2]?.answer).toContain('Retry-After: 5')
    expect(processes.sessions.size).toBe(2)
  })

  test('sockets whose client has left are not handed over', () => {
    const clients = Array.from({ length: 4 }, () => open())
    clients[2]?.leave()
    for (const each of started) each.takeAll()
    expect(counts()).toEqual([2, 1])
    expect(processes.sessions.size).toBe(3)
  })

  test('sockets on their way to a process do not delay the close of a revoked connection', () => {
    const waiting = Array.from({ length: 500 }, () => open('other'))
    const [open0] = processes.sessions
    processes.close(open0?.id as string, 'revoked')
    expect(process(FIRST).received.map(({ type }) => type)).toEqual(['start', 'connection', 'close'])
    expect(waiting[0]?.isClosed).toBe(false)
  })

  test('sockets on their way to a process are refused when their access is revoked before a process has them', () => {
    const clients = Array.from({ length: 5 }, () => open())
    processes.closeWhere(() => 'revoked', { all: true, customerIds: new Set(), clientIds: new Set() } as never)
    expect(clients.map(({ answer }) => answer.slice(0, 12))).toEqual(['', '', ...Array(3).fill('HTTP/1.1 503')])
    for (const each of started) each.takeAll()
    expect(counts()).toEqual([1, 1])
  })

  test('sockets on their way to a process are refused by a drain, which closes the others', () => {
    const clients = Array.from({ length: 5 }, () => open())
    void processes.drain(5)
    expect(clients.map(({ answer }) => answer.slice(0, 12))).toEqual(['', '', ...Array(3).fill('HTTP/1.1 503')])
    expect(process(FIRST).received.map(({ type }) => type)).toEqual(['start', 'connection', 'drain'])
  })

  test('sockets that never reach their process are forgotten when it has answered a later message', () => {
    open()
    expect(processes.sessions.size).toBe(1)
    clock.advance(2_000)
    expect(processes.sessions.size).toBe(0)
    open()
    expect(counts()).toEqual([2, 0])
  })

  test("sockets on their way to a process take the client's early bytes with them", () => {
    open()
    open()
    const early = open()
    early.send('early')
    process(FIRST).takeAll()
    const last = process(FIRST).received.at(-1)
    expect(last?.type === 'connection' && Buffer.from(last.connection.head).toString()).toBe('early')
  })
})

describe('a process that does not answer', () => {
  test('a process that does not answer gets no new connection after three seconds, and some again when it answers', () => {
    process(FIRST).isFrozen = true
    clock.advance(4_100)
    expect(processes.readyCount).toBe(1)
    for (let number = 0; number < 4; number++) open()
    process(SECOND).takeAll()
    expect(counts()).toEqual([0, 4])
    process(FIRST).isFrozen = false
    process(FIRST).answer({ type: 'pong' })
    expect(processes.readyCount).toBe(2)
    open()
    expect(counts()).toEqual([1, 4])
    expect(lines.filter((line) => line.includes('does not answer'))).toHaveLength(1)
  })

  test('a process that does not answer delays no connection of the others by more than a moment', () => {
    process(FIRST).isFrozen = true
    open()
    open()
    process(SECOND).takeAll()
    // The first process has as many connections and one under way.
    open()
    process(SECOND).takeAll()
    clock.advance(300)
    open()
    process(SECOND).takeAll()
    expect(counts()).toEqual([1, 3])
  })

  test('a process that does not answer is killed after ten seconds, its connections are closed and it is started again', () => {
    process(FIRST).isFrozen = true
    const client = open()
    clock.advance(10_900)
    expect(process(FIRST).signalCode).toBeNull()
    clock.advance(200)
    expect(process(FIRST).signalCode).toBe('SIGKILL')
    expect(client.isClosed).toBe(true)
    expect(processes.sessions.size).toBe(0)
    clock.advance(500)
    expect(started).toHaveLength(3)
  })

  test('a process that does not answer is not blamed for seconds in which the main process itself stood still', () => {
    process(FIRST).isFrozen = true
    clock.advance(1_000)
    for (let stall = 0; stall < 20; stall++) clock.standStill(5_000)
    expect(processes.readyCount).toBe(2)
    clock.advance(10_100)
    expect(process(FIRST).signalCode).toBe('SIGKILL')
  })

  test('a starting process has a minute to answer', () => {
    create(1)
    process(FIRST).isFrozen = true
    clock.advance(60_000)
    expect(process(FIRST).signalCode).toBeNull()
    clock.advance(2_000)
    expect(process(FIRST).signalCode).toBe('SIGKILL')
  })

  test('a process that does not answer is left out of the metrics at once', async () => {
    process(FIRST).isFrozen = true
    clock.advance(4_100)
    const measuring = processes.measure()
    process(SECOND).answer({
      type: 'measured',
      question: (process(SECOND).received.at(-1) as { question: number }).question,
      metrics: [],
      subscribers: { BTCUSD: 1 },
    })
    expect((await measuring).subscribers).toEqual(new Map([['BTCUSD', 1]]))
  })
})

test('a process that could not be started is started again', () => {
  pidOf = () => undefined
  create(1)
  process(FIRST).emit('error', new Error('spawn EAGAIN'))
  clock.advance(500)
  expect(started).toHaveLength(2)
})
