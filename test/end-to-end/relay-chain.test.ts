/**
 * A relay of a relay: three services in a row, the first with simulated markets, connections between them that are cut
 * and frozen, and, in the long run, processes that are killed. A client of each rebuilds the books from frames alone. At
 * equal origins the digests of all three are equal, and the last client sees every execution of the first once and in
 * order, or is notified that some were missed.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { ChainVerifier } from '../support/chain-verifier.ts'
import { startCommand } from '../support/command-line.ts'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { Random } from '../support/random.ts'
import {
  ensureBuilt,
  type Flags,
  market,
  type ServiceProcess,
  startServiceProcess,
  type TestClient,
  temporaryFolder,
} from '../support/running-service.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const LONG = process.env.TIDEGATE_LONG === '1'
const SECONDS = LONG ? 60 * Number(process.env.TIDEGATE_CHAIN_MINUTES ?? 5) : 4
const MARKETS = ['BTC', 'ETH'] as const
const NAMES = ['first', 'second', 'third'] as const

interface Node {
  readonly folder: string
  readonly flags: Flags
  service: ServiceProcess
  readonly client: TestClient
  readonly verifier: ChainVerifier
}

const folder = temporaryFolder()
const running: { stop(): unknown }[] = []
afterAll(async () => {
  for (const one of running.reverse()) await one.stop()
  folder.remove()
})

/** The port of an address, so that a killed process can be started at the same one. */
const portOf = (url: string) => Number(new URL(url).port)

async function startNode(name: string, source: (symbol: string) => string, flags: Flags): Promise<Node> {
  const path = join(folder.path, name)
  mkdirSync(path)
  const markets = MARKETS.map((base) => market(base, 2, 100, source(`${base}USD`)))
  const all: Flags = {
    markets: JSON.stringify(markets),
    'simulator.allowed': 'true',
    'simulator.rate': LONG ? 20 : 8,
    'stream.stale_seconds': 2,
    ...flags,
  }
  const service = await startServiceProcess('serve', path, all)
  const client = await service.operator.createClient()
  const fixed: Flags = { ...all, 'http.port': portOf(service.http), 'operator.port': portOf(service.operator.url) }
  const node: Node = { folder: path, flags: fixed, service, client, verifier: new ChainVerifier(name) }
  running.push({ stop: () => node.service.stop() })
  node.verifier.start(
    service,
    client,
    MARKETS.map((base) => `${base}USD`),
  )
  running.push({ stop: () => node.verifier.stop() })
  return node
}

/** The settings of a feed from a node, through a proxy. */
function feedFrom(node: Node, proxy: TcpProxy): string {
  return JSON.stringify({
    up: {
      kind: 'tidegate',
      url: `ws://127.0.0.1:${proxy.port}/`,
      client_id: node.client.clientId,
      client_secret: node.client.clientSecret,
      auth_url: node.service.http,
    },
  })
}

async function kill(node: Node): Promise<void> {
  node.service.command.child.kill('SIGKILL')
  await node.service.command.result
  node.service = await startServiceProcess('serve', node.folder, node.flags)
}

it('a chain of nodes relays books and executions exactly, whatever happens to the connections between them', async () => {
  ensureBuilt()
  const seed = seedOf(20_261_123)
  note(`relay chain: seed ${seed}`)
  const random = new Random(seed)
  const first = await startNode('first', () => 'simulator', {})
  const proxies = [await TcpProxy.listen(portOf(first.service.http))]
  running.push({ stop: () => proxies[0]!.close() })
  const second = await startNode('second', (symbol) => `up:${symbol}`, { feeds: feedFrom(first, proxies[0]!) })
  proxies.push(await TcpProxy.listen(portOf(second.service.http)))
  running.push({ stop: () => proxies[1]!.close() })
  const third = await startNode('third', (symbol) => `up:${symbol}`, { feeds: feedFrom(second, proxies[1]!) })
  const nodes = [first, second, third]
  await third.verifier.until('books of the whole chain', () => third.verifier.hasBooks)
  const verifying = LONG
    ? startCommand(
        ['verify', 'BTCUSD', 'ETHUSD', '--url', third.service.http, '--seconds', String(SECONDS), '--json'],
        {
          isBuilt: true,
          cwd: third.folder,
          environment: {
            TIDEGATE_CLIENT_ID: third.client.clientId,
            TIDEGATE_CLIENT_SECRET: third.client.clientSecret,
          },
        },
      )
    : undefined
  const end = performance.now() + SECONDS * 1_000
  for (let round = 0; performance.now() < end; round++) {
    await wait(LONG ? 2_000 + random.next() * 4_000 : 700)
    const proxy = proxies[round % 2]!
    const kind = random.integer(LONG ? 4 : 2)
    if (kind === 0) proxy.cut()
    else if (kind === 1) {
      proxy.freeze()
      await wait(random.next() * (LONG ? 4_000 : 600))
      proxy.thaw()
    } else if (kind === 2) await kill(nodes[1]!)
    else if (round % 4 === 0) await kill(nodes[0]!)
  }
  const settled = third.verifier.digests
  await third.verifier.until('digests after the last fault', () => third.verifier.digests > settled + 10)
  const pairs = [
    [first, second],
    [second, third],
    [first, third],
  ] as const
  const lowers = [second, third]
  await third.verifier.until(
    'enough to compare',
    () =>
      pairs.every(([upper, lower]) => upper.verifier.compareOrigins(lower.verifier).equal > (LONG ? 50 : 3)) &&
      lowers.every((lower) => lower.verifier.compareExecutions(first.verifier).seen > (LONG ? 500 : 5)),
  )
  expect(nodes.flatMap(({ verifier }) => verifier.problems.map((problem) => `${verifier.name}: ${problem}`))).toEqual(
    [],
  )
  for (const [upper, lower] of pairs) {
    expect(upper.verifier.compareOrigins(lower.verifier).different).toEqual([])
  }
  for (const lower of lowers) {
    const { seen, problems, gaps } = lower.verifier.compareExecutions(first.verifier)
    expect(problems).toEqual([])
    note(`${lower.verifier.name}: ${seen} executions, ${gaps} gaps, each notified`)
  }
  if (verifying !== undefined) {
    const { stdout } = await verifying.result
    const { violations } = JSON.parse(stdout) as { violations: readonly { readonly name: string }[] }
    expect(violations.filter(({ name }) => name !== 'heartbeat-late')).toEqual([])
    note(NAMES.map((name, index) => `${name}: ${nodes[index]!.verifier.summary}`).join('\n'))
  }
})
