/**
 * The load on the feed when clients all connect to a new gateway at once: the requests for states and for commits that
 * reach it over NATS, and its processor time, beside how long the clients wait for their books. The same without the
 * clients is the reference.
 */
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { NatsConnection } from '../src/streaming/links/nats-connection.ts'
import type { Cluster, ClusterProcess } from '../test/support/cluster.ts'
import { SampleClient } from '../test/support/sample-client.ts'
import { hasServers, MARKETS, newStreamToken, withDeployment } from './cluster-deployment.ts'
import { secondsOf } from './process-time.ts'
import type { BenchResult } from './result.ts'

const UPDATES_PER_SECOND = 20
const PROCESSES = { feed: '[feed]', 'gateway-1': '[gateway, api, worker]' }
/** Concurrent handshakes: more would wait in the client. */
const CONNECTING_MAX = 100

export async function measureJoinStorm(clients: number): Promise<BenchResult[]> {
  if (!hasServers) return []
  return withDeployment(PROCESSES, UPDATES_PER_SECOND, async (cluster) => {
    const token = await newStreamToken(cluster.process('gateway-1'))
    const requests = countRequests(cluster)
    const results: BenchResult[] = []
    const add = (name: string, unit: string, value: number): void => void results.push({ name, unit, runs: [value] })
    for (const count of [0, clients]) {
      console.error(`${count} clients connect to a new gateway`)
      const before = { ...requests.counts }
      const feed = pidOf(cluster.process('feed'))
      const [cpu, start] = [secondsOf(feed), performance.now()]
      const gateway = await cluster.launch(`gateway-${count === 0 ? 2 : 3}`, '[gateway]')
      const connected = performance.now()
      const open = await connectAll(gateway, token, count)
      const done = performance.now()
      // Equally long for both, so that the feed's own work is in both.
      await wait(Math.max(0, 10_000 - (done - start)))
      const title = `${count} clients join a new gateway`
      add(`${title}: requests for states`, '', requests.counts.states - before.states)
      add(`${title}: requests for commits`, '', requests.counts.commits - before.commits)
      add(
        `${title}: processor time of the feed in ${((performance.now() - start) / 1000).toFixed(0)} s`,
        's',
        secondsOf(feed) - cpu,
      )
      if (count > 0) add(`${title}: until all have all books`, 'ms', done - connected)
      for (const client of open) client.terminate()
      await cluster.kill(gateway.name)
    }
    await requests.stop()
    return results
  })
}

function countRequests(cluster: Cluster) {
  const counts = { states: 0, commits: 0 }
  const connection = new NatsConnection({
    url: `nats://127.0.0.1:${cluster.nats.port}`,
    credentials: undefined,
    tls: {},
    name: 'bench',
    clock: createSystemClock(),
    log: createLog('silent'),
    random: Math.random,
    metrics: createMetricsRegistry(),
  })
  connection.subscribe('tidegate.state.*', () => void counts.states++)
  connection.subscribe('tidegate.commit.*', () => void counts.commits++)
  return { counts, stop: () => connection.stop() }
}

/** Connects clients, each with all channels. Resolves when each has every book. */
async function connectAll(gateway: ClusterProcess, token: string, count: number): Promise<SampleClient[]> {
  const open: SampleClient[] = []
  const connectNext = async (): Promise<void> => {
    while (open.length < count) {
      const place = open.length
      open.length += 1
      const client = await SampleClient.connect({ wsUrl: gateway.ws, token, messagesKept: 1, executionsKept: 1 })
      open[place] = client
      await client.subscribeAll(...MARKETS)
      await client.until('all books', () => MARKETS.every((market) => client.book(market).isComplete), 60_000)
    }
  }
  await Promise.all(Array.from({ length: CONNECTING_MAX }, connectNext))
  return open
}

function pidOf({ command }: ClusterProcess): number {
  return command.child.pid as number
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
