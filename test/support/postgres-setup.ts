/**
 * The PostgreSQL server that a run of the tests shares. It belongs to the process that runs them, and is started when
 * the first test file requests it over a socket, so that a run without such files does not start it.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { createLog } from '../../src/platform/base/log.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { PostgresServer } from './postgres.ts'
import { createSlowClock } from './slow-clock.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  removeLeftovers()
  const folder = mkdtempSync(join(tmpdir(), `tidegate-postgres-${process.pid}-broker-`))
  let starting: Promise<PostgresServer> | undefined
  const broker = createServer((socket) => {
    starting ??= startServer()
    starting.then(
      (server) => socket.end(JSON.stringify({ folder: server.folder })),
      (error: Error) => socket.end(JSON.stringify({ problem: error.message })),
    )
  })
  const path = join(folder, 'broker')
  await new Promise<void>((resolve) => broker.listen(path, resolve))
  project.provide('postgresBroker', path)
  return async () => {
    broker.close()
    rmSync(folder, { recursive: true, force: true })
    await starting?.then((server) => server.remove())
  }
}

async function startServer(): Promise<PostgresServer> {
  const server = PostgresServer.create()
  await server.start()
  const url = await server.createSchemaTemplate()
  const log = createLog('error')
  const db = openPostgres({ url, connectionsMax: 1, log, clock: createSlowClock(), random: Math.random })
  await migrate(db, log)
  // A database with connections cannot be copied.
  await db.close()
  return server
}

/** Removes the folders of killed runs; their servers have ended with them. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^tidegate-postgres-(\d+)-/.exec(name)?.[1]
    if (pid === undefined || isAlive(Number(pid))) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // It belongs to another user, or another run removes it at the same time.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
