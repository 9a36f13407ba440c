/**
 * The cost and benefit of several processes. Bus latency, a join storm's load on the feed, and failover times are in
 * their own files, and connects in `connects`. Here: the built service with 0, 1, 2 and 4 gateway processes, the same
 * simulated markets and the same connections, all at a rate far below the limit. The service counts the deliveries.
 * Processor time is measured for all its processes and for the main process alone, because the main process's share
 * limits how far more processes help. Latency is from a source message's arrival to the write to a socket.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { canSharePorts } from '../src/platform/http/shared-port.ts'
import {
  market,
  newToken,
  OperatorApi,
  type RunningService,
  startVerb,
  temporaryFolder,
} from '../test/support/running-service.ts'
import { measureFailover } from './cluster-failover.ts'
import { measureJoinStorm } from './cluster-join.ts'
import { measureLatency } from './cluster-latency.ts'
import { secondsOf } from './process-time.ts'
import type { BenchResult } from './result.ts'
import { ServiceProcesses } from './service-processes.ts'

/** Without Node.js 22.12 the service has no gateway processes. */
const PROCESSES = canSharePorts() ? [0, 1, 2, 4] : [0]
const CONNECTIONS = 600
const BASES = ['AAA', 'BBB', 'CCC']
const UPDATES_PER_SECOND = 150

interface Sample {
  readonly milliseconds: number
  readonly deliveries: number
  readonly mainSeconds: number
  readonly allSeconds: number
  readonly latencySum: number
  readonly latencyCount: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  return [
    ...(await measureLatency(quick ? 500 : 5_000)),
    ...(await measureProcesses(quick)),
    ...(await measureJoinStorm(quick ? 100 : 1_000)),
    ...(await measureFailover(quick ? 2 : 50)),
  ]
}

async function measureProcesses(quick: boolean): Promise<BenchResult[]> {
  const [rounds, seconds] = quick ? [1, 3] : [3, 6]
  const results = new Map<string, BenchResult>()
  const add = (name: string, unit: string, value: number, reference?: string): void => {
    const result = results.get(name) ?? { name, unit, runs: [], ...(reference === undefined ? {} : { reference }) }
    result.runs.push(value)
    results.set(name, result)
  }
  for (let round = 0; round < rounds; round++) {
    for (const count of PROCESSES) {
      console.error(`round ${round + 1} of ${rounds}: ${count} gateway processes on ${availableParallelism()} cores`)
      const [before, after] = await measure(count, seconds)
      const title = `${count} gateway processes`
      const first = `${PROCESSES[0]} gateway processes`
      const deliveries = after.deliveries - before.deliveries
      const cpu = after.allSeconds - before.allSeconds
      const reference = (what: string) => (count === PROCESSES[0] ? undefined : `${first}: ${what}`)
      const elapsed = (after.milliseconds - before.milliseconds) / 1000
      add(`${title}: deliveries`, '1/s', deliveries / elapsed)
      const perSecond = 'deliveries per second of processor time'
      add(`${title}: ${perSecond}`, '1/s', deliveries / cpu, reference(perSecond))
      add(`${title}: main process`, '% of a core', (100 * (after.mainSeconds - before.mainSeconds)) / elapsed)
      const latency = 'mean latency'
      const passed = (after.latencySum - before.latencySum) / (after.latencyCount - before.latencyCount)
      add(`${title}: ${latency}`, 'ms', 1000 * passed, reference(latency))
    }
  }
  return [...results.values()]
}

async function measure(count: number, seconds: number): Promise<readonly [Sample, Sample]> {
  const folder = temporaryFolder()
  const command = startVerb('serve', folder.path, {
    markets: JSON.stringify(BASES.map((base) => market(base, 2, 100))),
    'simulator.rate': UPDATES_PER_SECOND,
    'gateway.processes': count,
    ...(count === 0 ? {} : { 'stream.port': 0 }),
    'stream.drain_seconds': 0,
    'log.level': 'warn',
  })
  let readers: ChildProcess | undefined
  try {
    const { http, ws, operator, pid } = JSON.parse(await command.line((line) => line.startsWith('{')))
    const service = { http, ws, operator: new OperatorApi(operator, folder.path), folder: folder.path }
    const { port } = new URL(service.ws)
    const symbols = BASES.map((base) => `${base}USD`).join()
    const script = join(import.meta.dirname, 'cluster-readers.ts')
    const args = ['--import', 'tsx', script, port, await newToken(service), String(CONNECTIONS), symbols]
    readers = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(readers.stdout!, 'data')
    await wait(1)
    const before = await sampleOf(service, pid)
    await wait(seconds)
    return [before, await sampleOf(service, pid)]
  } finally {
    readers?.kill('SIGKILL')
    command.child.kill('SIGTERM')
    await command.result
    folder.remove()
  }
}

async function sampleOf(service: RunningService, pid: number): Promise<Sample> {
  const text = await service.operator.metricsText()
  const value = (name: string): number => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    if (line === undefined) throw new Error(`there is no metric ${name}`)
    return Number(line.slice(name.length + 1))
  }
  return {
    milliseconds: performance.now(),
    deliveries: value('tidegate_messages_out_total'),
    mainSeconds: secondsOf(pid),
    allSeconds: new ServiceProcesses(pid).seconds(),
    latencySum: value('tidegate_delivery_seconds_sum'),
    latencyCount: value('tidegate_delivery_seconds_count'),
  }
}

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
