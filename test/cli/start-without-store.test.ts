/** A node whose store is unavailable or lacks migrations at the start: its responses, its recovery, its shutdown. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type RunningCommand, runCommand, startCommand } from '../support/command-line.ts'
import { hasPostgres, PostgresServer, withClient } from '../support/postgres.ts'
import { SIMULATED_ARGS } from '../support/simulated-markets.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-away-'))
let running: RunningCommand | undefined

/** Starts a node on that store and waits until its listeners are open. */
async function start(storeUrl: string) {
  const flags = ['--http.port', '0', '--operator.port', '0', '--data_dir', folder, '--store.url', storeUrl]
  const command = startCommand(['serve', ...flags, ...SIMULATED_ARGS])
  running = command
  const line = JSON.parse(await command.errorLine((text) => text.includes('"event":"listening"')))
  return { command, http: line.http as string, operator: line.operator as string }
}

const waits = (reason: string) => (line: string) =>
  line.includes('"event":"the start waits for the store"') && line.includes(reason)

afterEach(async () => {
  running?.child.kill('SIGKILL')
  await running?.result
  running = undefined
})

afterAll(() => rmSync(folder, { recursive: true }))

describe('a node whose store is unreachable', () => {
  // Port 1: no server listens there.
  const NOWHERE = 'postgres://tidegate@127.0.0.1:1/tidegate'

  it('a node whose store is unreachable answers 503, reports the reason, and ends with 0 on a signal', async () => {
    const { command, http, operator } = await start(NOWHERE)
    await command.errorLine(waits(''))
    const readiness = await fetch(`${operator}/readyz`)
    expect(readiness.status).toBe(503)
    const { checks } = (await readiness.json()) as { checks: { name: string; ok: boolean; detail: string }[] }
    expect(checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
      'start',
      'store',
      'migrations',
      'directory',
      'market BTCUSD',
      'market ETHUSD',
      'market SOLUSD',
    ])
    expect((await fetch(`${operator}/livez`)).status).toBe(200)
    const stream = await fetch(http, { headers: { authorization: 'Bearer x' } })
    expect([stream.status, stream.headers.get('retry-after')]).toEqual([503, '5'])
    const form = { grant_type: 'client_credentials', client_id: 'a', client_secret: 'b', scope: 'c' }
    const grant = await fetch(`${http}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
    expect([grant.status, ((await grant.json()) as { error: string }).error]).toEqual([503, 'temporarily_unavailable'])
    command.child.kill('SIGTERM')
    const { code, stdout, stderr } = await command.result
    expect(code, stderr).toBe(0)
    expect(stdout).toBe('')
    expect(stderr).toContain('"event":"stopped"')
    // No reason is logged twice; on a slow machine a connection may time out before one is refused.
    const reasons = stderr.split('\n').flatMap((line) => (waits('')(line) ? JSON.parse(line).reason : []))
    expect(reasons.filter((reason, index) => reason === reasons[index - 1])).toEqual([])
  })
})

describe.skipIf(!hasPostgres)('a node whose store becomes available later (needs PostgreSQL)', () => {
  it("a node waits for a store's server, its migrations and, as a demo, for its clients; and refuses a newer schema", async () => {
    const server = PostgresServer.create()
    try {
      const url = `postgres://tidegate@/postgres?host=${encodeURIComponent(server.folder)}`
      const { command, operator } = await start(url)
      await command.errorLine(waits(''))
      await server.start()
      await command.errorLine(waits('migrations are missing'))
      const { checks } = (await (await fetch(`${operator}/readyz`)).json()) as { checks: object[] }
      expect(checks).toContainEqual({ name: 'store', ok: true, detail: 'ok' })
      expect(checks).toContainEqual({
        name: 'migrations',
        ok: false,
        detail: expect.stringMatching(/^missing: \d{12}-/),
      })
      const migrated = await runCommand(['migrate', '--data_dir', folder, '--store.url', url])
      expect(migrated.code, migrated.stderr).toBe(0)
      await command.line((line) => line.startsWith('{"ready":true'))
      await expect.poll(async () => (await fetch(`${operator}/readyz`)).status).toBe(200)
      command.child.kill('SIGTERM')
      expect((await command.result).code).toBe(0)
      await withClient(url, async (client) => {
        await client.query('begin; lock table client_secrets in share mode')
        const ports = ['--http.port', '0', '--operator.port', '0']
        const demo = startCommand(['demo', ...ports, '--data_dir', folder, '--store.url', url])
        running = demo
        await demo.errorLine((line) => waits('')(line) && line.includes('demo client'))
        await client.query('rollback')
        await demo.line((line) => line.startsWith('{"ready":true'))
        demo.child.kill('SIGTERM')
        expect((await demo.result).code).toBe(0)
      })
      await withClient(url, (client) =>
        client.query("insert into schema_migrations (name, checksum) values ('299901010000-later', 'x')"),
      )
      const newer = startCommand([
        'serve',
        '--http.port',
        '0',
        '--operator.port',
        '0',
        '--data_dir',
        folder,
        '--store.url',
        url,
      ])
      running = newer
      const { code, stdout, stderr } = await newer.result
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^tidegate: .*299901010000-later/)
    } finally {
      await server.remove()
    }
  })
})
