/**
 * The PostgreSQL server shared by one test run. It belongs to the process that runs the tests, and is started when the
 * first test file requests it over a socket: a run without such files neither starts it nor loads its modules.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { PostgresServer } from './postgres.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
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
  const { startSharedServer } = await import('./shared-postgres.ts')
  return await startSharedServer()
}
