/** The behaviour of `migrate` on every engine. At the end the schema of this version is applied. */
import { beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate, readSchemaState, SchemaProblem } from '../../../src/platform/store/migrate.ts'
import { MIGRATIONS } from '../../../src/platform/store/migrations/index.ts'
import { sql } from '../../../src/platform/store/sql.ts'

const log = createLog('silent')
const first = {
  name: '202601010000-first',
  text: 'create table first_table (n int); insert into first_table values (1)',
}
const second = { name: '202601010001-second', text: 'create table second_table (n int)' }

export function describeMigrations(db: () => Db): void {
  describe('migrations', () => {
    const count = async (table: string) => {
      const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.ref(table)}`.execute(db().tables())
      return rows[0]?.n
    }
    beforeEach(async () => {
      await sql`drop table if exists schema_migrations, first_table, second_table`.execute(db().tables())
    })

    it('migrations are applied in name order, once', async () => {
      expect(await migrate(db(), log, [second, first])).toEqual({ applied: [first.name, second.name] })
      expect(await migrate(db(), log, [first, second])).toEqual({ applied: [] })
      expect(await count('first_table')).toBe('1')
    })

    it('migrations are added to those already applied, also in between', async () => {
      expect(await migrate(db(), log, [second])).toEqual({ applied: [second.name] })
      expect(await migrate(db(), log, [first, second])).toEqual({ applied: [first.name] })
    })

    it('migrations are applied once by several concurrent runs', async () => {
      const results = await Promise.all(Array.from({ length: 4 }, () => migrate(db(), log, [first, second])))
      expect(results.flatMap(({ applied }) => applied).sort()).toEqual([first.name, second.name])
      expect(await count('first_table')).toBe('1')
    })

    it('migrations are applied in full or not at all, and earlier ones remain', async () => {
      const broken = { name: second.name, text: `${second.text}; insert into second_table values (1); select 1/0` }
      await expect(migrate(db(), log, [first, broken])).rejects.toMatchObject({ sqlState: '22012' })
      await expect(count('second_table')).rejects.toMatchObject({ sqlState: '42P01' })
      expect(await migrate(db(), log, [first, second])).toEqual({ applied: [second.name] })
    })

    it('migrations can be listed without being applied', async () => {
      expect(await readSchemaState(db(), [second, first])).toEqual({ missing: [first.name, second.name] })
      await migrate(db(), log, [first])
      expect(await readSchemaState(db(), [first, second])).toEqual({ missing: [second.name] })
      await migrate(db(), log, [first, second])
      expect(await readSchemaState(db(), [first, second])).toBe('current')
      await expect(readSchemaState(db(), [first])).rejects.toThrow(SchemaProblem)
      const changed = { ...first, text: `${first.text} ` }
      await expect(readSchemaState(db(), [changed, second])).rejects.toThrow(SchemaProblem)
    })

    it('a migration whose applied text differs is rejected', async () => {
      await migrate(db(), log, [first])
      const changed = { ...first, text: `${first.text} ` }
      const error = await migrate(db(), log, [changed, second]).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(SchemaProblem)
      expect((error as Error).message).toContain(first.name)
      await expect(count('second_table')).rejects.toMatchObject({ sqlState: '42P01' })
    })

    it('migrations refuse a store of a newer version', async () => {
      await migrate(db(), log, [first, second])
      const error = await migrate(db(), log, [first]).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(SchemaProblem)
      expect((error as Error).message).toBe(
        `the store has migration ${second.name}, which this version does not know: use a newer version`,
      )
    })

    it('migrations refuse a malformed or duplicate name', async () => {
      await expect(migrate(db(), log, [{ ...first, name: 'first' }])).rejects.toThrow(SchemaProblem)
      await expect(migrate(db(), log, [first, first])).rejects.toThrow(SchemaProblem)
    })

    it('migrations of this version apply to an empty store', async () => {
      // Another test file may have left tables in a store that is reused.
      await sql`drop schema public cascade; create schema public`.execute(db().tables())
      const { applied } = await migrate(db(), log)
      expect(applied).toEqual(MIGRATIONS.map(({ name }) => name).sort())
      expect(await migrate(db(), log)).toEqual({ applied: [] })
    })
  })
}
