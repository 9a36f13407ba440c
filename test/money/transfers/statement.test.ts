/** Statements of profiles: opening, lines and closing fit together exactly, wherever a period begins and ends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InsufficientBalance, post } from '../../../src/money/ledger/ledger.ts'
import type { LedgerAccount, Posting } from '../../../src/money/ledger/posting.ts'
import type { StatementOfAsset } from '../../../src/money/transfers/statement.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

const SEED = Number(process.env.TIDEGATE_SEED ?? 20_261_123)
const ALWAYS = { from: '2000-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z' }
const EXTERNAL: LedgerAccount = { bucket: 'external' }

let node: RestNode
let customer: RestCustomer
let profileId: string
let otherId: string
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  ;({ profileId } = await newAccount(customer))
  ;({ profileId: otherId } = await newAccount(customer))
})
afterAll(() => node?.close())

const of = (bucket: 'available' | 'in_transit' | 'held' | 'receivable', id = profileId): LedgerAccount => ({
  bucket,
  profileId: id,
})

const move = (debit: LedgerAccount, credit: LedgerAccount, amount: bigint, asset = 'USD'): Posting => ({
  asset,
  amount,
  debit,
  credit,
  groupId: newId(),
})

const postAll = (...postings: Posting[]) => node.db.transaction((transaction) => post(transaction, postings))

async function statement({ from, to }: { from: string; to: string }, id = profileId): Promise<StatementOfAsset[]> {
  const answer = await node.operator('GET', `/profiles/${id}/statement?${new URLSearchParams({ from, to })}`)
  expect(answer.status).toBe(200)
  return answer.body.assets
}

/** Cents, or whatever has two decimals. */
const unitsOf = (text: string) => BigInt(Math.round(Number(text) * 100))

it('a statement shows every posting with the balance after it', async () => {
  await postAll(move(EXTERNAL, of('available'), 10_050n))
  await postAll(move(of('available'), of('in_transit'), 5_000n), move(of('available'), of('held', otherId), 50n))
  await postAll(move(of('in_transit'), EXTERNAL, 5_000n), move(of('receivable'), of('available'), 25n))
  const [usd, ...others] = await statement(ALWAYS)
  expect(others).toEqual([])
  const line = { posting_id: expect.stringMatching(/^\d+$/), group_id: expect.any(String) }
  const times = { created_at: expect.any(String), effective_at: expect.any(String) }
  expect(usd).toEqual({
    asset: 'USD',
    opening: { balance: '0', available: '0', in_transit: '0', held: '0', receivable: '0' },
    lines: [
      { ...line, ...times, debit: 'external', credit: 'available', amount: '100.5', change: '100.5', balance: '100.5' },
      { ...line, ...times, debit: 'available', credit: 'in_transit', amount: '50', change: '0', balance: '100.5' },
      {
        ...line,
        ...times,
        debit: 'available',
        credit: 'held',
        credit_profile_id: otherId,
        amount: '0.5',
        change: '-0.5',
        balance: '100',
      },
      { ...line, ...times, debit: 'in_transit', credit: 'external', amount: '50', change: '-50', balance: '50' },
      { ...line, ...times, debit: 'receivable', credit: 'available', amount: '0.25', change: '0', balance: '50' },
    ],
    closing: { balance: '50', available: '50.25', in_transit: '0', held: '0', receivable: '0.25' },
  })
})

it(`a statement adds up over any periods, and ends with the balances (seed ${SEED})`, async () => {
  const random = new Random(SEED)
  const { profileId: id } = await newAccount(customer)
  for (let round = 0; round < 60; round++) {
    const account = () =>
      random.chance(0.4) ? EXTERNAL : of(random.pick(['available', 'in_transit', 'held', 'receivable']), id)
    const postings = Array.from({ length: 1 + random.integer(3) }, () =>
      move(random.chance(0.5) ? EXTERNAL : account(), account(), BigInt(1 + random.integer(500))),
    )
    await postAll(...postings).catch((error: unknown) => {
      if (!(error instanceof InsufficientBalance)) throw error
    })
  }
  const [whole] = await statement(ALWAYS, id)
  const lines = whole?.lines ?? []
  expect(lines.length).toBeGreaterThan(30)
  const cuts = [3, 11, 20, 29].map((index) => lines[index]?.created_at as string)
  const ends = [ALWAYS.from, ...cuts, ALWAYS.to]
  const parts: StatementOfAsset[] = []
  for (const [index, from] of ends.slice(0, -1).entries()) {
    const [part] = await statement({ from, to: ends[index + 1] as string }, id)
    parts.push(part as StatementOfAsset)
  }
  expect(parts.flatMap((part) => part.lines)).toEqual(lines)
  for (const [index, part] of parts.entries()) {
    expect(part.opening).toEqual(parts[index - 1]?.closing ?? whole?.opening)
    const changes = part.lines.reduce((sum, { change }) => sum + unitsOf(change), 0n)
    expect(unitsOf(part.opening.balance) + changes).toBe(unitsOf(part.closing.balance))
  }
  const { balance: _, ...closing } = (whole as StatementOfAsset).closing
  expect((await node.operator('GET', `/profiles/${id}/balances`)).body.items).toEqual([{ asset: 'USD', ...closing }])
})

describe('a statement', () => {
  it('a statement has at most 5,000 lines', async () => {
    const { profileId: id } = await newAccount(customer)
    await sql`
      insert into postings (group_id, asset, amount, debit_bucket, credit_bucket, credit_profile_id, effective_at, created_at)
      select ${newId()}, 'USD', 1, 'external', 'available', ${id}, time, time
      from generate_series(1, 5001) as n, lateral (select '2026-01-01'::timestamptz + n * interval '1 second') as at (time)
    `.execute(node.db.tables())
    await sql`
      insert into balances (profile_id, asset, available, last_posting_id)
      select ${id}, 'USD', 5001, max(id) from postings
    `.execute(node.db.tables())
    const answer = await node.operator('GET', `/profiles/${id}/statement?${new URLSearchParams(ALWAYS)}`)
    expect(answer.body).toMatchObject({
      status: 400,
      errors: [{ parameter: 'to', detail: 'the period has more than 5000 postings. Request a shorter period' }],
    })
    const [most] = await statement({ ...ALWAYS, from: '2026-01-01T00:00:02Z' }, id)
    expect(most?.lines).toHaveLength(5_000)
    expect(most).toMatchObject({ opening: { balance: '0.01' }, closing: { balance: '50.01' } })
  })

  it.each([
    ['', 'from'],
    ['from=2026-01-01T00:00:00Z', 'to'],
    ['from=yesterday&to=2026-01-01T00:00:00Z', 'from'],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
  ])('a statement needs a period: %s', async (query, name) => {
    const { status, body } = await node.operator('GET', `/profiles/${profileId}/statement?${query}`)
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(name)
  })

  it('a statement is of an existing profile', async () => {
    const path = `/profiles/${newId()}/statement?${new URLSearchParams(ALWAYS)}`
    expect((await node.operator('GET', path)).status).toBe(404)
  })
})
