import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { sql } from '../src/platform/store/sql.ts'
import { PostgresServer } from '../test/support/postgres.ts'
import { createReceivers } from '../test/support/receivers.ts'
import { interleaved } from './interleaved.ts'
import { depositsPerSecond } from './orchestration-in-process.ts'
import { startOrchestrationService } from './orchestration-service.ts'
import { mkdtempSync, rmSync } from 'node:fs'
const log = createLog('error'), clock = createSystemClock()
async function off(db: any) {
  for (const t of ['accounts','deposit_addresses','destinations','rules','transfers','orchestrations','client_secrets'])
    await sql.raw(`alter table ${t} disable trigger user`).execute(db.tables())
}
async function go(name: string, a: any, b: any, rounds: number, ms: number) {
  const cs: any[] = []
  const stop: any[] = []
  const parts: any[] = []
  for (const [what, db] of [['off', a], ['on', b]] as const) {
    await migrate(db, log)
    if (what === 'off') await off(db)
    const service = startOrchestrationService(db)
    const many = await createReceivers(db, 1000)
    const next = () => many[Math.floor(Math.random() * many.length)] as string
    parts.push([what, service, next]); stop.push(service)
  }
  for (const batch of [1, 50]) for (const how of [undefined, 'forWorker'] as const) for (const [what, service, next] of parts)
    cs.push({ name: `${name} ${batch} ${how ?? ''} ${what}`, unit: '/s', run: () => depositsPerSecond(service, ms, batch, next, how) })
  const r = await interleaved(cs, rounds)
  for (const x of r) { const m = [...x.runs].sort((p,q)=>p-q); console.log(x.name, Math.round(m[Math.floor(m.length/2)]!), x.unit) }
  for (const s of stop) await s.stop()
}
if (process.argv[2] === 'pg') {
const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
await server.start()
const open = async () => openPostgres({ url: await server.createDatabase(), connectionsMax: 10, log, clock, random: Math.random })
const [a, b] = [await open(), await open()]
await go('pg', a, b, 5, 1500)
await a.close(); await b.close(); await server.remove()
} else {
const f = mkdtempSync('/tmp/tgb-')
const a = await openEmbedded({ folder: f + '/a', log, clock }), b = await openEmbedded({ folder: f + '/b', log, clock })
await go('emb', a, b, 5, 1500)
await a.close(); await b.close(); rmSync(f, { recursive: true })
}
