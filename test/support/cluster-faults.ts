/** A cluster's faults, each of which ends by itself: processes, servers and the connections between them. */
import type { Cluster } from './cluster.ts'
import type { PostgresServer } from './postgres.ts'
import type { Random } from './random.ts'
import type { TcpProxy } from './tcp-proxy.ts'

export interface ClusterFault {
  readonly name: string
  /** Resolves when the fault has ended, with its victim. */
  readonly run: () => Promise<string>
}

/** Everything that faults can affect. */
interface Victims {
  readonly cluster: Cluster
  readonly postgres: PostgresServer
  readonly random: Random
  /** The leading feed. */
  readonly leader: () => Promise<string>
}

const SUSPENDED_SECONDS = 20
/** Longer than a connection may be silent, and long enough for several attempts and garbage collections. */
const CUT_SECONDS = { least: 5, most: 25 }
const DELAY_MILLISECONDS = 500
const DOWN_SECONDS_MAX = 10

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000))

/** A network's ways to fail. */
const CUTS: Readonly<Record<string, (proxy: TcpProxy) => unknown>> = {
  'refuses connections': (proxy) => proxy.refuse(),
  'closes connections without a byte': (proxy) => proxy.hangUp(),
  'is silent': (proxy) => proxy.freeze(),
  'answers 500 ms late': (proxy) => proxy.delay(DELAY_MILLISECONDS),
}

async function repair(proxy: TcpProxy): Promise<void> {
  proxy.delay(0)
  proxy.thaw()
  await proxy.accept()
}

export function clusterFaults({ cluster, postgres, random, leader }: Victims): readonly ClusterFault[] {
  const anyOf = (names: readonly string[]) => names[random.integer(names.length)] as string
  const secondsBelow = (most: number) => random.integer(most + 1)
  const kill = async (name: string) => {
    await cluster.kill(name)
    await cluster.launch(name)
    return name
  }
  const suspend = async (name: string) => {
    cluster.suspend(name)
    await wait(SUSPENDED_SECONDS)
    cluster.resume(name)
    return name
  }
  const restart = async (server: { stop(): Promise<void>; start(): Promise<void> }) => {
    const seconds = secondsBelow(DOWN_SECONDS_MAX)
    await server.stop()
    await wait(seconds)
    await server.start()
    return `down for ${seconds} s`
  }
  const cut = (server: 'nats' | 'postgres', how: string, choose: () => readonly string[]) => async () => {
    const names = choose()
    const seconds = CUT_SECONDS.least + secondsBelow(CUT_SECONDS.most - CUT_SECONDS.least)
    const proxies = names.map((name) => cluster.links(name)[server])
    await Promise.all(proxies.map((proxy) => CUTS[how]?.(proxy)))
    await wait(seconds)
    await Promise.all(proxies.map((proxy) => repair(proxy)))
    return `${names.length === 1 ? names[0] : 'all'}, ${seconds} s`
  }
  const cuts = (['nats', 'postgres'] as const).flatMap((server) =>
    Object.keys(CUTS).flatMap((how): ClusterFault[] => [
      { name: `${server} ${how}, for one process`, run: cut(server, how, () => [anyOf(cluster.names)]) },
      { name: `${server} ${how}, for all`, run: cut(server, how, () => cluster.names) },
    ]),
  )
  const servers = {
    nats: { stop: () => cluster.nats.kill(), start: () => cluster.nats.restart() },
    'postgres, fast,': { stop: () => postgres.stop('fast'), start: () => postgres.start() },
    'postgres, at once,': { stop: () => postgres.stop('immediate'), start: () => postgres.start() },
  }
  return [
    { name: 'the feed that leads is killed', run: async () => kill(await leader()) },
    { name: 'a process is killed', run: () => kill(anyOf(cluster.names)) },
    { name: 'the feed that leads is suspended', run: async () => suspend(await leader()) },
    { name: 'a process is suspended', run: () => suspend(anyOf(cluster.names)) },
    ...cuts,
    ...Object.entries(servers).map(([name, server]) => ({ name: `${name} is restarted`, run: () => restart(server) })),
    {
      name: 'every process is restarted, one after the other',
      async run() {
        for (const name of cluster.names) {
          await cluster.terminate(name)
          await cluster.launch(name)
        }
        return 'all'
      },
    },
  ]
}
