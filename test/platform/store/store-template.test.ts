/** The template of new stores: it has the current schema and nothing that each installation creates for itself. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ensureDemoClient } from '../../../src/access/clients/demo-client.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../../src/access/clients/directory-loader.ts'
import { servedScopes } from '../../../src/contract/scopes.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { readSchemaState } from '../../../src/platform/store/migrate.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { copyTemplate, packTemplate, type TemplateEntry } from '../../../src/platform/store/store-template.ts'
import { createSlowClock } from '../../support/slow-clock.ts'

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
  expect(filled.sort()).toEqual([
    'controls',
    'directory_version',
    'ledger_position',
    'operators',
    'plans',
    'schema_migrations',
    'store_origin',
  ])
  await db.close()
  rmSync(root, { recursive: true })
})

it('a packed template is unpacked in full, with its empty folders, for its owner only', async () => {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-template-'))
  const [file, copy] = [join(root, 'template'), join(root, 'store')]
  const bytes = new Uint8Array(randomBytes(70_000))
  const entries = [
    ['empty', 'folder'],
    ['deep', 'folder'],
    ['deep/file', 70_000],
    ['none', 0],
    ['deep/er', 'folder'],
  ]
  const packed = packTemplate(entries as unknown as TemplateEntry[], [bytes, new Uint8Array()])
  writeFileSync(file, packed)
  expect(await copyTemplate(copy, file)).toBe(true)
  expect(readdirSync(copy, { recursive: true, encoding: 'utf8' }).sort()).toEqual(entries.map(([path]) => path).sort())
  for (const path of ['', 'empty', 'deep', 'deep/er']) expect(statSync(join(copy, path)).mode & 0o777).toBe(0o700)
  expect(new Uint8Array(readFileSync(join(copy, 'deep/file')))).toEqual(bytes)
  expect(statSync(join(copy, 'none')).size).toBe(0)
  writeFileSync(file, packed.subarray(0, -1))
  await expect(copyTemplate(join(root, 'other'), file)).rejects.toThrow(`${file} is damaged: install the program again`)
  expect(await copyTemplate(join(root, 'other'), join(root, 'missing'))).toBe(false)
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
