/**
 * The behaviour that every engine of the store must have, as one suite: the test of an engine calls `describeStore`
 * with a function that opens an empty store. Tables are dropped before they are created, so a store may be reused.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listAudit, writeAudit } from '../../../src/platform/store/audit.ts'
import { type Db, type Kysely, StatementFailed, type Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { itemsOf } from '../../support/text-page.ts'
import { describeMigrations } from './conformance-migrations.ts'
import { describePages } from './conformance-pages.ts'

const SETUP_MILLISECONDS_MAX = 60_000

interface Tables {
  item: { id: string | number; amount: number }
}

export type StoreUnderTest = { db: Db }

export function describeStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the store on ${name}`, () => {
    let db: Db
    beforeAll(async () => {
      db = (await open()).db
      const table = sql`create table item (id bigint constraint item_key primary key, amount int not null)`
      await db.transaction(
        async (transaction) => {
          await sql`drop table if exists item`.execute(transaction)
          await table.execute(transaction)
        },
        // The first statement of a store that has just started takes as long as the machine is busy.
        { statementMillisecondsMax: SETUP_MILLISECONDS_MAX },
      )
    })
    afterAll(() => db.close())
    const items = async () =>
      await db.tables<Tables>().selectFrom('item').select(['id', 'amount']).orderBy('id').execute()
    const clear = async () => await db.tables<Tables>().deleteFrom('item').execute()
    const value = async (text: string) => {
      const { rows } = await sql.raw<{ value: unknown }>(`select ${text} as value`).execute(db.tables())
      return rows[0]?.value
    }
    /** Returns the value that the store returns for a parameter of that type. */
    const echo = async (parameter: unknown, type: string) => {
      const { rows } = await sql<{ value: unknown }>`select ${parameter}::${sql.raw(type)} as value`.execute(
        db.tables(),
      )
      return rows[0]?.value
    }

    describe('queries', () => {
      it('queries return rows, and the number of rows written', async () => {
        await clear()
        const inserted = await db
          .tables<Tables>()
          .insertInto('item')
          .values([1, 2, 3].map((id) => ({ id, amount: 5 })))
          .execute()
        expect(inserted.map((result) => result.numInsertedOrUpdatedRows)).toEqual([3n])
        const updated = await db.tables<Tables>().updateTable('item').set({ amount: 6 }).where('id', '>', 1).execute()
        expect(updated.map((result) => result.numUpdatedRows)).toEqual([2n])
        const returned = await db
          .tables<Tables>()
          .deleteFrom('item')
          .where('id', '=', 3)
          .returning(['id', 'amount'])
          .execute()
        expect(returned).toEqual([{ id: '3', amount: 6 }])
        expect(await items()).toEqual([
          { id: '1', amount: 5 },
          { id: '2', amount: 6 },
        ])
        expect(await db.tables<Tables>().selectFrom('item').selectAll().where('id', '=', 9).execute()).toEqual([])
      })

      it('queries accept several statements in one text without parameters', async () => {
        await clear()
        await sql`insert into item values (1, 1); insert into item values (2, 2)`.execute(db.tables())
        expect(await items()).toHaveLength(2)
      })

      it('a failed query names the violated constraint', async () => {
        await clear()
        const insert = () => db.tables<Tables>().insertInto('item').values({ id: 1, amount: 1 }).execute()
        await insert()
        const error = await insert().catch((caught: unknown) => caught)
        expect(error).toBeInstanceOf(StatementFailed)
        expect(error).toMatchObject({ sqlState: '23505', constraint: 'item_key' })
        await expect(sql`select nothing`.execute(db.tables())).rejects.toMatchObject({ sqlState: '42703' })
        expect(await items()).toHaveLength(1)
      })

      it('queries return many rows at once, and none', async () => {
        const { rows } = await sql<{ n: number }>`select n from generate_series(1, 20000) as n`.execute(db.tables())
        expect(rows).toHaveLength(20_000)
        expect(rows.at(-1)).toEqual({ n: 20_000 })
        expect((await sql`select 1 as n where false`.execute(db.tables())).rows).toEqual([])
        expect((await sql`set client_min_messages = warning`.execute(db.tables())).rows).toEqual([])
      })

      it('queries serve many concurrent callers', async () => {
        const results = await Promise.all(Array.from({ length: 200 }, (_, index) => echo(index, 'int4')))
        expect(results).toEqual(Array.from({ length: 200 }, (_, index) => index))
      })
    })

    describe('columns', () => {
      it.each([
        ['9223372036854775807::int8', '9223372036854775807'],
        ['(-9223372036854775808)::int8', '-9223372036854775808'],
        ['2147483647::int4', 2147483647],
        ['(-32768)::int2', -32768],
        ['99999999999999999999.999999999999999999::numeric(38,18)', '99999999999999999999.999999999999999999'],
        ['(-0.000000000000000001)::numeric(38,18)', '-0.000000000000000001'],
        ['1::numeric(38,18)', '1.000000000000000000'],
        ['0.1::float8', 0.1],
        ['true', true],
        ['null::int8', null],
        ["timestamptz '0001-01-01 00:00:00Z'", '0001-01-01T00:00:00.000Z'],
        ["timestamptz '9999-12-31 23:59:59.999999Z'", '9999-12-31T23:59:59.999999Z'],
        ["timestamptz '2026-03-01 00:30:00.5+01:00'", '2026-02-28T23:30:00.500Z'],
        ["timestamptz '2026-03-01 00:00:00.000120Z'", '2026-03-01T00:00:00.000120Z'],
        ["date '0001-01-01'", '0001-01-01'],
        ["date '9999-12-31'", '9999-12-31'],
        [`'{"a":[1,null,{"b":"c"}]}'::jsonb`, { a: [1, null, { b: 'c' }] }],
        [`'[1]'::json`, [1]],
        ["'null'::jsonb", null],
        ['array[9007199254740993, null]::int8[]', ['9007199254740993', null]],
        [`array['a', 'NULL', '', 'x"y\\z', 'p,{q}', ' ', null]`, ['a', 'NULL', '', 'x"y\\z', 'p,{q}', ' ', null]],
        [
          'array[[1,2],[3,4]]',
          [
            [1, 2],
            [3, 4],
          ],
        ],
        ["'{}'::text[]", []],
        ["'[0:1]={7,8}'::int4[]", [7, 8]],
        ["array[timestamptz '2026-01-01Z']", ['2026-01-01T00:00:00.000Z']],
        ["'018F0000-0000-7000-8000-00000000000a'::uuid", '018f0000-0000-7000-8000-00000000000a'],
        ["interval '1 day'", '1 day'],
        ['(-99999999999999999999.999999999999999999)::numeric(38,18)', '-99999999999999999999.999999999999999999'],
        ["array['-9223372036854775808'::int8, 9223372036854775807]", ['-9223372036854775808', '9223372036854775807']],
        ['array[null, \'{"a":[1]}\']::jsonb[]', [null, { a: [1] }]],
        ['\'"\\u00e9"\'::json', 'é'],
      ])('the expression %s is read as its JavaScript value', async (text, expected) => {
        expect(await value(text)).toEqual(expected)
      })

      it.each([
        "timestamptz 'infinity'",
        "timestamptz '-infinity'",
        "timestamptz '0001-01-01 BC'",
        "timestamptz '10000-01-01Z'",
        "date 'infinity'",
        "date '0044-03-15 BC'",
        "'NaN'::numeric",
        "'Infinity'::numeric",
      ])(
        'the value %s, which has no JavaScript representation, is refused, and the store keeps working',
        async (text) => {
          await expect(value(text)).rejects.toBeInstanceOf(StatementFailed)
          expect(await value('1')).toBe(1)
        },
      )
    })

    describe('parameters', () => {
      it.each([
        [-9223372036854775808n, 'int8', '-9223372036854775808'],
        ['9223372036854775807', 'int8', '9223372036854775807'],
        [Number.MAX_SAFE_INTEGER, 'int8', '9007199254740991'],
        ['12345678901234567890.123456789012345678', 'numeric(38,18)', '12345678901234567890.123456789012345678'],
        [0.1, 'float8', 0.1],
        [false, 'boolean', false],
        [null, 'text', null],
        ['2026-11-20T10:11:12.123456+02:00', 'timestamptz', '2026-11-20T08:11:12.123456Z'],
        [new Date('2026-11-20T10:11:12.123Z'), 'timestamptz', '2026-11-20T10:11:12.123Z'],
        [new Date('0001-01-01T00:00:00.000Z'), 'timestamptz', '0001-01-01T00:00:00.000Z'],
        ['Zoë 東京 🜚 \u0001\u007f\uffff \ufeff', 'text', 'Zoë 東京 🜚 \u0001\u007f\uffff \ufeff'],
        ["'; drop table item; --", 'text', "'; drop table item; --"],
        [{ a: 'ü', n: [1, { b: null }], __proto: 1 }, 'jsonb', { a: 'ü', n: [1, { b: null }], __proto: 1 }],
        [JSON.stringify(['a', 'b']), 'jsonb', ['a', 'b']],
        [['a', 'x"y\\z', '', 'NULL', ' ', 'p,{q}', null], 'text[]', ['a', 'x"y\\z', '', 'NULL', ' ', 'p,{q}', null]],
        [[1n, 2n], 'int8[]', ['1', '2']],
        [
          [
            [1, 2],
            [3, 4],
          ],
          'int4[]',
          [
            [1, 2],
            [3, 4],
          ],
        ],
        [[], 'text[]', []],
      ])('parameters pass %o as %s', async (parameter, type, expected) => {
        expect(await echo(parameter, type)).toEqual(expected)
      })

      it('parameters carry bytes, alone and in an array', async () => {
        const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
        expect(Buffer.from((await echo(bytes, 'bytea')) as Uint8Array).equals(bytes)).toBe(true)
        const [first] = (await echo([bytes], 'bytea[]')) as Uint8Array[]
        expect(Buffer.from(first as Uint8Array).equals(bytes)).toBe(true)
      })

      it('parameters carry 1 MiB of text', async () => {
        const text = 'é'.repeat(512 * 1024)
        expect(await echo(text, 'text')).toBe(text)
      })

      it.each([
        ['NUL', 'a\0b'],
        ['a lone high surrogate', 'a\ud83d'],
        ['a lone low surrogate', '\udf1aa'],
        ['NUL in an array', ['a\0']],
        ['NaN', Number.NaN],
        ['infinity', Number.POSITIVE_INFINITY],
        ['an integer that is not exact', 2 ** 53],
        ['undefined', undefined],
        ['a symbol', Symbol('x')],
        ['a map', new Map()],
        ['a time before year 1', new Date('-000001-01-01T00:00:00Z')],
        ['a time after year 9999', new Date('+010000-01-01T00:00:00Z')],
        ['no time', new Date(Number.NaN)],
      ])('parameters refuse %s', async (_, parameter) => {
        await expect(echo(parameter, 'text')).rejects.toThrow(/stored|Invalid time/)
      })

      it('parameters refuse NUL in json', async () => {
        await expect(echo({ a: '\0' }, 'jsonb')).rejects.toMatchObject({ sqlState: '22P05' })
      })

      it('parameters refuse values out of the range of the type', async () => {
        await expect(echo('9223372036854775808', 'int8')).rejects.toMatchObject({ sqlState: '22003' })
      })
    })

    describe('transactions', () => {
      const add = (id: number) => (transaction: Parameters<Parameters<typeof db.transaction<Tables, unknown>>[0]>[0]) =>
        transaction.insertInto('item').values({ id, amount: 0 }).execute()

      it("transactions store everything, and return the work's result", async () => {
        await clear()
        const result = await db.transaction<Tables, string>(async (transaction) => {
          await add(1)(transaction)
          await add(2)(transaction)
          return 'done'
        })
        expect(result).toBe('done')
        expect(await items()).toHaveLength(2)
      })

      it('transactions store nothing when the work throws, and rethrow the error', async () => {
        await clear()
        const problem = new Error('changed my mind')
        const work = db.transaction<Tables, void>(async (transaction) => {
          await add(1)(transaction)
          throw problem
        })
        await expect(work).rejects.toBe(problem)
        expect(await items()).toEqual([])
      })

      it('transactions store nothing when a statement failed, even if the work continues', async () => {
        await clear()
        const work = db.transaction<Tables, string>(async (transaction) => {
          await add(1)(transaction)
          await expect(add(1)(transaction)).rejects.toMatchObject({ sqlState: '23505' })
          await expect(add(2)(transaction)).rejects.toMatchObject({ sqlState: '25P02' })
          return 'all is well'
        })
        await expect(work).rejects.toMatchObject({ sqlState: '25P02' })
        expect(await items()).toEqual([])
        await db.transaction(add(3))
        expect(await items()).toHaveLength(1)
      })

      it('transactions execute statements issued together in order, each with its own result', async () => {
        await clear()
        const count = (transaction: Kysely<Tables>) =>
          sql<{ n: number }>`select count(*)::int as n from item where id > ${0}`.execute(transaction)
        const [before, inserted, both, several, after] = await db.transaction<Tables, readonly unknown[]>(
          (transaction) =>
            Promise.all([
              count(transaction),
              transaction.insertInto('item').values({ id: 1, amount: 0 }).executeTakeFirst(),
              count(transaction),
              sql`insert into item values (2, 2); insert into item values (3, 3)`.execute(transaction),
              count(transaction),
            ]),
        )
        expect([before, both, after]).toEqual([0, 1, 3].map((n) => expect.objectContaining({ rows: [{ n }] })))
        expect(inserted).toMatchObject({ numInsertedOrUpdatedRows: 1n })
        expect(several).toMatchObject({ rows: [] })
        expect(await items()).toHaveLength(3)
      })

      it('transactions do not execute statements issued together with an earlier one that fails', async () => {
        await clear()
        const errors: unknown[] = []
        const work = db.transaction<Tables, void>(async (transaction) => {
          const duplicate = transaction.insertInto('item').values({ id: 1, amount: 0 })
          const results = [add(1)(transaction), duplicate.execute(), add(2)(transaction), add(3)(transaction)]
          for (const result of await Promise.allSettled(results))
            errors.push(result.status === 'rejected' ? result.reason : undefined)
          await Promise.all(results)
        })
        await expect(work).rejects.toMatchObject({ sqlState: '23505', constraint: 'item_key' })
        expect(errors[0]).toBeUndefined()
        expect(errors.slice(1)).toEqual([1, 2, 3].map(() => expect.objectContaining({ sqlState: '23505' })))
        expect(await items()).toEqual([])
        await db.transaction(add(1))
        expect(await items()).toHaveLength(1)
      })

      it('transactions rethrow the first failure, however soon a later statement is known not to be executed', async () => {
        await clear()
        const late = async (transaction: Transaction<Tables>) => {
          try {
            return await add(1)(transaction)
          } finally {
            for (let turn = 0; turn < 20; turn++) await Promise.resolve()
          }
        }
        const work = db.transaction<Tables, unknown>((transaction) =>
          Promise.all([add(1)(transaction), late(transaction), add(2)(transaction)]),
        )
        await expect(work).rejects.toMatchObject({ sqlState: '23505', constraint: 'item_key' })
        expect(await items()).toEqual([])
      })

      it('transactions store nothing that is issued beside a failure, however late', async () => {
        await clear()
        const problem = new Error('changed my mind')
        for (let turns = 0; turns < 60; turns++) {
          const fail = async (transaction: Transaction<Tables>) => {
            await add(1)(transaction)
            throw problem
          }
          let stray: Promise<unknown> = Promise.resolve()
          const goOn = async (transaction: Transaction<Tables>) => {
            await add(2)(transaction)
            for (let turn = 0; turn < turns; turn++) await Promise.resolve()
            await add(3)(transaction)
          }
          const work = db.transaction<Tables, unknown>((transaction) => {
            stray = goOn(transaction)
            return Promise.all([fail(transaction), stray])
          })
          await expect(work).rejects.toBe(problem)
          await Promise.allSettled([stray])
          expect(await items(), `${turns} turns later`).toEqual([])
        }
      })

      it('transactions end, and the next caller is served, when a result cannot be read', async () => {
        await clear()
        const work = db.transaction<Tables, unknown>((transaction) =>
          Promise.all([
            add(1)(transaction),
            sql`select 'infinity'::timestamptz as time where ${1}::int = 1`.execute(transaction),
            add(2)(transaction),
          ]),
        )
        await expect(work).rejects.toMatchObject({ sqlState: '' })
        expect(await items()).toEqual([])
      })

      it('transactions fail on a constraint that is checked only at commit', async () => {
        await sql`drop table if exists part; drop table if exists whole;
          create table whole (id int primary key);
          create table part (whole_id int constraint part_of references whole deferrable initially deferred)`.execute(
          db.tables(),
        )
        const orphan = db.transaction((transaction) => sql`insert into part values (1)`.execute(transaction))
        await expect(orphan).rejects.toMatchObject({ sqlState: '23503', constraint: 'part_of' })
        await db.transaction(async (transaction) => {
          await sql`insert into part values (1)`.execute(transaction)
          await sql`insert into whole values (1)`.execute(transaction)
        })
        expect(await value('(select count(*) from part)')).toBe('1')
      })

      it('transactions lose no concurrent update', async () => {
        await clear()
        await db.transaction(add(1))
        const increment = () =>
          db.transaction<Tables, void>(async (transaction) => {
            const { amount } = await transaction
              .selectFrom('item')
              .select('amount')
              .where('id', '=', 1)
              .forUpdate()
              .executeTakeFirstOrThrow()
            await transaction
              .updateTable('item')
              .set({ amount: amount + 1 })
              .where('id', '=', 1)
              .execute()
          })
        await Promise.all(Array.from({ length: 20 }, increment))
        expect(await items()).toEqual([{ id: '1', amount: 20 }])
      })

      it('transactions never expose a partial transaction', async () => {
        await clear()
        await db
          .tables<Tables>()
          .insertInto('item')
          .values([1, 2].map((id) => ({ id, amount: 50 })))
          .execute()
        const move = (amount: number) =>
          db
            .transaction<Tables, void>(async (transaction) => {
              await sql`update item set amount = amount - ${amount} where id = 1`.execute(transaction)
              await sql`update item set amount = amount + ${amount} where id = 2`.execute(transaction)
              if (amount % 2 === 1) throw new Error('odd')
            })
            .catch((error: Error) => expect(error.message).toBe('odd'))
        const total = () => sql<{ total: string }>`select sum(amount) as total from item`.execute(db.tables())
        const [totals] = await Promise.all([
          Promise.all(Array.from({ length: 40 }, total)),
          Promise.all(Array.from({ length: 20 }, (_, amount) => move(amount))),
        ])
        expect(new Set(totals.map(({ rows }) => rows[0]?.total))).toEqual(new Set(['100']))
        expect((await items())[0]?.amount).toBe(50 - 90)
      })

      it('transactions run their statements in the given order, also without awaiting each', async () => {
        await clear()
        await db.transaction<Tables, void>(async (transaction) => {
          const second = Promise.all([1, 2, 3].map((id) => add(id)(transaction)))
          await sql`update item set amount = 7`.execute(transaction)
          await second
        })
        expect((await items()).map(({ amount }) => amount)).toEqual([7, 7, 7])
      })

      it('transactions refuse a query or transaction on the store while they are open', async () => {
        await clear()
        const beside = db.transaction<Tables, void>(async (transaction) => {
          await add(1)(transaction)
          await items()
        })
        await expect(beside).rejects.toThrow('a query outside the open transaction')
        const inside = db.transaction<Tables, void>(async (transaction) => {
          await add(1)(transaction)
          await db.transaction(add(2))
        })
        await expect(inside).rejects.toThrow('a transaction inside a transaction')
        await expect(db.tables<Tables>().transaction().execute(add(3))).rejects.toThrow('begins with Db.transaction')
        expect(await items()).toEqual([])
      })

      it('transactions refuse statements after their end', async () => {
        await clear()
        const kept = await db.transaction<Tables, { late: () => Promise<unknown> }>(async (transaction) => ({
          late: () => add(1)(transaction),
        }))
        await expect(kept.late()).rejects.toThrow()
        let after: Promise<unknown> | undefined
        let over = () => undefined as unknown
        const ended = new Promise((resolve) => {
          over = () => resolve(undefined)
        })
        await db.transaction<Tables, void>(async () => {
          after = ended.then(items)
        })
        over()
        // Work that was only started inside the transaction and uses the store on its own later is allowed.
        expect(await after).toEqual([])
      })
    })

    describe('notifications', () => {
      async function listening(channel: string) {
        const payloads: string[] = []
        const waiting: { count: number; resolve: () => void }[] = []
        const end = await db.listen(channel, {
          onNotify(payload) {
            payloads.push(payload)
            for (const { count, resolve } of waiting) if (payloads.length >= count) resolve()
          },
          onReconnect: () => undefined,
        })
        const until = (count: number) =>
          payloads.length >= count
            ? Promise.resolve()
            : new Promise<void>((resolve) => {
                waiting.push({ count, resolve })
              })
        return { payloads, until, end }
      }
      const notify = (channel: string, payload: string) => sql`select pg_notify(${channel}, ${payload})`

      it('notifications arrive in the order sent, on their channel only', async () => {
        const one = await listening('one')
        const odd = await listening('Odd "name"')
        for (let index = 0; index < 20; index++) await notify('one', String(index)).execute(db.tables())
        await notify('Odd "name"', 'ü').execute(db.tables())
        await Promise.all([one.until(20), odd.until(1)])
        expect(one.payloads).toEqual(Array.from({ length: 20 }, (_, index) => String(index)))
        expect(odd.payloads).toEqual(['ü'])
        await Promise.all([one.end(), odd.end()])
      })

      it('notifications arrive after the commit, and never after a rollback', async () => {
        const channel = await listening('commits')
        await db.transaction(async (transaction) => {
          await notify('commits', 'first').execute(transaction)
          await sql`select 1`.execute(transaction)
          expect(channel.payloads).toEqual([])
        })
        await channel.until(1)
        const failed = db.transaction(async (transaction) => {
          await notify('commits', 'never').execute(transaction)
          throw new Error('no')
        })
        await expect(failed).rejects.toThrow('no')
        await notify('commits', 'second').execute(db.tables())
        await channel.until(2)
        expect(channel.payloads).toEqual(['first', 'second'])
        await channel.end()
      })

      it('notifications carry up to 7999 bytes, and refuse more without side effects', async () => {
        const channel = await listening('large')
        const largest = `${'é'.repeat(3_999)}x`
        await notify('large', largest).execute(db.tables())
        await expect(notify('large', `${largest}x`).execute(db.tables())).rejects.toMatchObject({ sqlState: '22023' })
        await notify('large', '').execute(db.tables())
        await channel.until(2)
        expect(channel.payloads).toEqual([largest, ''])
        await channel.end()
      })

      it('notifications of overlapping transactions arrive in the order of their commits, each transaction in one piece', async () => {
        const channel = await listening('overlap')
        const writer = (name: string) =>
          db.transaction(async (transaction) => {
            for (let index = 0; index < 5; index++) await notify('overlap', `${name} ${index}`).execute(transaction)
          })
        await Promise.all(['a', 'b', 'c', 'd'].map(writer))
        await channel.until(20)
        for (let index = 0; index < 20; index += 5) {
          const name = channel.payloads[index]?.slice(0, 1)
          expect(channel.payloads.slice(index, index + 5)).toEqual([0, 1, 2, 3, 4].map((n) => `${name} ${n}`))
        }
        await channel.end()
      })

      it('notifications reach every listener until it is removed', async () => {
        const [left, right] = await Promise.all([listening('shared'), listening('shared')])
        await notify('shared', '1').execute(db.tables())
        await Promise.all([left.until(1), right.until(1)])
        await left.end()
        await left.end()
        await notify('shared', '2').execute(db.tables())
        await right.until(2)
        await right.end()
        await notify('shared', '3').execute(db.tables())
        const again = await listening('shared')
        await notify('shared', '4').execute(db.tables())
        await again.until(1)
        await again.end()
        expect([left.payloads, right.payloads, again.payloads]).toEqual([['1'], ['1', '2'], ['4']])
      })

      it('notifications survive a listener that throws', async () => {
        const endBroken = await db.listen('broken', {
          onNotify() {
            throw new Error('a bug in a listener')
          },
          onReconnect: () => undefined,
        })
        const sound = await listening('broken')
        await notify('broken', '1').execute(db.tables())
        await sound.until(1)
        await Promise.all([sound.end(), endBroken()])
      })
    })

    describeMigrations(() => db)
    describePages(() => db)

    describe('the audit trail', () => {
      it('the audit trail has the row of a change exactly when the change was stored', async () => {
        const entry = {
          actor: 'operator',
          action: 'customer.create',
          subject: 'c1',
          detail: { name: 'Zoë', tags: ['a'] },
        }
        await db.transaction((transaction) => writeAudit(transaction, entry))
        const failed = db.transaction(async (transaction) => {
          await writeAudit(transaction, { ...entry, subject: 'c2' })
          throw new Error('no')
        })
        await expect(failed).rejects.toThrow('no')
        await db.transaction((transaction) => writeAudit(transaction, { ...entry, subject: 'c3' }))
        const page = await listAudit(db, { order: 'DESC', limit: 1 })
        expect(itemsOf(page)).toMatchObject([{ ...entry, subject: 'c3' }])
        expect(itemsOf(page)[0]?.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        const next = await listAudit(db, { order: 'DESC', limit: 1, pageCursor: page.next_page_cursor as string })
        expect(itemsOf(next)).toMatchObject([{ ...entry, subject: 'c1' }])
        expect(next).not.toHaveProperty('next_page_cursor')
      })
    })
  })
}
