/** Postings in the store: exact with many writers at once, never below zero, never changed; and how wrong ones are found. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { createDeliveries } from '../../../src/money/deliveries/create.ts'
import { decimalsFaults, ensureLedgerAssets, readDecimals } from '../../../src/money/ledger/assets.ts'
import { serviceBalance, writeCheckpoints } from '../../../src/money/ledger/checkpoints.ts'
import { LedgerComparison, type LedgerDifference } from '../../../src/money/ledger/comparison.ts'
import { InsufficientBalance, lockBalances, post } from '../../../src/money/ledger/ledger.ts'
import type { LedgerAccount, Posting, ProfileBucket } from '../../../src/money/ledger/posting.ts'
import { TransferComparison } from '../../../src/money/ledger/transfer-comparison.ts'
import { LedgerUpkeep } from '../../../src/money/ledger/upkeep.ts'
import { readPosition, readReading, rereadOldest } from '../../../src/money/ledger/verified-sums.ts'
import { changeTransfers, insertTransfers } from '../../../src/money/transfers/store.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import type { Config } from '../../../src/service/config/settings.ts'
import { examineLedger } from '../../../src/service/doctor/ledger.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addAssets, addOwner, bookedAsEntries } from '../../support/ledger.ts'
import { Random } from '../../support/random.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const SEED = Number(process.env.TIDEGATE_SEED ?? 20_261_122)
const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 3_000 : 150
const WRITERS = 8
const PROFILES = 4
const ASSETS = ['BTC', 'USD']

const EXTERNAL: LedgerAccount = { bucket: 'external' }

let db: Db
let profiles: readonly string[]
beforeAll(async () => {
  db = await openTestStore({ log: createLog('error') })
  await addAssets(db, { BTC: 8, ETH: 18, USD: 2, USDC: 6 })
})
beforeEach(async () => {
  profiles = await Promise.all(Array.from({ length: PROFILES }, async () => (await addOwner(db)).profileId))
})
afterAll(() => db?.close())

const of = (profileId: string, bucket: ProfileBucket = 'available'): LedgerAccount => ({ bucket, profileId })

const move = (debit: LedgerAccount, credit: LedgerAccount, amount: bigint, asset = 'USD'): Posting => ({
  asset,
  amount,
  debit,
  credit,
  groupId: newId(),
})

const postAll = (...postings: Posting[]) => db.transaction((transaction) => post(transaction, postings))

async function balanceOf(profileId: string, asset = 'USD'): Promise<Record<string, string> | undefined> {
  const { rows } = await sql<Record<string, string>>`
    select available, in_transit, held, receivable from balances where profile_id = ${profileId} and asset = ${asset}
  `.execute(db.tables())
  return rows[0]
}

function gate() {
  let pass = (): void => undefined
  const passed = new Promise<void>((resolve) => {
    pass = resolve
  })
  return { passed, pass }
}

/** Compares the whole ledger, in pieces that are far too small. */
async function compare(pieceRows = 50) {
  const comparison = new LedgerComparison(db, pieceRows)
  while (await comparison.step());
  return comparison
}

describe('postings', () => {
  it('postings move amounts between the buckets of a profile and the service', async () => {
    const [a, b] = profiles as [string, string]
    await postAll(move(EXTERNAL, of(a), 1_000n))
    await postAll(move(of(a), of(a, 'in_transit'), 400n), move(of(a), of(b), 100n), move(of(a), of(a, 'held'), 50n))
    await postAll(move(of(b, 'receivable'), EXTERNAL, 130n), move(of(a, 'in_transit'), { bucket: 'fees' }, 1n))
    expect(await balanceOf(a)).toEqual({ available: '450', in_transit: '399', held: '50', receivable: '0' })
    // What was available has repaid the debt.
    expect(await balanceOf(b)).toEqual({ available: '0', in_transit: '0', held: '0', receivable: '30' })
    expect(await db.transaction((transaction) => serviceBalance(transaction, 'fees', 'USD'))).toBe(1n)
    await postAll(move({ bucket: 'fees' }, EXTERNAL, 1n))
  })

  it('postings that a bucket cannot cover leave everything as it was, and the transaction continues', async () => {
    const [a, b] = profiles as [string, string]
    await postAll(move(EXTERNAL, of(a), 100n))
    const error = await db.transaction(async (transaction) => {
      const failure = await post(transaction, [move(EXTERNAL, of(b), 5n), move(of(a), of(b), 101n)]).catch(
        (reason: unknown) => reason,
      )
      await post(transaction, [move(of(a), of(b), 60n)])
      return failure
    })
    expect(error).toBeInstanceOf(InsufficientBalance)
    expect(error).toMatchObject({ profileId: a, asset: 'USD', bucket: 'available', balance: 100n, needed: 101n })
    expect([await balanceOf(a), await balanceOf(b)]).toMatchObject([{ available: '40' }, { available: '60' }])
  })

  it('postings are net: an amount that a batch takes may have come with it', async () => {
    const [a] = profiles as [string]
    await postAll(move(EXTERNAL, of(a), 10n), move(of(a), EXTERNAL, 10n))
    expect(await balanceOf(a)).toMatchObject({ available: '0' })
  })

  it.each([
    ['update postings set amount = 2', 'postings are never changed'],
    ['delete from postings', 'postings are never changed'],
    ['truncate postings', 'postings are never changed'],
    ["update balances set available = -1 where asset = 'USD'", 'balances_available'],
    ["update balances set receivable = -1 where asset = 'USD'", 'balances_receivable'],
    [
      `insert into postings (group_id, asset, amount, debit_bucket, credit_bucket, effective_at, created_at)
        values (gen_random_uuid(), 'USD', 0, 'external', 'desk', now(), now())`,
      'postings_amount',
    ],
    [
      `insert into postings (group_id, asset, amount, debit_bucket, credit_bucket, effective_at, created_at)
        values (gen_random_uuid(), 'USD', 1, 'available', 'desk', now(), now())`,
      'postings_debit',
    ],
    [
      `insert into postings (group_id, asset, amount, debit_bucket, credit_bucket, effective_at, created_at)
        values (gen_random_uuid(), 'USD', 1, 'external', 'mine', now(), now())`,
      'postings_credit',
    ],
  ])('the store itself refuses %s', async (statement, reason) => {
    await postAll(move(EXTERNAL, of(profiles[0] as string), 1n))
    await expect(sql.raw(statement).execute(db.tables())).rejects.toThrow(reason)
  })

  it('postings of an asset that is not registered are refused', async () => {
    await expect(postAll(move(EXTERNAL, of(profiles[0] as string), 1n, 'XYZ'))).rejects.toMatchObject({
      sqlState: '23503',
    })
  })
})

describe('locked balances', () => {
  it('locked balances are decided on by one transaction at a time', async () => {
    const [a] = profiles as [string]
    await postAll(move(EXTERNAL, of(a), 100n))
    const spendHalf = () =>
      db.transaction(async (transaction) => {
        const balances = await lockBalances(transaction, [{ profileId: a, asset: 'USD' }])
        const half = balances({ profileId: a, asset: 'USD' }).available / 2n
        if (half > 0n) await post(transaction, [move(of(a), EXTERNAL, half)])
      })
    await Promise.all(Array.from({ length: 6 }, spendHalf))
    expect(await balanceOf(a)).toMatchObject({ available: '2' })
  })

  it('locked balances are created where they are missing, and match the request', async () => {
    const [a, b] = profiles as [string, string]
    await db.transaction(async (transaction) => {
      const keys = [
        { profileId: b, asset: 'USD' },
        { profileId: a, asset: 'BTC' },
        { profileId: b, asset: 'USD' },
      ]
      const balances = await lockBalances(transaction, keys)
      expect(balances({ profileId: b, asset: 'USD' })).toEqual({
        available: 0n,
        in_transit: 0n,
        held: 0n,
        receivable: 0n,
      })
      expect(() => balances({ profileId: a, asset: 'USD' })).toThrow('the balance is not locked')
      expect(await lockBalances(transaction, [])).toBeTypeOf('function')
    })
  })
})

describe(`many writers at once (seed ${SEED})`, () => {
  /** Some postings that may or may not be covered. */
  function randomPostings(random: Random): Posting[] {
    return Array.from({ length: 1 + random.integer(4) }, () => {
      const account = (): LedgerAccount =>
        random.chance(0.3)
          ? { bucket: random.pick(['external', 'desk', 'fees', 'unattributed'] as const) }
          : of(random.pick(profiles), random.pick(['available', 'in_transit', 'held'] as const))
      return move(
        random.chance(0.4) ? EXTERNAL : account(),
        account(),
        BigInt(1 + random.integer(50)),
        random.pick(ASSETS),
      )
    })
  }

  it('many writers at once never deadlock, and leave exactly the committed amounts; each comparison meanwhile agrees', async () => {
    const random = new Random(SEED)
    const batches = Array.from({ length: ROUNDS }, () => randomPostings(random))
    const committed: Posting[] = []
    let refused = 0
    const write = async () => {
      for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
        const postings = batch
        try {
          await postAll(...postings)
          committed.push(...postings)
        } catch (error) {
          // Neither a deadlock nor a check of the store: those would fail the test.
          if (!(error instanceof InsufficientBalance)) throw error
          refused++
        }
        if (batches.length % 40 === 0) await writeCheckpoints(db)
        if (batches.length % 50 === 0) expect((await compare(100)).differences).toEqual([])
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, write))
    expect(refused).toBeGreaterThan(0)
    for (const profileId of profiles) {
      for (const asset of ASSETS) {
        for (const bucket of ['available', 'in_transit', 'held'] as const) {
          const expected = committed
            .filter((one) => one.asset === asset)
            .reduce((sum, { amount, debit, credit }) => {
              const isIt = (account: LedgerAccount) =>
                'profileId' in account && account.profileId === profileId && account.bucket === bucket
              return sum + (isIt(credit) ? amount : 0n) - (isIt(debit) ? amount : 0n)
            }, 0n)
          expect((await balanceOf(profileId, asset))?.[bucket] ?? '0').toBe(String(expected))
        }
      }
    }
    await writeCheckpoints(db)
    const { differences, balances } = await compare()
    expect(differences).toEqual([])
    expect(balances).toBeGreaterThan(0)
    const { rows } = await sql`
      select asset from (
        select asset, available + in_transit + held - receivable as sum from balances
        union all select asset, credits - debits from ledger_checkpoints
      ) as accounts group by asset having sum(sum) <> 0
    `.execute(db.tables())
    expect(rows).toEqual([])
  })

  it('many writers at once on the same few balances are refused by the ledger before the store would', async () => {
    const random = new Random(SEED)
    const write = async () => {
      for (let round = 0; round < 60; round++) {
        const [from, to] = [random.pick(profiles), random.pick(profiles)]
        const amount = () => BigInt(1 + random.integer(20))
        const source = random.chance(0.5) ? EXTERNAL : of(from, 'in_transit')
        const postings = [move(source, of(to), amount()), move(of(from), of(to, 'in_transit'), amount())]
        await postAll(...postings).catch((error: unknown) => {
          if (!(error instanceof InsufficientBalance)) throw error
        })
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, write))
    await writeCheckpoints(db)
    expect((await compare(1_000)).differences).toEqual([])
  })

  it('many writers at once create each new balance once', async () => {
    const writes = Array.from({ length: 12 }, (_, n) => {
      const [first, second] = n % 2 === 0 ? [profiles[0], profiles[1]] : [profiles[1], profiles[0]]
      return postAll(move(EXTERNAL, of(first as string), 1n, 'ETH'), move(EXTERNAL, of(second as string), 1n, 'ETH'))
    })
    await Promise.all(writes)
    expect(await balanceOf(profiles[0] as string, 'ETH')).toMatchObject({ available: '12' })
    expect(await balanceOf(profiles[1] as string, 'ETH')).toMatchObject({ available: '12' })
  })
})

describe('checkpoints', () => {
  const deskOf = (asset: string) => db.transaction((transaction) => serviceBalance(transaction, 'desk', asset))
  const checkpoints = async () => {
    const { rows } = await sql<{ last: string }>`
      select distinct last_posting_id as last from ledger_checkpoints
    `.execute(db.tables())
    return rows.map(({ last }) => Number(last))
  }

  it('checkpoints cover all postings, and a balance is the same with them and without', async () => {
    const before = await deskOf('BTC')
    await postAll(move({ bucket: 'desk' }, EXTERNAL, 7n, 'BTC'), move(EXTERNAL, { bucket: 'desk' }, 30n, 'BTC'))
    expect(await deskOf('BTC')).toBe(before + 23n)
    await writeCheckpoints(db)
    const [last, ...others] = await checkpoints()
    const { rows } = await sql<{ id: string }>`select max(id) as id from postings`.execute(db.tables())
    expect([last, others]).toEqual([Number(rows[0]?.id), []])
    expect(await deskOf('BTC')).toBe(before + 23n)
    await postAll(move({ bucket: 'desk' }, EXTERNAL, 3n, 'BTC'))
    expect(await deskOf('BTC')).toBe(before + 20n)
  })

  it('checkpoints never pass a posting that is not committed yet', async () => {
    await writeCheckpoints(db)
    const before = await checkpoints()
    const desk = await deskOf('BTC')
    const posted = gate()
    const release = gate()
    const open = db.transaction(async (transaction) => {
      await post(transaction, [move({ bucket: 'desk' }, EXTERNAL, 5n, 'BTC')])
      posted.pass()
      await release.passed
    })
    await posted.passed
    const others = db.engine === 'postgres' ? 1 : 0
    // One session cannot post beside an open transaction.
    if (others > 0) await postAll(move({ bucket: 'desk' }, EXTERNAL, 1n, 'BTC'))
    const writing = writeCheckpoints(db)
    if (others > 0) {
      await writing
      expect(await checkpoints()).toEqual(before)
    }
    release.pass()
    await Promise.all([open, writing])
    await writeCheckpoints(db)
    expect(await deskOf('BTC')).toBe(desk - 5n - BigInt(others))
  })
})

const byAmount = (differences: readonly LedgerDifference[]) =>
  differences.map(({ kept, recomputed, ...rest }) => ({ ...rest, difference: BigInt(kept) - BigInt(recomputed) }))

describe('the comparison', () => {
  it('the comparison finds a wrong balance, a wrong checkpoint and a missing balance, and only those', async () => {
    const [a, b] = profiles as [string, string]
    await postAll(move(EXTERNAL, of(a), 100n), move(EXTERNAL, of(b, 'held'), 9n), move({ bucket: 'desk' }, of(a), 5n))
    await writeCheckpoints(db)
    expect((await compare()).differences).toEqual([])
    const change = (statement: string) => sql.raw(statement).execute(db.tables())
    await change(`update balances set available = available + 1 where profile_id = '${a}'`)
    await change(`update ledger_checkpoints set debits = debits + 2 where bucket = 'desk' and asset = 'USD'`)
    await change(`delete from balances where profile_id = '${b}'`)
    const { differences } = await compare()
    expect(byAmount(differences)).toEqual([
      { account: 'desk', asset: 'USD', difference: -2n },
      { account: `available of ${a}`, asset: 'USD', difference: 1n },
      { account: `held of ${b}`, asset: 'USD', difference: -9n },
    ])
    await change(`update balances set available = available - 1 where profile_id = '${a}'`)
    await change(`update ledger_checkpoints set debits = debits - 2 where bucket = 'desk' and asset = 'USD'`)
    await change(`insert into balances (profile_id, asset, held, last_posting_id)
      select '${b}', 'USD', 9, max(id) from postings`)
    expect((await compare()).differences).toEqual([])
  })
})

describe('postings that were read before', () => {
  const change = (...statements: readonly string[]) =>
    db.transaction(async (transaction) => {
      await sql`alter table postings disable trigger postings_are_final`.execute(transaction)
      for (const statement of statements) await sql.raw(statement).execute(transaction)
      await sql`alter table postings enable trigger postings_are_final`.execute(transaction)
    })
  const segments = async () => {
    const { rows } = await sql<{ after_id: string; last_id: string; digest: Uint8Array; read_at: string }>`
      select after_id, last_id, digest, read_at from ledger_segments order by after_id
    `.execute(db.tables())
    return rows
  }
  /** As if this much time had passed since postings were read, and sums made; then reads what is due. */
  const readLater = async (after: string) => {
    await sql.raw(`update ledger_segments set read_at = read_at - interval '${after}'`).execute(db.tables())
    await sql.raw(`update ledger_position set began_at = began_at - interval '${after}'`).execute(db.tables())
    while (await rereadOldest(db));
    return (await readReading(db)).changed
  }
  /** Fills segments; returns the id of the credit of this amount in one of them, before which an id is free. */
  const fillSegment = async (profileId: string, amount: bigint) => {
    await postAll(...Array.from({ length: 60 }, () => move(EXTERNAL, of(profileId), 1n)))
    await sql`select nextval(pg_get_serial_sequence('postings', 'id'))`.execute(db.tables())
    await postAll(move(EXTERNAL, of(profileId), amount))
    const { rows } = await sql<{ id: string }>`select max(id) as id from postings`.execute(db.tables())
    await postAll(...Array.from({ length: 60 }, () => move(EXTERNAL, of(profileId), 1n)))
    await writeCheckpoints(db)
    expect((await compare()).differences).toEqual([])
    return Number(rows[0]?.id)
  }

  it('postings that were read before are not read by the next comparison, which continues where the last one ended', async () => {
    const [a] = profiles as [string]
    await fillSegment(a, 100n)
    const before = await segments()
    expect(before.length).toBeGreaterThan(1)
    await postAll(...Array.from({ length: 110 }, () => move(EXTERNAL, of(a), 1n)))
    await writeCheckpoints(db)
    expect((await compare()).differences).toEqual([])
    const after = await segments()
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.length).toBeGreaterThan(before.length)
    expect(after.map(({ after_id }) => after_id)).toEqual(['0', ...after.slice(0, -1).map(({ last_id }) => last_id)])
  })

  it('postings that were read before have the digest of their text, whatever the engine and the settings of its sessions', async () => {
    await fillSegment(profiles[0] as string, 1n)
    const { after_id, last_id, digest } = (await segments()).at(-1) as Awaited<ReturnType<typeof segments>>[number]
    const { rows } = await sql<Record<string, string | null>>`
      select * from postings where id > ${after_id} and id <= ${last_id} order by id
    `.execute(db.tables())
    const text = rows.map((row) =>
      [
        ...[row.id, row.group_id, row.asset, row.amount, row.debit_bucket, row.debit_profile_id ?? ''],
        ...[row.credit_bucket, row.credit_profile_id ?? ''],
        ...[Date.parse(row.effective_at as string), Date.parse(row.created_at as string)],
      ].join('/'),
    )
    expect(Buffer.from(digest).toString('hex')).toBe(createHash('sha256').update(text.join('\n')).digest('hex'))
  })

  const CREDIT = `'${newId()}', 'USD', 100, 'external', null, 'available'`
  it.each([
    [
      'changed',
      'update postings set amount = 107 where id = ID',
      'update postings set amount = 100 where id = ID',
      -7n,
    ],
    [
      'changed in its time alone',
      `update postings set created_at = created_at - interval '1 day' where id = ID`,
      `update postings set created_at = created_at + interval '1 day' where id = ID`,
      0n,
    ],
    ['removed', 'delete from postings where id = ID', 'insert into postings overriding system value ROW', 100n],
    [
      'added',
      `insert into postings (id, group_id, asset, amount, debit_bucket, debit_profile_id, credit_bucket,
        credit_profile_id, effective_at, created_at) overriding system value
      values (ID - 1, ${CREDIT}, 'PROFILE', now(), now())`,
      'delete from postings where id = ID - 1',
      -100n,
    ],
  ])(
    'an earlier posting that was %s is found a day later, and so is its balance',
    async (_, statement, opposite, difference) => {
      const [a] = profiles as [string]
      const id = await fillSegment(a, 100n)
      const { rows } = await sql<Record<string, string | null>>`select * from postings where id = ${id}`.execute(
        db.tables(),
      )
      const row = Object.values(rows[0] as (typeof rows)[number]).map((value) =>
        value === null ? 'null' : `'${value}'`,
      )
      const filled = (text: string) =>
        text.replaceAll('ID', String(id)).replace('PROFILE', a).replace('ROW', `values (${row.join()})`)
      await change(filled(statement))
      const changed = await readLater('1 day')
      expect(changed).toHaveLength(1)
      const [{ first_id = 0, last_id = 0 } = {}] = changed
      // The id before the credit's may be the last one of the earlier segment.
      const changedId = statement.startsWith('insert') ? id - 1 : id
      expect(changedId).toBeGreaterThanOrEqual(Number(first_id))
      expect(changedId).toBeLessThanOrEqual(Number(last_id))
      const found = difference === 0n ? [] : [{ account: `available of ${a}`, asset: 'USD', difference }]
      expect(byAmount((await compare()).differences).filter(({ account }) => account !== 'external')).toEqual(found)
      await change(filled(opposite))
      expect(await readLater('1 minute')).toEqual([])
      expect((await compare()).differences).toEqual([])
    },
  )

  it('sums of earlier postings are made again when a balance differs from them, so a wrong sum is found and repaired', async () => {
    const [a] = profiles as [string]
    await fillSegment(a, 100n)
    await sql`update ledger_sums set amount = amount + 5 where profile_id = ${a}`.execute(db.tables())
    const found = [{ account: `available of ${a}`, asset: 'USD', difference: -5n }]
    expect(byAmount((await compare()).differences)).toEqual(found)
    await readLater('6 hours')
    expect(byAmount((await compare()).differences)).toEqual(found)
    expect((await compare()).differences).toEqual([])
  })

  it('doctor reads all earlier postings again, trusts no sum, finds the changed ones, and changes nothing', async () => {
    const [a, b] = profiles as [string, string]
    await fillSegment(a, 100n)
    const id = await fillSegment(b, 100n)
    await bookedAsEntries(db)
    const doctor = async () => (await examineLedger(db, { assets: [] } as unknown as Config))[0]
    const tables = async () => [await readPosition(db), await segments()]
    const before = await tables()
    expect(await doctor()).toMatchObject({ verdict: 'ok' })
    await sql`update balances set available = available + 5 where profile_id = ${a}`.execute(db.tables())
    await sql`update ledger_sums set amount = amount + 5 where profile_id = ${a}`.execute(db.tables())
    expect((await compare()).differences).toEqual([])
    expect(await doctor()).toMatchObject({
      verdict: 'bad',
      detail: `1 balances or transfers are wrong, such as available of ${a} in USD: 225 stored, 220 by its postings or record`,
    })
    await sql`update balances set available = available - 5 where profile_id = ${a}`.execute(db.tables())
    await sql`update ledger_sums set amount = amount - 5 where profile_id = ${a}`.execute(db.tables())
    const { rows } = await sql<{ effective_at: string }>`select effective_at from postings where id = ${id}`.execute(
      db.tables(),
    )
    await change(`update postings set effective_at = 'epoch' where id = ${id}`)
    const found = await doctor()
    expect(found?.detail).toMatch(/^postings within \d+ to \d+ were changed, added or removed/)
    expect(await tables()).toEqual(before)
    // It may be a millisecond before created_at.
    await change(`update postings set effective_at = '${rows[0]?.effective_at}' where id = ${id}`)
    expect(await doctor()).toMatchObject({ verdict: 'ok' })
  })
})

describe('the comparison of transfers', () => {
  const ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const USDC_ON_ETHEREUM = { asset: 'USDC', amount: 500n } as const

  beforeAll(() => bookedAsEntries(db))

  /** A deposit that was credited, and a delivery that paid it out: their ids. */
  async function depositAndPay(): Promise<{
    readonly deposit: string
    readonly payment: string
    readonly profile: string
  }> {
    const { customerId, profileId, accountId } = await addOwner(db)
    const [deposit, payment, createdAt] = [newId(), newId(), '2026-11-24T00:00:00.000Z']
    const { asset, amount } = USDC_ON_ETHEREUM
    const of = { customerId, profileId, accountId, asset, amount, groupId: deposit, createdAt }
    const [external, inTransit] = [EXTERNAL, { bucket: 'in_transit', profileId }] as const
    await db.transaction(async (transaction) => {
      await sql`
        insert into deposits (id, customer_id, profile_id, asset, amount, status, disposition, network, occurred_at,
          created_at, updated_at)
        values (${deposit}, ${customerId}, ${profileId}, ${asset}, ${amount}, 'COMPLETED', 'NO_RULE', 'ETHEREUM', now(), now(),
          now())
      `.execute(transaction)
      const shown = { direction: 'CREDIT', type: 'CRYPTO_DEPOSIT', status: 'COMPLETED' } as const
      await insertTransfers(transaction, [{ id: deposit, ...of, ...shown }])
      await post(transaction, [{ asset, amount, debit: external, credit: inTransit, groupId: deposit }])
      const destination = { crypto: { network: 'ETHEREUM', address: ADDRESS } } as const
      const owner = { depositId: deposit }
      await createDeliveries(transaction, [
        { id: payment, ...of, owner, destination, failsTo: 'available', metadata: {} },
      ])
    })
    await db.transaction(async (transaction) => {
      await post(transaction, [{ asset, amount, debit: inTransit, credit: external, groupId: payment }])
      await sql`
        update deliveries set status = 'SETTLED', reference = ${payment}, next_attempt_at = null where id = ${payment}
      `.execute(transaction)
      await changeTransfers(transaction, [{ id: payment, status: 'COMPLETED' }])
    })
    return { deposit, payment, profile: profileId }
  }

  /** What it finds about the profile after this statement, which is rolled back. */
  async function found(profile: string, statement: string): Promise<readonly LedgerDifference[]> {
    const differences: LedgerDifference[] = []
    const isUndone = new Error('it is rolled back')
    const planting = db.transaction(async (transaction) => {
      await sql.raw(statement).execute(transaction)
      const pass = new TransferComparison({ tables: () => transaction } as unknown as Db, 100)
      while (await pass.step());
      differences.push(...pass.differences)
      throw isUndone
    })
    await expect(planting).rejects.toBe(isUndone)
    return differences.filter((each) => JSON.stringify(each).includes(profile))
  }

  const settled = (profile: string, amount = 500) => `COMPLETED ${ADDRESS} ${amount} USDC ${profile} 0`
  it.each([
    ['nothing wrong', 'select 1', () => []],
    [
      'a payment with another amount than its transfer',
      `update deliveries set amount = 50000 where id = 'PAYMENT'`,
      ({ payment, profile }: Awaited<ReturnType<typeof depositAndPay>>) => [
        [`transfer ${payment}`, `DEBIT ${settled(profile)}`, `DEBIT ${settled(profile, 50_000)}`],
      ],
    ],
    [
      'a payment to another address than its transfer shows',
      `update deliveries set destination = '{"crypto": {"network": "ETHEREUM", "address": "0x01"}}' where id = 'PAYMENT'`,
      ({ payment, profile }) => [
        [`transfer ${payment}`, `DEBIT ${settled(profile)}`, `DEBIT COMPLETED 0x01 500 USDC ${profile} 0`],
      ],
    ],
    [
      'a payment whose transfer is not COMPLETED',
      `update transfers set status = 'PENDING' where id = 'PAYMENT'`,
      ({ payment, profile }) => [
        [`transfers of ${profile} in ${payment}`, '0', '-500'],
        [`transfer ${payment}`, `DEBIT PENDING ${ADDRESS} 500 USDC ${profile} 0`, `DEBIT ${settled(profile)}`],
      ],
    ],
    [
      'a payment whose transfer shows a fee that was not charged',
      `update transfers set fee = 7 where id = 'PAYMENT'`,
      ({ payment, profile }) => [
        [`transfer ${payment}`, `DEBIT ${settled(profile).replace(/0$/, '7')}`, `DEBIT ${settled(profile)}`],
      ],
    ],
    [
      'nothing wrong where a release before noted the cost of a payment',
      `
        with paid as (update deliveries set fee = 7 where id = 'PAYMENT' returning id)
        update transfers set fee = 7 from paid where transfers.id = paid.id`,
      () => [],
    ],
    [
      'a deposit without its transfer',
      `delete from transfers where id = 'DEPOSIT'`,
      ({ deposit, profile }) => [
        [`transfers of ${profile} in ${deposit}`, '0', '500'],
        [`transfer ${deposit}`, 'none', `CREDIT COMPLETED 500 USDC ${profile}`],
      ],
    ],
    [
      'a deposit with another amount than was credited',
      `update deposits set amount = 499 where id = 'DEPOSIT'`,
      ({ deposit, profile }) => [
        [`transfer ${deposit}`, `CREDIT COMPLETED 500 USDC ${profile}`, `CREDIT COMPLETED 499 USDC ${profile}`],
      ],
    ],
    [
      'a transfer without postings',
      `insert into transfers (id, customer_id, profile_id, asset, amount, direction, type, status, group_id, metadata,
          created_at, updated_at)
        select 'ffffffff-0000-7000-8000-000000000000', customer_id, profile_id, asset, 3, 'CREDIT', 'INTERNAL_TRANSFER',
          'COMPLETED', 'ffffffff-0000-7000-8000-000000000000', '{}', now(), now() from transfers where id = 'DEPOSIT'`,
      ({ profile }) => [[`transfers of ${profile} in ffffffff-0000-7000-8000-000000000000`, '3', '0']],
    ],
  ] as readonly [string, string, (ids: Awaited<ReturnType<typeof depositAndPay>>) => readonly (readonly string[])[]][])(
    'the transfer comparison finds %s',
    async (_, statement, expected) => {
      const ids = await depositAndPay()
      const { deposit, payment, profile } = ids
      const differences = await found(profile, statement.replace('DEPOSIT', deposit).replace('PAYMENT', payment))
      const texts = differences.map(({ account, kept, recomputed }) => [account, kept, recomputed])
      expect(texts.sort()).toEqual([...expected(ids)].sort())
    },
  )
})

describe('the upkeep', () => {
  it('the upkeep compares again and again, counts and names differences, and registers assets that were added', async () => {
    const [a] = profiles as [string]
    await postAll(move(EXTERNAL, of(a), 100n))
    const clock = new VirtualClock()
    const metrics = createMetricsRegistry()
    const { log, lines } = captureLog()
    const logged = () => lines.flatMap((line) => JSON.parse(line).differences ?? [])
    const upkeep = new LedgerUpkeep({ db, clock, log, metrics })
    await bookedAsEntries(db)
    // Small segments, of which one is full.
    await writeCheckpoints(db)
    await compare(1)
    const imbalance = async () => {
      const text = await metrics.getSingleMetricAsString('tidegate_ledger_imbalance')
      return /^tidegate_ledger_imbalance (\d+)$/m.exec(text)?.[1]
    }
    /** Steps until a comparison that began after now is complete. */
    const compareAnew = async () => {
      const before = upkeep.state.compared_at
      await expect
        .poll(() => {
          clock.advance(1_000)
          return upkeep.state.compared_at
        })
        .not.toBe(before)
    }
    upkeep.start()
    await compareAnew()
    expect([upkeep.state.differences, await imbalance(), logged()]).toEqual([[], '0', []])
    expect(upkeep.state.balances).toBeGreaterThan(0)
    await sql`update balances set available = available + 1 where profile_id = ${a}`.execute(db.tables())
    upkeep.registerSoon([{ symbol: 'LATE', decimals: 4 }])
    await compareAnew()
    const difference = { account: `available of ${a}`, asset: 'USD', kept: '101', recomputed: '100' }
    expect([upkeep.state.differences, await imbalance(), logged()]).toEqual([[difference], '1', [difference]])
    expect(upkeep.decimals.get('LATE')).toBe(4)
    await sql`update balances set available = available - 1 where profile_id = ${a}`.execute(db.tables())
    await sql`update ledger_segments set differs = true, read_at = now() where after_id = 0`.execute(db.tables())
    await compareAnew()
    expect([upkeep.state.differences, await imbalance()]).toEqual([[], '1'])
    expect(upkeep.state.changed_postings).toEqual([{ first_id: '1', last_id: expect.any(String) }])
    await sql`update ledger_segments set differs = false`.execute(db.tables())
    await compareAnew()
    expect([upkeep.state.changed_postings, await imbalance()]).toEqual([[], '0'])
    expect(upkeep.state).toMatchObject({
      transfers_compared_at: expect.stringMatching(/Z$/),
      postings_read_at: expect.stringMatching(/Z$/),
    })
    await upkeep.stop()
  })
})

describe('a comparison that does not end', () => {
  it('an endless comparison is overdue after an hour, as the state, a metric and one log line an hour report', async () => {
    const clock = new VirtualClock()
    const metrics = createMetricsRegistry()
    const { log, lines } = captureLog()
    const stopped = Object.create(db, { available: { value: false } }) as Db
    const upkeep = new LedgerUpkeep({ db: stopped, clock, log, metrics })
    const overdue = async () => {
      const text = await metrics.getSingleMetricAsString('tidegate_ledger_comparison_overdue')
      return [upkeep.state.overdue, /^tidegate_ledger_comparison_overdue (\d)$/m.exec(text)?.[1]]
    }
    upkeep.start()
    const steps = (count: number) => {
      for (let step = 0; step < count; step++) clock.advance(1_000)
    }
    steps(3_600)
    expect([await overdue(), lines]).toEqual([[false, '0'], []])
    steps(7_000)
    expect(await overdue()).toEqual([true, '1'])
    const messages = lines.map((line) => JSON.parse(line)).map(({ msg }) => msg)
    expect(messages).toEqual(Array(2).fill('the ledger’s comparison is overdue'))
    await upkeep.stop()
  })
})

describe('decimals', () => {
  it('the decimals of an asset with amounts never change; those of one without may', async () => {
    await postAll(move(EXTERNAL, of(profiles[0] as string), 1n))
    const changed = [
      { symbol: 'USD', decimals: 3 },
      { symbol: 'NEW', decimals: 1 },
    ]
    await db.transaction(async (transaction) => {
      const fault = 'USD has 3 decimals, but its amounts in the ledger have 2. Decimals cannot change'
      expect(await decimalsFaults(transaction, changed)).toEqual([fault])
      expect(await ensureLedgerAssets(transaction, changed)).toEqual([fault])
      expect((await readDecimals(transaction)).get('NEW')).toBeUndefined()
      expect(await ensureLedgerAssets(transaction, [{ symbol: 'NEW', decimals: 1 }])).toEqual([])
      expect(await ensureLedgerAssets(transaction, [{ symbol: 'NEW', decimals: 6 }])).toEqual([])
      expect((await readDecimals(transaction)).get('NEW')).toBe(6)
    })
  })

  it.skipIf(inject('engine') === 'embedded')(
    'the decimals of an asset do not change while another process stores its first amount (needs PostgreSQL)',
    async () => {
      const { customerId } = await addOwner(db)
      const start = (decimals: number) =>
        db.transaction((transaction) => ensureLedgerAssets(transaction, [{ symbol: 'FIRST', decimals }]))
      await start(1)
      const [written, ended] = [gate(), gate()]
      const writer = db.transaction(async (transaction) => {
        await sql`
          insert into limit_overrides (customer_id, scope, asset, "window", amount)
          values (${customerId}, 'customer', 'FIRST', 'day', 1)
        `.execute(transaction)
        written.pass()
        await ended.passed
      })
      await written.passed
      // Without a change it waits for no writer.
      expect(await start(1)).toEqual([])
      const changed = start(2)
      const waiting = sql<{ readonly count: number }>`
        select count(*)::integer as count from pg_locks where relation = 'limit_overrides'::regclass and not granted
      `
      const count = async () => (await waiting.execute(db.tables())).rows[0]?.count
      await expect.poll(count).toBe(1)
      ended.pass()
      await writer
      const fault = 'FIRST has 2 decimals, but its amounts in the ledger have 1. Decimals cannot change'
      expect(await changed).toEqual([fault])
    },
  )
})
