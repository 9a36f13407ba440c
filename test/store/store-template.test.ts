/** The template of new stores: it has the current schema and nothing that each installation creates for itself. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ensureDemoClient } from '../../src/auth/demo-client.ts'
import { Directory } from '../../src/auth/directory.ts'
import { DirectoryLoader } from '../../src/auth/directory-loader.ts'
import { createLog } from '../../src/base/log.ts'
import { servedScopes } from '../../src/contract/scopes.ts'
import { openEmbedded } from '../../src/store/embedded.ts'
import { readSchemaState } from '../../src/store/migrate.ts'
import { sql } from '../../src/store/sql.ts'
import { copyTemplate, TEMPLATE_FOLDER } from '../../src/store/store-template.ts'
import { createSlowClock } from '../support/slow-clock.ts'

const log = createLog('silent')

it('the template has the schema of this version, and only the rows that its migrations insert', async () => {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-template-'))
  const db = await openEmbedded({ folder: join(root, 'store'), log, clock: createSlowClock() })
  expect(await readSchemaState(db)).toBe('current')
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(db.tables())
  const filled: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(name)}`.execute(
      db.tables(),
    )
    if ((rows[0]?.count ?? 0) > 0) filled.push(name)
  }
  expect(filled.sort()).toEqual(['controls', 'directory_version', 'operators', 'schema_migrations'])
  await db.close()
  rmSync(root, { recursive: true })
})

it('the template is copied in full, into folders accessible to their owner only', async () => {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-template-'))
  const copy = join(root, 'store')
  expect(await copyTemplate(copy)).toBe(true)
  const paths = readdirSync(TEMPLATE_FOLDER, { recursive: true, encoding: 'utf8' }).sort()
  expect(readdirSync(copy, { recursive: true, encoding: 'utf8' }).sort()).toEqual(paths)
  for (const path of ['', ...paths]) {
    const { mode } = statSync(join(copy, path))
    if (statSync(join(TEMPLATE_FOLDER, path)).isDirectory()) expect(mode & 0o777, path).toBe(0o700)
    else expect(readFileSync(join(copy, path)).equals(readFileSync(join(TEMPLATE_FOLDER, path))), path).toBe(true)
  }
  rmSync(root, { recursive: true })
})

it('the template gives two installations different issuers, peppers, signing keys and demo secrets', async () => {
  const [one, other] = [await install(), await install()]
  for (const [name, value] of Object.entries(one)) expect(value, name).not.toBe(other[name])
})

/** The values that the first start on a new store creates. */
async function install(): Promise<Record<string, string | undefined>> {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-installation-'))
  const clock = createSlowClock()
  const db = await openEmbedded({ folder: join(root, 'store'), log, clock })
  const directory = new Directory()
  await new DirectoryLoader({ db, directory, clock, log, publicUrl: '' }).refresh()
  const { rows } = await sql<{ pepper: Uint8Array; issuer: string }>`select pepper, issuer from authority`.execute(
    db.tables(),
  )
  const { clientId, clientSecret } = await ensureDemoClient(db, servedScopes(true), undefined)
  await db.close()
  rmSync(root, { recursive: true })
  return {
    issuer: rows[0]?.issuer,
    pepper: Buffer.from(rows[0]?.pepper ?? []).toString('hex'),
    signingKey: directory.signingKeyAt(clock.wallInstant().milliseconds)?.keyId,
    clientId,
    clientSecret,
  }
}
