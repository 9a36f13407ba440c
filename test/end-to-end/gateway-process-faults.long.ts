/**
 * 10,000 connections are offered to a service with two gateway processes, as fast as this driver can, while processes are
 * killed 10 times and stopped 10 times: half of the stopped ones continue after five seconds, the others are left to the
 * service. `TIDEGATE_GATEWAY_FAULTS` sets another number of faults than 20, each with 500 connections. A fault begins when both processes are ready, so one is left to serve. Every attempt has to end within 15 s, and
 * after the same work the processes hold what they held before, once their garbage is collected.
 */

import { randomBytes } from 'node:crypto'
import { createConnection, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { ProcessWatch } from '../hostile/process-watch.ts'
import { until } from '../support/awaited.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import {
  ensureBuilt,
  newToken,
  type ServiceProcess,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'

const isSkipped = !canSharePorts()
const FAULTS = Number(process.env.TIDEGATE_GATEWAY_FAULTS ?? 20)
const EXECUTIONS_KEPT = 100
/** Killed, stopped for a while, killed, stopped until the service ends it. */
const FAULT_KINDS = 4
const CONNECTIONS_PER_FAULT = 500
/** malloc has grown to what this work needs after two of them. */
const WARM_UPS = 3
const WARM_UP_CONNECTIONS = 20_000
const REST_MILLISECONDS = 15_000
const UNDER_WAY_MAX = 250
/** Streams that are kept open; the oldest is cut for another one. */
const STREAMS_MAX = 1_000
const ATTEMPT_MILLISECONDS_MAX = 15_000
const STOPPED_MILLISECONDS = 5_000

const folder = temporaryFolder()
let service: ServiceProcess
let token: string

beforeAll(async () => {
  if (isSkipped) return
  ensureBuilt()
  service = await startServiceProcess('serve', folder.path, {
    'http.port': 0,
    'operator.port': 0,
    'gateway.processes': 2,
    'stream.port': 0,
    'stream.connections_per_client_max': 10_000,
    'stream.connections_max': 10_000,
    'stream.drain_seconds': 0,
    // Full before the first comparison: what markets keep grows for an hour otherwise.
    'stream.executions_kept': EXECUTIONS_KEPT,
  })
  token = await newToken(service)
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

/** Offers connections and counts how they end: `stream`, an HTTP status, or `closed`. */
class Driver {
  readonly ends = new Map<string, number>()
  readonly #streams: Socket[] = []
  readonly #port = Number(new URL(service.ws).port)
  #underWay = 0
  attempts = 0
  offeringMilliseconds = 0
  longestMilliseconds = 0

  /** Resolves when the last of them has been offered; `onHalf` is called meanwhile. */
  async offer(count: number, onHalf: () => void = () => undefined): Promise<void> {
    const begin = performance.now()
    for (let offered = 0; offered < count; offered++) {
      await until(
        'the end of an earlier handshake',
        () => this.#underWay < UNDER_WAY_MAX,
        () => wait(1),
      )
      if (offered === count / 2) onHalf()
      this.#attempt()
    }
    this.offeringMilliseconds += performance.now() - begin
  }

  async untilAllEnded(): Promise<void> {
    await until(
      'the end of all handshakes',
      () => this.#underWay === 0,
      () => wait(50),
    )
    for (const stream of this.#streams.splice(0)) stream.resetAndDestroy()
  }

  #attempt(): void {
    const begin = performance.now()
    this.attempts++
    this.#underWay++
    let isEnded = false
    const end = (how: string): void => {
      if (isEnded) return
      isEnded = true
      this.#underWay--
      this.ends.set(how, (this.ends.get(how) ?? 0) + 1)
      this.longestMilliseconds = Math.max(this.longestMilliseconds, performance.now() - begin)
    }
    const socket = createConnection(this.#port, '127.0.0.1')
    // Without a port or a descriptor the driver itself has failed.
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => end(code === 'ECONNRESET' ? 'closed' : code))
    socket.on('close', () => end('closed'))
    socket.once('data', (data) => {
      const status = data.toString('latin1', 9, 12)
      if (status === '101') {
        end('stream')
        this.#streams.push(socket)
        if (this.#streams.length > STREAMS_MAX) this.#streams.shift()?.resetAndDestroy()
      } else {
        end(status)
        socket.destroy()
      }
    })
    socket.resume()
    socket.write(
      [
        'GET / HTTP/1.1',
        `Host: 127.0.0.1:${this.#port}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        'Sec-WebSocket-Version: 13',
        `Authorization: Bearer ${token}`,
        '\r\n',
      ].join('\r\n'),
    )
  }
}

/** Processes that were ready and have not been killed or stopped by this test. */
function healthy(ended: ReadonlySet<number>): number[] {
  const lines = service.command.stderr().split('\n')
  const ready = lines.filter((line) => line.includes('"event":"gateway process ready"'))
  return ready.map((line) => (JSON.parse(line) as { pid: number }).pid).filter((pid) => !ended.has(pid))
}

interface Held {
  readonly residentBytes: number
  readonly openFiles: number
}

async function heldBy(pid: number): Promise<Held> {
  await collectGarbage(pid)
  const watch = new ProcessWatch(pid)
  watch.stop()
  const { residentBytes, openFiles } = watch
  return { residentBytes, openFiles }
}

/** The main process, and the larger of the gateway processes. */
async function held(ended: ReadonlySet<number>): Promise<readonly [Held, Held]> {
  await expect.poll(() => service.operator.metric('tidegate_connections'), { timeout: 60_000 }).toBe(0)
  const [one, other] = healthy(ended) as [number, number]
  const [first, second] = [await heldBy(one), await heldBy(other)]
  const larger = {
    residentBytes: Math.max(first.residentBytes, second.residentBytes),
    openFiles: Math.max(first.openFiles, second.openFiles),
  }
  return [await heldBy(service.pid), larger]
}

test.skipIf(isSkipped)(
  'every connection offered while gateway processes die and freeze ends in time, and leaves nothing behind',
  async () => {
    const ended = new Set<number>()
    // What is loaded, compiled and allocated with the first faults stays, so each kind happens once before the comparison.
    await offerDuringFaults(FAULT_KINDS, ended)
    let warmUp = await offerWithoutFaults()
    for (let repeat = 1; repeat < WARM_UPS; repeat++) warmUp = await offerWithoutFaults()
    const before = await held(ended)

    const driver = await offerDuringFaults(FAULTS, ended)
    const afterwards = await held(ended)
    // The processes that run now have been started since: what they hold is compared after the same work.
    await offerWithoutFaults()
    const afterTheSameWork = await held(ended)
    const rate = (each: Driver) => Math.round((1_000 * each.attempts) / each.offeringMilliseconds)
    const figures = {
      rates: [rate(warmUp), rate(driver)],
      longest: [warmUp.longestMilliseconds, driver.longestMilliseconds].map(Math.round),
      ends: Object.fromEntries(driver.ends),
      before,
      afterwards,
      afterTheSameWork,
    }
    console.log(JSON.stringify(figures))
    expect(driver.attempts).toBe(FAULTS * CONNECTIONS_PER_FAULT)
    expect([...driver.ends.keys()].filter((how) => !['stream', 'closed', '503'].includes(how))).toEqual([])
    expect(driver.longestMilliseconds).toBeLessThan(ATTEMPT_MILLISECONDS_MAX)
    const grown = afterTheSameWork.flatMap((now, place) => {
      const then = before[place] as Held
      return [now.residentBytes / then.residentBytes, now.openFiles / then.openFiles].filter((ratio) => ratio > 1.05)
    })
    expect(grown).toEqual([])
  },
)

/** Offers connections while a process is killed or stopped with each part of them; ends when both processes are ready. */
async function offerDuringFaults(faults: number, ended: Set<number>): Promise<Driver> {
  const driver = new Driver()
  const stopped: Promise<void>[] = []
  for (let fault = 0; fault < faults; fault++) {
    await untilBothAreReady(ended)
    await driver.offer(CONNECTIONS_PER_FAULT, () => {
      const pid = healthy(ended).at(fault % 4 < 2 ? 0 : -1) as number
      ended.add(pid)
      if (fault % 2 === 0) return void process.kill(pid, 'SIGKILL')
      process.kill(pid, 'SIGSTOP')
      if (fault % 4 === 1) stopped.push(continueLater(pid, ended))
    })
  }
  await driver.untilAllEnded()
  await Promise.all(stopped)
  await untilBothAreReady(ended)
  return driver
}

async function untilBothAreReady(ended: ReadonlySet<number>): Promise<void> {
  await expect.poll(() => healthy(ended).length, { timeout: 120_000 }).toBe(2)
}

/** Offers connections that all become streams, and lets the processes rest. */
async function offerWithoutFaults(): Promise<Driver> {
  const driver = new Driver()
  await driver.offer(WARM_UP_CONNECTIONS)
  await driver.untilAllEnded()
  expect([...driver.ends]).toEqual([['stream', WARM_UP_CONNECTIONS]])
  await wait(REST_MILLISECONDS)
  return driver
}

/** The process is healthy again once it continues: if the service has not replaced it meanwhile. */
async function continueLater(pid: number, ended: Set<number>): Promise<void> {
  await wait(STOPPED_MILLISECONDS)
  process.kill(pid, 'SIGCONT')
  ended.delete(pid)
}
