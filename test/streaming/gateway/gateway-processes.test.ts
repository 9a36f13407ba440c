/** The main process's side of gateway processes: their connections are counted together, and one that hangs is killed. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { EventFollower } from '../../../src/access/events/event-feed.ts'
import { EventsExpired } from '../../../src/access/events/read.ts'
import { Meter } from '../../../src/access/metering/meter.ts'
import { Counter, createMetricsRegistry, Gauge, Histogram, metricsText } from '../../../src/platform/base/metrics.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { LinkedEvents } from '../../../src/streaming/gateway/event-link.ts'
import type { EventSource } from '../../../src/streaming/gateway/event-subscription.ts'
import { GatewayProcesses } from '../../../src/streaming/gateway/gateway-processes.ts'
import type { ConnectionPart, ConnectionRequest } from '../../../src/streaming/gateway/served-connections.ts'
import { captureLog } from '../../support/captured-log.ts'
import { FakeProcess } from '../../support/fake-process.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let started: FakeProcess[]
let processes: GatewayProcesses
let lines: string[]
let snapshot: Buffer | undefined
let pidOf: (number: number) => number | undefined
/** The customers followed for the processes, with the last follower. */
let followed: Map<string, EventFollower>

const events: EventSource = {
  start: async (_customerId, after) => {
    if (after === 1n) throw new EventsExpired(5n)
    if (after === 2n) throw new StoreUnavailable('the test says so')
    return after ?? 9n
  },
  read: async (_customerId, after) => {
    if (after === 3n) throw new Error('a bug')
    return { events: [], examinedTo: after, isEnd: true }
  },
  follow(customerId, follower) {
    followed.set(customerId, follower)
    return () => void followed.delete(customerId)
  },
}

beforeEach(() => {
  clock = new VirtualClock()
  followed = new Map()
  pidOf = (number) => 1_000 + number
  snapshot = undefined
  create(2)
  for (const process of started) process.tell({ type: 'ready' })
})

let meter: Meter
let lostSince: number[]

function create(count: number): void {
  meter = new Meter(clock)
  lostSince = []
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
    start: () => 'the start',
    directorySnapshot: () => snapshot,
    exporter: { onStateRequest: () => undefined },
    onCommitRequest: () => undefined,
    events,
    meter,
    onUsageLost: (since) => lostSince.push(since),
  })
  processes.start()
}

const [FIRST, SECOND] = [0, 1]
const process = (number: number) => started[number] as FakeProcess

describe('connections at several processes', () => {
  test('connections are reported to the other processes within 50 ms, and a closed one is taken back', () => {
    process(FIRST).count(3, ['a', 2], ['b', 1])
    process(SECOND).count(5, ['a', 5])
    clock.advance(50)
    expect(process(FIRST).others).toEqual({
      total: 5,
      clients: [
        ['a', 5],
        ['b', 0],
      ],
    })
    expect(process(SECOND).others).toEqual({
      total: 3,
      clients: [
        ['a', 2],
        ['b', 1],
      ],
    })
    process(FIRST).count(2, ['b', 0])
    clock.advance(50)
    expect(process(SECOND).others).toEqual({ total: 2, clients: [['b', 0]] })
  })

  test('usage is added up over the processes, and lost usage is reported unless a process has drained', async () => {
    const sums = { messages: 2, bytes: 30, connectionMilliseconds: 5, restRequests: 0 }
    const row = { customerId: 'acme', clientId: 'a', market: 'BTCUSD', channel: 'market_data', ...sums }
    for (const number of [FIRST, SECOND]) process(number).tell({ type: 'usage', rows: [row] })
    const taken: unknown[] = []
    await meter.take((row) => taken.push(row))
    expect(taken).toEqual([{ ...row, messages: 4, bytes: 60, connectionMilliseconds: 10 }])
    const untilMilliseconds = clock.wallInstant().milliseconds
    process(FIRST).tell({ type: 'usage-reported', untilMilliseconds })
    clock.advance(11_000)
    process(FIRST).kill('SIGKILL')
    expect(lostSince).toEqual([untilMilliseconds])
    void processes.drain(1)
    process(SECOND).tell({ type: 'drained' })
    process(SECOND).kill('SIGKILL')
    expect(lostSince).toHaveLength(1)
  })

  test('connections of a process that ended no longer count, and its successor is sent all others', () => {
    process(FIRST).count(2, ['a', 2])
    process(SECOND).count(1, ['b', 1])
    clock.advance(50)
    process(FIRST).kill('SIGKILL')
    clock.advance(50)
    expect(process(SECOND).others).toEqual({ total: 0, clients: [['a', 0]] })
    clock.advance(500)
    const [successor] = started.slice(-1) as [FakeProcess]
    successor.tell({ type: 'ready' })
    clock.advance(50)
    expect(successor.others).toEqual({ total: 1, clients: [['b', 1]] })
  })

  const request: ConnectionRequest = { limit: 2, order: 'ASC', filter: {} }
  const place = (id: string, createdMilliseconds: number) => ({ id, createdMilliseconds, document: { id } as never })
  const part = (total: number, ...records: ReturnType<typeof place>[]): ConnectionPart => ({ total, records })

  test('connections from all processes make one list, which leaves out a process that does not answer', async () => {
    process(FIRST).answers = { list: part(2, place('a', 1), place('c', 3)) }
    process(SECOND).answers = { list: part(1, place('b', 2)) }
    const listed = await processes.list(request, 1_000)
    expect(listed.records.map(({ id }) => id)).toEqual(['a', 'b'])
    expect([listed.total, listed.end]).toEqual([3, place('b', 2)])
    expect(process(FIRST).received.at(-1)).toMatchObject({ name: 'list', asked: [request, 500] })
    process(SECOND).answers = {}
    const listing = processes.list(request, 1_000)
    clock.advance(1_000)
    expect(await listing).toEqual({ total: 2, records: [place('a', 1), place('c', 3)] })
  })

  test('connections are found in the process that has them, and unknown only when every process has answered', async () => {
    process(SECOND).answers = { show: { id: 'x' }, find: undefined }
    const showing = processes.show('x')
    clock.advance(1_000)
    expect(await showing).toEqual({ id: 'x' })
    const finding = processes.find('x')
    clock.advance(1_000)
    await expect(finding).rejects.toThrow('has not answered in time: try again')
    process(FIRST).answers = { find: undefined }
    expect(await processes.find('x')).toBeUndefined()
    processes.close('x')
    expect(started.map(({ received }) => received.at(-1))).toEqual(Array(2).fill({ type: 'close', id: 'x' }))
  })

  test('connections of all processes are drained before a drain ends', async () => {
    let isDrained = false
    const draining = processes.drain(5).then(() => {
      isDrained = true
    })
    process(FIRST).tell({ type: 'drained' })
    await Promise.resolve()
    expect(isDrained).toBe(false)
    // One that ends has none left, and is not started again.
    process(SECOND).kill('SIGKILL')
    await draining
    clock.advance(60_000)
    expect(started).toHaveLength(2)
  })

  test('a process that ended just before a drain is not started again during it', async () => {
    process(FIRST).kill('SIGKILL')
    void processes.drain(30)
    clock.advance(30_000)
    expect(started).toHaveLength(2)
  })
})

describe('the metrics of all processes', () => {
  const registries = [createMetricsRegistry(), createMetricsRegistry(), createMetricsRegistry()]
  const counters = registries.map((registry) => {
    const registers = [registry]
    new Gauge({ name: 'open', help: 'h', registers }).set(10)
    new Histogram({ name: 'seconds', help: 'h', buckets: [1], registers }).observe(0.5)
    return new Counter({ name: 'closes_total', help: 'h', labelNames: ['cause'], registers })
  })

  async function measure(): Promise<string> {
    for (const [number, each] of started.entries()) {
      const metrics = await registries[number]?.getMetricsAsJSON()
      each.answers = { measure: { metrics, subscribers: new Map() } }
    }
    const measuring = processes.measure()
    clock.advance(1_000)
    return metricsText((await measuring).metrics)
  }

  test('the counts of a gateway process that ends or answers late stay in the sums, and its gauges go with it', async () => {
    counters[0]?.inc({ cause: 'executionGap' }, 3)
    counters[1]?.inc({ cause: 'executionGap' }, 2)
    const before = await measure()
    expect(before).toContain('closes_total{cause="executionGap"} 5')
    process(FIRST).isFrozen = true
    expect(await measure()).toBe(before)
    process(FIRST).kill('SIGKILL')
    const after = await measure()
    expect(after).toContain('closes_total{cause="executionGap"} 5')
    expect(after).toContain('seconds_count 2')
    expect(after).toContain('open 10')
    clock.advance(500)
    process(2).tell({ type: 'ready' })
    counters[2]?.inc({ cause: 'executionGap' })
    const restarted = await measure()
    expect(restarted).toContain('closes_total{cause="executionGap"} 6')
    expect(restarted).toContain('seconds_bucket{le="1"} 3')
    expect(restarted).toContain('open 20')
  })
})

test('what a process counts last, and ends for, stays in the sums', async () => {
  const registry = createMetricsRegistry()
  new Counter({ name: 'mismatches_total', help: 'h', registers: [registry] }).inc()
  process(FIRST).tell({ type: 'metrics', metrics: await registry.getMetricsAsJSON() })
  process(FIRST).end(1, null)
  const measuring = processes.measure()
  clock.advance(1_000)
  expect(await metricsText((await measuring).metrics)).toContain('mismatches_total 1')
})

describe('a process that does not answer', () => {
  test('a process that does not answer for three seconds is asked nothing, and not counted as ready', async () => {
    process(FIRST).isFrozen = true
    clock.advance(4_100)
    expect(processes.readyCount).toBe(1)
    process(SECOND).answers = { measure: { metrics: [], subscribers: new Map([['BTCUSD', 1]]) } }
    expect((await processes.measure()).subscribers).toEqual(new Map([['BTCUSD', 1]]))
    expect(process(FIRST).types()).not.toContain('question')
    process(FIRST).isFrozen = false
    process(FIRST).tell({ type: 'pong' })
    expect(processes.readyCount).toBe(2)
  })

  test('a process that does not answer ten pings is killed and started again', () => {
    process(FIRST).isFrozen = true
    clock.advance(10_900)
    expect(process(FIRST).signalCode).toBeNull()
    clock.advance(200)
    expect(process(FIRST).signalCode).toBe('SIGKILL')
    expect(lines.filter((line) => line.includes('does not answer. It is killed'))).toHaveLength(1)
    clock.advance(500)
    expect(started).toHaveLength(3)
    expect(process(SECOND).signalCode).toBeNull()
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
})

test('a process is started with the present directory, and again later each time while it keeps ending', async () => {
  snapshot = Buffer.from('the directory')
  create(1)
  expect(process(FIRST).received).toEqual([{ type: 'start', start: 'the start' }])
  await nextTurn()
  expect(Buffer.concat(process(FIRST).written).toString()).toContain('the directory')
  for (const wait of [500, 1_000, 2_000]) {
    const { length } = started
    process(length - 1).end(1, null)
    clock.advance(wait - 1)
    expect(started).toHaveLength(length)
    clock.advance(1)
    expect(started).toHaveLength(length + 1)
  }
})

test('a process that could not be started is started again', () => {
  pidOf = () => undefined
  create(1)
  process(FIRST).emit('error', new Error('spawn EAGAIN'))
  clock.advance(500)
  expect(started).toHaveLength(2)
})

describe('customers’ events', () => {
  /** The end in a started process. */
  function linked(): { readonly source: LinkedEvents; readonly process: FakeProcess } {
    const process = started[0] as FakeProcess
    const source = new LinkedEvents((request) => process.tell(request))
    const send = process.send.bind(process)
    process.send = (message) => {
      send(message)
      if (message.type === 'event-answer' || message.type === 'event-wake') source.receive(message)
    }
    return { source, process }
  }

  test('a process gets the main process’s answers and errors about events', async () => {
    const { source } = linked()
    expect(await source.start('a', undefined)).toBe(9n)
    expect(await source.start('a', 4n)).toBe(4n)
    expect(await source.read('a', 4n)).toEqual({ events: [], examinedTo: 4n, isEnd: true })
    await expect(source.start('a', 1n)).rejects.toMatchObject({ name: 'EventsExpired', oldestSequence: 5n })
    await expect(source.start('a', 2n)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(source.read('a', 3n)).rejects.toThrow('a bug')
    const all = await Promise.all(Array.from({ length: 50 }, (_, at) => source.start('a', BigInt(at + 10))))
    expect(all).toEqual(Array.from({ length: 50 }, (_, at) => BigInt(at + 10)))
  })

  test('a process is not sent the answer to a call of the process before it', async () => {
    const call = { type: 'event-call', number: 1, name: 'read', after: 4n } as const
    process(FIRST).tell({ ...call, customerId: 'a' })
    process(FIRST).end(1, null)
    clock.advance(500)
    const [successor] = started.slice(-1) as [FakeProcess]
    await nextTurn()
    expect([started.length, successor.types()]).toEqual([3, ['start']])
    successor.tell({ ...call, customerId: 'b' })
    await nextTurn()
    expect(successor.types()).toEqual(['start', 'event-answer'])
  })

  test('a process follows a customer once for all its subscribers, and none after its end', () => {
    const { source, process } = linked()
    const woken: (bigint | undefined)[] = []
    const ends = [1, 2].map(() => source.follow('a', { wake: (last) => void woken.push(last) }))
    source.follow('b', { wake: () => undefined })
    expect([...followed.keys()]).toEqual(['a', 'b'])
    followed.get('a')?.wake(7n)
    followed.get('a')?.wake()
    expect(woken).toEqual([7n, 7n, undefined, undefined])
    ends[0]?.()
    expect(followed.size).toBe(2)
    ends[1]?.()
    expect([...followed.keys()]).toEqual(['b'])
    process.end(1, null)
    expect(followed.size).toBe(0)
  })
})
