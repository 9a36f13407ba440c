/**
 * A deployment with several processes for benchmarks, on its own servers: PostgreSQL and NATS with their default
 * settings.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Cluster, type ClusterProcess } from '../test/support/cluster.ts'
import { NATS_SERVER } from '../test/support/foreign-programs.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { market, newToken } from '../test/support/running-service.ts'

export const MARKETS = ['BTCUSD', 'ETHUSD', 'SOLUSD']

/** Whether both servers are installed. */
export const hasServers = hasPostgres && !NATS_SERVER.isSkipped

/** Runs `measure` with these processes, and removes everything afterwards. */
export async function withDeployment<Result>(
  processes: Readonly<Record<string, string>>,
  updatesPerSecond: number,
  measure: (cluster: Cluster) => Promise<Result>,
): Promise<Result> {
  const postgres = PostgresServer.create()
  await postgres.start()
  try {
    const store = await postgres.createDatabase()
    migrate(store)
    const markets = MARKETS.map((symbol) => market(symbol.slice(0, 3), 2, 100))
    const flags = { 'simulator.rate': updatesPerSecond, 'log.level': 'warn' }
    const cluster = await Cluster.start({ processes, markets, store, flags })
    try {
      return await measure(cluster)
    } finally {
      await cluster.remove()
    }
  } finally {
    await postgres.remove()
  }
}

/** A token for a new client with access to the stream. */
export function newStreamToken(api: ClusterProcess): Promise<string> {
  return newToken({ ...api, folder: '' })
}

function migrate(store: string): void {
  const program = join(import.meta.dirname, '../dist/main.js')
  const { status, stderr } = spawnSync(process.execPath, [program, 'migrate', '--store.url', store], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`migrate failed: ${stderr}`)
}
