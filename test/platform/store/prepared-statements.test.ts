/** Prepared statements of the embedded store: they follow the schema, survive errors, and are bounded. */
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PREPARED_STATEMENTS_MAX } from '../../../src/platform/store/limits.ts'
import { PreparedStatements } from '../../../src/platform/store/prepared-statements.ts'

let database: PGlite
let prepared: PreparedStatements
beforeAll(async () => {
  database = await PGlite.create()
  await database.exec('create table item (n int primary key, x text)')
  prepared = new PreparedStatements(database)
})
afterAll(() => database?.close())

const preparedNames = async () => {
  const { rows } = await database.query<{ name: string }>('select name from pg_prepared_statements')
  return rows.map(({ name }) => name)
}
const SELECT = 'select * from item where n = $1'

it('a prepared statement returns its columns, rows, command and row count each time', async () => {
  const insert = 'insert into item values ($1, $2)'
  for (const n of ['1', '2']) {
    expect(await prepared.execute(insert, [n, null])).toMatchObject({ rows: [], command: 'INSERT', rowCount: 1 })
  }
  for (const n of ['1', '2', '3']) {
    expect(await prepared.execute(SELECT, [n])).toMatchObject({
      fields: [{ name: 'n' }, { name: 'x' }],
      rows: n === '3' ? [] : [[n, null]],
      command: 'SELECT',
    })
  }
  expect(await preparedNames()).toHaveLength(2)
})

it('a prepared statement returns a new column after the schema has changed', async () => {
  await prepared.execute(SELECT, ['1'])
  await database.exec("alter table item add column y text default 'new'")
  await prepared.executedOthers(['SELECT', 'ALTER'])
  expect(await prepared.execute(SELECT, ['1'])).toMatchObject({ rows: [['1', null, 'new']] })
})

it('a prepared statement is usable after its errors, and a statement with a wrong text is not kept', async () => {
  const insert = 'insert into item (n) values ($1)'
  await prepared.execute(insert, ['10'])
  await expect(prepared.execute(insert, ['10'])).rejects.toMatchObject({ code: '23505', severity: 'ERROR' })
  expect(await prepared.execute(insert, ['11'])).toMatchObject({ rowCount: 1 })
  const before = await preparedNames()
  await expect(prepared.execute('select wrong from item where n = $1', ['1'])).rejects.toMatchObject({ code: '42703' })
  expect(await preparedNames()).toEqual(before)
})

it('the least recently executed statement is closed where there are too many', async () => {
  await prepared.execute(SELECT, ['1'])
  for (let number = 0; number < PREPARED_STATEMENTS_MAX; number++) {
    await prepared.execute(`select $1::int + ${number}`, ['1'])
    await prepared.execute(SELECT, ['1'])
  }
  expect(await preparedNames()).toHaveLength(PREPARED_STATEMENTS_MAX)
})
