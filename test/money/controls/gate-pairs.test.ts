/**
 * Each pair of gates: a movement that a release has let through one of them still waits for the other, before its
 * conversion and before its payment is handed out.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { GateSettings } from '../../../src/money/controls/gates.ts'
import { handOut } from '../../../src/money/deliveries/hand-out.ts'
import type { DeliveryOwners } from '../../../src/money/deliveries/owner.ts'
import { depositReturns } from '../../../src/money/deposits/returns.ts'
import { GATE_CODES, type GateCode, RELEASABLE_GATES, waitingForOf } from '../../../src/money/gates/model.ts'
import type { Release } from '../../../src/money/gates/release.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../src/money/orchestrations/delivery-results.ts'
import { releaseOrchestration } from '../../../src/money/orchestrations/operator-actions.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { PAYEE } from '../../support/deliveries.ts'
import { OPEN_GATES } from '../../support/gates.ts'
import { addAssets, addOwner, type Owner } from '../../support/ledger.ts'
import {
  convertSettings,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
} from '../../support/orchestrations.ts'
import { openTestStore } from '../../support/test-store.ts'

type Releasable = Release['gates'][number]

let db: Db
let owner: Owner
/** Closes the gates whose rows follow from them. */
let settings: GateSettings

beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, ORCHESTRATED_ASSETS)
})
afterAll(() => db?.close())
beforeEach(async () => {
  settings = {
    ...OPEN_GATES,
    needsAccountApproval: true,
    destinations: { isRequired: true, isSandbox: false },
  }
  owner = await addOwner(db)
  await run(sql`
    insert into destinations (id, kind, customer_id, ref_id, nickname, network, address, address_key, memos, status,
      usable_at, created_at, updated_at)
    values (gen_random_uuid(), 'CRYPTO', ${owner.customerId}, 'payee', 'payee', 'ETHEREUM', ${PAYEE},
      ${PAYEE.toLowerCase()}, '{""}', 'ACTIVE', now(), now(), now())
  `)
})

const run = (statement: ReturnType<typeof sql>) => statement.execute(db.tables())

/** Closes and opens each gate of the owner's payments. */
const GATES: Readonly<Partial<Record<GateCode, (isClosed: boolean) => Promise<unknown>>>> = {
  CUSTOMER_DISABLED: (isClosed) => run(sql`update customers set enabled = ${!isClosed} where id = ${owner.customerId}`),
  ACCOUNT_BLOCKED: (isClosed) =>
    run(sql`update accounts set admin_disabled = ${isClosed} where id = ${owner.accountId}`),
  ACCOUNT_NOT_APPROVED: (isClosed) =>
    run(sql`update accounts set review_status = ${isClosed ? 'PENDING' : 'APPROVED'} where id = ${owner.accountId}`),
  RECEIVABLE: (isClosed) =>
    isClosed
      ? run(sql`insert into balances (profile_id, asset, receivable) values (${owner.profileId}, 'BTC', 1)`)
      : run(sql`delete from balances where profile_id = ${owner.profileId} and asset = 'BTC'`),
  DESTINATION: (isClosed) =>
    run(sql`
      update destinations set status = ${isClosed ? 'PENDING' : 'ACTIVE'} where customer_id = ${owner.customerId}
    `),
  LIMIT: async (isClosed) => {
    const limit = { scope: 'customer', asset: 'USDG', window: 'movement', amount: 1n } as const
    settings = { ...settings, limits: isClosed ? [limit] : [] }
  },
  REVIEW: async (isClosed) => {
    const payments = new Map(isClosed ? [['USDG', 1n]] : [])
    settings = { ...settings, reviewAbove: { ...settings.reviewAbove, payments } }
  },
  SCREENING: async (isClosed) => {
    settings = { ...settings, screening: { validHours: 24 } }
    if (isClosed) return
    await run(sql`
      update screenings set status = 'ALLOWED', decided_at = clock_timestamp(), next_attempt_at = null where customer_id = ${owner.customerId}
    `)
  },
  PAUSED: (isClosed) => run(sql`update controls set paused_assets = ${isClosed ? ['USDG'] : []}::text[] where id = 1`),
}

const setGate = (code: GateCode, isClosed: boolean) => GATES[code]?.(isClosed)

const owners: DeliveryOwners = {
  orchestrations: ORCHESTRATION_DELIVERIES,
  deposits: depositReturns,
  gates: () => settings,
}

async function start(): Promise<string> {
  const destination = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
  const [id = ''] = await startAll(db, [newOrchestration(owner, { destination })])
  return id
}

async function convert(): Promise<void> {
  await run(sql`update orchestration_queue set next_attempt_at = clock_timestamp()`)
  const claims = await claimWork(db, { kinds: ['convert'], limit: 10, claimSeconds: 60 }, ALL_DUE)
  await db.transaction((transaction) => convertBatch(transaction, claims, convertSettings({ gates: settings })))
}

async function handOutDue(): Promise<number> {
  await run(sql`update deliveries set next_attempt_at = clock_timestamp() where status = 'WAITING'`)
  const request = {
    channel: 'manual',
    defaultChannel: 'manual',
    executor: 'treasury',
    limit: 10,
    leaseSeconds: 60,
  } as const
  const handedOut = await db.transaction((transaction) =>
    handOut(transaction, owners, { ...request, isRecent: ALL_DUE }),
  )
  return handedOut.length
}

/** The closed gates that the operator sees. Checks that the customer sees the first reason among them. */
async function closedFor(id: string): Promise<readonly GateCode[]> {
  const { gates, waiting_for } = await orchestrationRow(db, id)
  const found = (gates ?? []) as readonly { readonly code: GateCode; readonly detail: string }[]
  expect(waiting_for).toBe(waitingForOf(found)?.waitingFor ?? null)
  return found.map(({ code }) => code)
}

async function release(id: string, gate: Releasable): Promise<void> {
  const { updated_at } = await orchestrationRow(db, id)
  const body = { gates: [gate], version: updated_at as string, reason: 'checked' }
  await db.transaction((transaction) => releaseOrchestration(transaction, 'operator', id, body, settings))
}

/** Gates that are known only with the amount, after the conversion. */
const OF_AMOUNT: readonly GateCode[] = ['LIMIT', 'REVIEW', 'SCREENING']

const closable = GATE_CODES.filter((code) => code in GATES)
const pairs = RELEASABLE_GATES.filter((code) => code in GATES).flatMap((released) =>
  closable.filter((other) => other !== released).map((other) => [released, other] as const),
)
const inOrder = (codes: readonly GateCode[]) => GATE_CODES.filter((code) => codes.includes(code))

describe('a released movement', () => {
  it.each(pairs.filter((pair) => !pair.some((code) => OF_AMOUNT.includes(code))))(
    'an orchestration released from %s still waits for %s before its conversion',
    async (released, other) => {
      for (const code of [released, other]) await setGate(code, true)
      const id = await start()
      await convert()
      expect(await closedFor(id)).toEqual(inOrder([released, other]))
      await release(id, released)
      expect(await closedFor(id)).toEqual([other])
      await convert()
      expect(await closedFor(id)).toEqual([other])
      await setGate(other, false)
      await convert()
      expect(await orchestrationRow(db, id)).toMatchObject({ step: 'deliver', waiting_for: null, gates: null })
      expect(await handOutDue()).toBe(1)
      await setGate(released, false)
    },
  )

  it.each(pairs)('a payment released from %s still waits for %s before it is handed out', async (released, other) => {
    const id = await start()
    await convert()
    for (const code of [released, other]) await setGate(code, true)
    expect(await handOutDue()).toBe(0)
    expect(await closedFor(id)).toEqual(inOrder([released, other]))
    await release(id, released)
    expect(await closedFor(id)).toEqual([other])
    expect(await handOutDue()).toBe(0)
    expect(await closedFor(id)).toEqual([other])
    await setGate(other, false)
    expect(await handOutDue()).toBe(1)
    expect(await closedFor(id)).toEqual([])
    await setGate(released, false)
  })
})

describe('a closed gate', () => {
  it.each(closable)('%s stops the clock of expires_at', async (code) => {
    const id = await start()
    if (OF_AMOUNT.includes(code)) await convert()
    await setGate(code, true)
    const read = async () => {
      if (OF_AMOUNT.includes(code)) await handOutDue()
      else await convert()
    }
    await read()
    expect(await closedFor(id)).toEqual([code])
    const { expires_at } = await orchestrationRow(db, id)
    await run(sql`update orchestrations set waiting_since = waiting_since - interval '3 days' where id = ${id}`)
    await setGate(code, false)
    await read()
    const after = await orchestrationRow(db, id)
    expect(after).toMatchObject({ status: 'PROCESSING', step: 'deliver', waiting_for: null })
    const moved = Date.parse(after.expires_at as string) - Date.parse(expires_at as string)
    expect(moved).toBeGreaterThanOrEqual(3 * 86_400_000)
  })
})
