/** Ledger entries through the operator API: what each kind posts, what is refused, and what the desk and statements show. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serviceBalance } from '../../../src/money/ledger/checkpoints.ts'
import { post } from '../../../src/money/ledger/ledger.ts'
import type { LedgerAccount, MinorUnits } from '../../../src/money/ledger/posting.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { addAssets, addOwner, balanceOf, bookedAsEntries, credit, ledgerDifferences } from '../../support/ledger.ts'
import {
  convertSettings,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
} from '../../support/orchestrations.ts'
import { Random } from '../../support/random.ts'
import { type RestAnswer, RestNode } from '../../support/rest.ts'

const SEED = Number(process.env.TIDEGATE_SEED ?? 20_261_124)
const STEPS = process.env.TIDEGATE_LONG === '1' ? 3_000 : 80
const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open({ log: createLog('error'), flags: { 'conversion.desk_limits': '{"USDG": "100"}' } })
  await addAssets(node.db, ORCHESTRATED_ASSETS)
})
afterAll(() => node?.close())

const entries = (method: string, path = '', body?: object) => node.operator(method, `/ledger/entries${path}`, body)

function bodyOf(kind: string, legs: readonly object[], changes: object = {}) {
  return { kind, legs, reference: newId(), reason: 'a test', ...changes }
}

async function book(kind: string, legs: readonly object[], changes: object = {}) {
  return made(await entries('POST', '', bodyOf(kind, legs, changes)))
}

function made(answer: RestAnswer) {
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

async function reverse(id: string) {
  return made(await entries('POST', `/${id}/reverse`, { reason: 'booked twice' }))
}

const serviceSum = (bucket: 'desk' | 'fees', asset: string): Promise<MinorUnits> =>
  node.db.transaction((transaction) => serviceBalance(transaction, bucket, asset))

const move = (debit: LedgerAccount, to: LedgerAccount, amount: MinorUnits, asset: string) =>
  node.db.transaction((transaction) => post(transaction, [{ asset, amount, debit, credit: to, groupId: newId() }]))

/** A profile that owes an amount of USD, in cents. */
async function debtor(amount: MinorUnits): Promise<string> {
  const { profileId } = await addOwner(node.db)
  await move({ bucket: 'receivable', profileId }, { bucket: 'external' }, amount, 'USD')
  return profileId
}

/** A debt beside money, as earlier releases left it. */
async function debtorWithMoney(owed: MinorUnits, available: MinorUnits): Promise<string> {
  const { profileId } = await addOwner(node.db)
  const both = owed < available ? owed : available
  if (owed > both) await move({ bucket: 'receivable', profileId }, { bucket: 'external' }, owed - both, 'USD')
  if (available > both) await credit(node.db, profileId, 'USD', available - both)
  await move({ bucket: 'receivable', profileId }, { bucket: 'available', profileId }, both, 'USD')
  return profileId
}

async function postingsOf(groupId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ text: string }>`
    select debit_bucket || ' -> ' || credit_bucket || ' ' || amount || ' ' || asset as text from postings
    where group_id = ${groupId} order by id
  `.execute(node.db.tables())
  return rows.map(({ text }) => text)
}

async function auditOf(id: string): Promise<readonly string[]> {
  return (await node.operator('GET', `/audit?subject=${id}&order=ASC`)).body.items.map(
    ({ action }: { action: string }) => action,
  )
}

it.each([
  ['desk_hedge', { amount: '3', direction: 'IN' }, ['external -> desk 300 USD', 'desk -> external 7 BTC']],
  ['desk_funding', { amount: '3.10' }, ['external -> desk 310 USD']],
  ['desk_withdrawal', { amount: '0.01', direction: 'OUT' }, ['desk -> external 1 USD']],
  ['network_cost', { amount: '2' }, ['desk -> external 200 USD']],
  ['fee_sweep', { amount: '4' }, ['fees -> external 400 USD']],
  ['debt_repayment', { amount: '5' }, ['available -> receivable 500 USD']],
  ['write_off', { amount: '6' }, ['desk -> receivable 600 USD']],
])('an entry of the kind %s has its accounts, and its reversal the opposite ones', async (kind, leg, postings) => {
  await move({ bucket: 'external' }, { bucket: 'fees' }, 400n, 'USD')
  const profile_id = postings[0]?.includes('receivable') ? await debtorWithMoney(700n, 1_000n) : undefined
  const other = kind === 'desk_hedge' ? [{ asset: 'BTC', amount: '0.00000007', direction: 'OUT' }] : []
  // The legs of a hedge may come in any order.
  const body = bodyOf(kind, [...other, { asset: 'USD', ...leg }], {
    effective_at: '2026-11-01T12:00:00Z',
    ...(profile_id === undefined ? {} : { profile_id }),
  })
  const entry = made(await entries('POST', '', body))
  expect(entry).toMatchObject({ kind, reference: body.reference, effective_at: '2026-11-01T12:00:00.000Z' })
  expect(entry.legs[0]).toMatchObject({ asset: 'USD', amount: leg.amount.replace('.10', '.1') })
  expect(await postingsOf(entry.id)).toEqual(postings)
  const done = await reverse(entry.id)
  expect(done).toEqual({ ...entry, reversed_by: expect.any(String) })
  const opposite = postings.map((text) => text.replace(/(\w+) -> (\w+)/, '$2 -> $1'))
  // The debt is there again, and repaid from what the profile has.
  const reversal = kind === 'write_off' ? [...opposite, 'available -> receivable 600 USD'] : opposite
  expect(await postingsOf(done.reversed_by)).toEqual(reversal)
  expect(await reverse(entry.id)).toEqual(done)
  expect(await postingsOf(done.reversed_by)).toEqual(reversal)
  const record = made(await entries('GET', `/${done.reversed_by}`))
  expect(record).toMatchObject({ kind, reverses: entry.id, reason: 'booked twice' })
  expect(record.reference).toBeUndefined()
  const again = await entries('POST', `/${done.reversed_by}/reverse`, { reason: 'no' })
  expect(again).toMatchObject({ status: 409, body: { code: 'invalid_state', meta: { current: 'REVERSAL' } } })
  expect(await auditOf(entry.id)).toEqual(['ledger_entry.create', 'ledger_entry.reverse'])
  expect(made(await entries('POST', '', body))).toEqual(done)
})

const USD = { asset: 'USD', amount: '1' }

it.each([
  ['desk_hedge', [USD], '/legs'],
  [
    'desk_hedge',
    [
      { ...USD, direction: 'IN' },
      { asset: 'BTC', amount: '1', direction: 'IN' },
    ],
    '/legs',
  ],
  [
    'desk_hedge',
    [
      { ...USD, direction: 'IN' },
      { ...USD, direction: 'OUT' },
    ],
    '/legs',
  ],
  [
    'desk_hedge',
    [
      { ...USD, direction: 'IN' },
      { asset: 'BTC', amount: '1' },
    ],
    '/legs/1/direction',
  ],
  ['desk_funding', [USD, USD], '/legs'],
  ['desk_funding', [], '/legs'],
  ['desk_funding', [{ ...USD, direction: 'OUT' }], '/legs/0/direction'],
  ['desk_funding', [{ ...USD, amount: '0' }], '/legs/0/amount'],
  ['desk_funding', [{ ...USD, amount: '-1' }], '/legs/0/amount'],
  ['desk_funding', [{ ...USD, amount: '1e3' }], '/legs/0/amount'],
  ['desk_funding', [{ ...USD, amount: '0.001' }], '/legs/0/amount'],
  ['desk_funding', [{ ...USD, amount: '9'.repeat(39) }], '/legs/0/amount'],
  ['desk_funding', [{ ...USD, asset: 'XXX' }], '/legs/0/asset'],
  ['desk_funding', [{ ...USD, asset: 'constructor' }], '/legs/0/asset'],
  ['constructor', [USD], '/kind'],
  ['write_off', [{ ...USD, direction: 'OUT' }], '/legs/0/direction'],
  ['write_off', [USD], '/profile_id'],
])('an entry of the kind %s with the legs %j is refused at %s', async (kind, legs, pointer) => {
  const answer = await entries('POST', '', bodyOf(kind, legs))
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.errors[0].pointer).toBe(pointer)
})

it.each([
  [{ profile_id: NO_ONE }, 400, '/profile_id'],
  [{ kind: 'write_off', profile_id: NO_ONE }, 404, '/profile_id'],
  [{ kind: 'write_off', profile_id: 'x' }, 404, '/profile_id'],
  [{ effective_at: 'yesterday' }, 400, '/effective_at'],
  [{ reference: '' }, 400, '/reference'],
  [{ reason: '' }, 400, '/reason'],
  [{ amount: '1' }, 400, '/amount'],
])('an entry with %j is refused with %i', async (changes, status, pointer) => {
  const answer = await entries('POST', '', bodyOf('desk_funding', [USD], changes))
  expect(answer.status, answer.text).toBe(status)
  expect(answer.body.errors[0].pointer).toBe(pointer)
})

it('a reference is booked once, and another content is refused with the entry that has it', async () => {
  const before = await serviceSum('desk', 'USD')
  const body = bodyOf('desk_funding', [USD])
  const answers = await Promise.all(Array.from({ length: 6 }, () => entries('POST', '', body)))
  const [first] = answers.map(made)
  for (const answer of answers) expect(made(answer)).toEqual(first)
  expect(made(await entries('POST', '', { ...body, legs: [{ ...USD, amount: '1.00', direction: 'IN' }] }))).toEqual(
    first,
  )
  const others = [
    { legs: [{ ...USD, amount: '2' }] },
    { kind: 'network_cost' },
    { reason: 'other' },
    { effective_at: '2026-11-01T00:00:00Z' },
  ]
  for (const change of others) {
    const answer = await entries('POST', '', { ...body, ...change })
    expect(answer).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing: first } } })
  }
  expect(await serviceSum('desk', 'USD')).toBe(before + 100n)
})

it('an entry is reversed once by concurrent calls', async () => {
  const before = await serviceSum('desk', 'USD')
  const { id } = await book('desk_funding', [USD])
  const answers = await Promise.all(Array.from({ length: 6 }, () => reverse(id)))
  expect(new Set(answers.map(({ reversed_by }) => reversed_by)).size).toBe(1)
  expect(await serviceSum('desk', 'USD')).toBe(before)
})

it('sweeps take no more than the collected fees, however many run', async () => {
  const left = await serviceSum('fees', 'USDC')
  await move({ bucket: 'external' }, { bucket: 'fees' }, 3_000_000n, 'USDC')
  const sweep = () => entries('POST', '', bodyOf('fee_sweep', [{ asset: 'USDC', amount: '1' }]))
  const answers = await Promise.all(Array.from({ length: 6 }, sweep))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  expect(refused?.body).toMatchObject({ code: 'invalid_state', meta: { available: '0', needed: '1' } })
  expect(await serviceSum('fees', 'USDC')).toBe(left)
})

it('a repayment needs the money and the debt, and a write-off the debt', async () => {
  const profile_id = await debtorWithMoney(700n, 500n)
  const ask = (kind: string, amount: string) =>
    entries('POST', '', bodyOf(kind, [{ asset: 'USD', amount }], { profile_id }))
  expect(await ask('debt_repayment', '7.01')).toMatchObject({
    status: 409,
    body: { code: 'invalid_state', meta: { available: '7', needed: '7.01' } },
  })
  expect(await ask('debt_repayment', '6')).toMatchObject({
    status: 403,
    body: { code: 'insufficient_funds', meta: { available: '5', needed: '6' } },
  })
  expect(await ask('write_off', '7.01')).toMatchObject({ status: 409, body: { meta: { available: '7' } } })
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 500n, receivable: 700n })
  made(await ask('debt_repayment', '5'))
  made(await ask('write_off', '2'))
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 0n, receivable: 0n })
  // Neither is a movement of the customer's own.
  const { rows } = await sql`select id from transfers where profile_id = ${profile_id}`.execute(node.db.tables())
  expect(rows).toEqual([])
  const period = 'from=2000-01-01T00:00:00Z&to=2999-01-01T00:00:00Z'
  const [usd] = made(await node.operator('GET', `/profiles/${profile_id}/statement?${period}`)).assets
  expect(usd.lines.slice(-2)).toMatchObject([
    { debit: 'available', credit: 'receivable', amount: '5', change: '0', balance: '-2' },
    { debit: 'desk', credit: 'receivable', amount: '2', change: '2', balance: '0' },
  ])
})

it('a reversed write-off is repaid from what became available meanwhile, and the rest is owed', async () => {
  const profile_id = await debtor(600n)
  const { id } = await book('write_off', [{ asset: 'USD', amount: '6' }], { profile_id })
  await credit(node.db, profile_id, 'USD', 200n)
  await reverse(id)
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 0n, receivable: 400n })
  await credit(node.db, profile_id, 'USD', 1_000n)
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 600n, receivable: 0n })
})

it('a reversed repayment gives the money and the debt back', async () => {
  const profile_id = await debtorWithMoney(700n, 1_000n)
  const { id } = await book('debt_repayment', [{ asset: 'USD', amount: '5' }], { profile_id })
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 500n, receivable: 200n })
  await reverse(id)
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 1_000n, receivable: 700n })
})

it('concurrent repayments never take more than is owed', async () => {
  const profile_id = await debtorWithMoney(300n, 1_000n)
  const ask = () => entries('POST', '', bodyOf('debt_repayment', [USD], { profile_id }))
  const answers = await Promise.all(Array.from({ length: 6 }, ask))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409, 409])
  expect(await balanceOf(node.db, profile_id, 'USD')).toMatchObject({ available: 700n, receivable: 0n })
})

it('a hedge gives the limit of the desk back', async () => {
  const { pricing } = convertSettings()
  const settings = { ...pricing.settings, deskLimits: new Map([['USDG', 100_000_000n]]) }
  const owner = await addOwner(node.db)
  const start = async (sourceAmount: MinorUnits) =>
    (await startAll(node.db, [newOrchestration(owner, { sourceAmount })]))[0] as string
  const convert = async () => {
    await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(node.db.tables())
    const claims = await claimWork(node.db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
    await node.db.transaction((transaction) =>
      convertBatch(transaction, claims, { ...convertSettings(), pricing: { ...pricing, settings } }),
    )
  }
  const desk = async () =>
    made(await node.operator('GET', '/desk')).items.find(({ asset }: { asset: string }) => asset === 'USDG')
  await start(100_000_000n)
  await convert()
  const waiting = await start(50_000_000n)
  await convert()
  expect(await orchestrationRow(node.db, waiting)).toMatchObject({ waiting_for: 'DESK_LIMIT' })
  expect(await desk()).toMatchObject({ position: '-100', limit: '100', hedge: { side: 'BUY', amount: '100' } })
  const legs = [
    { asset: 'USDG', amount: '100', direction: 'IN' },
    { asset: 'USDC', amount: '100', direction: 'OUT' },
  ]
  await book('desk_hedge', legs)
  expect(await desk()).toMatchObject({ position: '0' })
  await convert()
  expect(await orchestrationRow(node.db, waiting)).toMatchObject({ status: 'COMPLETED' })
  expect(await desk()).toMatchObject({ position: '-50' })
})

it('entries are listed by kind, reference, profile and time, in pages', async () => {
  const profile_id = await debtor(1_000n)
  const cost = await book('network_cost', [USD])
  const offs = [
    await book('write_off', [USD], { profile_id }),
    await book('write_off', [USD], { profile_id, reference: 'a "quoted" \u2028 name & more' }),
  ]
  const idsOf = async (query: string) =>
    made(await entries('GET', `?order=ASC&${query}`)).items.map(({ id }: { id: string }) => id)
  expect(await idsOf(`profile_id=${profile_id}`)).toEqual(offs.map(({ id }) => id))
  expect(await idsOf(`profile_id=${profile_id}&kind=network_cost`)).toEqual([])
  expect(await idsOf(`reference=${cost.reference}`)).toEqual([cost.id])
  expect(await idsOf(`reference=${encodeURIComponent(offs[1]?.reference)}`)).toEqual([offs[1]?.id])
  expect((await idsOf('kind=network_cost')).at(-1)).toBe(cost.id)
  expect(await idsOf('created_at.gt=2999-01-01T00:00:00Z')).toEqual([])
  const page = made(await entries('GET', `?profile_id=${profile_id}&limit=1`))
  expect(page.items).toEqual([offs[1]])
  const next = made(await entries('GET', `?profile_id=${profile_id}&limit=1&page_cursor=${page.next_page_cursor}`))
  expect(next).toEqual({ items: [offs[0]] })
  expect(await entries('GET', '?kind=other')).toMatchObject({ status: 400 })
  expect(await entries('GET', `/${NO_ONE}`)).toMatchObject({ status: 404 })
  expect(await entries('POST', `/${NO_ONE}/reverse`, { reason: 'no' })).toMatchObject({ status: 404 })
})

it(`balances equal an independent model after random entries, credits, debts and reversals (seed ${SEED})`, async () => {
  const random = new Random(SEED)
  const assets = ['USD', 'BTC']
  const owners = [await debtorWithMoney(50_000n, 60_000n), (await addOwner(node.db)).profileId] as const
  const model = new Map<string, bigint>()
  const of = (account: string) => model.get(account) ?? 0n
  const add = (account: string, amount: bigint) => model.set(account, of(account) + amount)
  for (const asset of assets) {
    for (const bucket of ['desk', 'fees'] as const) add(`${bucket} ${asset}`, await serviceSum(bucket, asset))
  }
  add(`available ${owners[0]} USD`, 60_000n)
  add(`owed ${owners[0]} USD`, 50_000n)
  const undo: { readonly id: string; readonly body: object; readonly back: () => void; isDone: boolean }[] = []
  for (let step = 0; step < STEPS; step++) {
    const asset = random.pick(assets)
    const profileId = random.pick(owners)
    const amount = BigInt(random.integer(500) + 1)
    const text =
      asset === 'USD'
        ? `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`
        : `0.${String(amount).padStart(8, '0')}`
    const [available, owed] = [`available ${profileId} ${asset}`, `owed ${profileId} ${asset}`]
    const repay = (most: bigint) => {
      const repaid = [of(owed), of(available), most].reduce((least, each) => (each < least ? each : least))
      add(owed, -repaid)
      add(available, -repaid)
    }
    const change = random.integer(10)
    if (change === 0) {
      await credit(node.db, profileId, asset, amount)
      add(available, amount)
      repay(amount)
    } else if (change === 1) {
      await move({ bucket: 'receivable', profileId }, { bucket: 'external' }, amount, asset)
      add(owed, amount)
      repay(amount)
    } else if (change === 2) {
      await move({ bucket: 'external' }, { bucket: 'fees' }, amount, asset)
      add(`fees ${asset}`, amount)
    } else if (change === 3 && undo.length > 0) {
      const entry = random.pick(undo)
      await reverse(entry.id)
      if (!entry.isDone) entry.back()
      entry.isDone = true
    } else if (change === 4 && undo.length > 0) {
      const { id, body } = random.pick(undo)
      expect(made(await entries('POST', '', body)).id).toBe(id)
    } else {
      const kind = random.pick([
        'desk_hedge',
        'desk_funding',
        'desk_withdrawal',
        'fee_sweep',
        'network_cost',
        'debt_repayment',
        'write_off',
      ])
      const other = asset === 'USD' ? 'BTC' : 'USD'
      const [desk, fees] = [`desk ${asset}`, `fees ${asset}`]
      const effects: Record<string, readonly (readonly [string, bigint])[]> = {
        desk_hedge: [
          [desk, amount],
          [`desk ${other}`, -100n],
        ],
        desk_funding: [[desk, amount]],
        desk_withdrawal: [[desk, -amount]],
        fee_sweep: [[fees, -amount]],
        network_cost: [[desk, -amount]],
        debt_repayment: [
          [available, -amount],
          [owed, -amount],
        ],
        write_off: [
          [desk, -amount],
          [owed, -amount],
        ],
      }
      const isHedge = kind === 'desk_hedge'
      const second = { asset: other, amount: other === 'USD' ? '1' : '0.000001', direction: 'OUT' }
      const legs = isHedge ? [{ asset, amount: text, direction: 'IN' }, second] : [{ asset, amount: text }]
      const isAbout = kind === 'debt_repayment' || kind === 'write_off'
      const body = bodyOf(kind, legs, isAbout ? { profile_id: profileId } : {})
      const changes = effects[kind] ?? []
      const isPossible = changes.every(([account, by]) => account.startsWith('desk') || of(account) + by >= 0n)
      const answer = await entries('POST', '', body)
      expect([200, 403, 409], answer.text).toContain(answer.status)
      expect(answer.status === 200, answer.text).toBe(isPossible)
      if (!isPossible) continue
      for (const [account, by] of changes) add(account, by)
      const back = () => {
        for (const [account, by] of changes) add(account, -by)
        if (kind === 'write_off') repay(amount)
      }
      undo.push({ id: answer.body.id, body, back, isDone: false })
    }
  }
  for (const asset of assets) {
    for (const bucket of ['desk', 'fees'] as const) {
      expect(await serviceSum(bucket, asset), `${bucket} ${asset}`).toBe(of(`${bucket} ${asset}`))
    }
    for (const profileId of owners) {
      const { available, receivable } = await balanceOf(node.db, profileId, asset)
      expect([available, receivable]).toEqual([of(`available ${profileId} ${asset}`), of(`owed ${profileId} ${asset}`)])
    }
  }
  await bookedAsEntries(node.db)
  expect(await ledgerDifferences(node.db)).toEqual([])
})
