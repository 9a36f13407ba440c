/**
 * How long a gateway's readers have no fresh book when the leading feed is killed: from SIGKILL to the next leader's
 * first message, for the slowest among several readers and markets.
 */
import type { Cluster } from '../test/support/cluster.ts'
import { ClusterReader } from '../test/support/cluster-reader.ts'
import { hasServers, MARKETS, newStreamToken, withDeployment } from './cluster-deployment.ts'
import type { BenchResult } from './result.ts'

const READERS = 4
const UPDATES_PER_SECOND = 20
const PROCESSES = { 'feed-1': '[feed]', 'feed-2': '[feed]', gateway: '[gateway, api, worker]' }
const LIMIT_MILLISECONDS = 60_000
const CHECK_MILLISECONDS = 2

export async function measureFailover(kills: number): Promise<BenchResult[]> {
  if (!hasServers) return []
  return withDeployment(PROCESSES, UPDATES_PER_SECOND, async (cluster) => {
    const gateway = cluster.process('gateway')
    const token = await newStreamToken(gateway)
    const options = { addresses: () => [gateway.ws], token, markets: MARKETS }
    const readers = Array.from({ length: READERS }, () => new ClusterReader(options))
    const runs: number[] = []
    for (let kill = 1; kill <= kills; kill++) {
      console.error(`kill ${kill} of ${kills} of the feed that leads`)
      await freshSince(readers, performance.now())
      const leader = await leaderOf(cluster)
      const killed = performance.now()
      await cluster.kill(leader)
      // Everything the killed feed had sent arrives within this time, and before the next leader can start.
      const sinceMilliseconds = performance.now() + 500
      runs.push((await freshSince(readers, sinceMilliseconds)) - killed)
      await cluster.launch(leader)
    }
    const problems = readers.flatMap(({ violations, earlierTimes }) => [...violations, ...earlierTimes])
    for (const reader of readers) await reader.stop()
    if (problems.length > 0) throw new Error(`a rule was broken: ${JSON.stringify(problems[0])}`)
    return [{ name: 'kill of the leading feed: until the next leader is read', unit: 'ms', runs }]
  })
}

/** Resolves with the time when the last reader had a message from its last market, all of them after `milliseconds`. */
async function freshSince(readers: readonly ClusterReader[], milliseconds: number): Promise<number> {
  const isFresh = ({ received }: ClusterReader) => MARKETS.every((market) => (received.get(market) ?? 0) > milliseconds)
  const deadline = performance.now() + LIMIT_MILLISECONDS
  while (!readers.every(isFresh)) {
    if (performance.now() > deadline) throw new Error('no fresh books within a minute')
    await wait(CHECK_MILLISECONDS)
  }
  return performance.now()
}

async function leaderOf(cluster: Cluster): Promise<string> {
  for (;;) {
    const [name] = await cluster.leaders()
    if (name !== undefined) return name
    await wait(100)
  }
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
