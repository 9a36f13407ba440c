/** Every kind of credit repays what its profile owes in the asset before anything becomes available. */
import { expect, it } from 'vitest'
import { reportFailed } from '../../../src/money/deliveries/reports.ts'
import { post } from '../../../src/money/ledger/ledger.ts'
import type { Posting } from '../../../src/money/ledger/posting.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { conversionPostings } from '../../../src/money/orchestrations/movements.ts'
import { rejectOrchestration } from '../../../src/money/orchestrations/operator-actions.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { stopForReversal } from '../../../src/money/orchestrations/reverse.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { addDeliveries, OPERATOR, recordingOwners } from '../../support/deliveries.ts'
import { addOwner, credit, type Owner } from '../../support/ledger.ts'
import { convertSettings, newOrchestration, startAll } from '../../support/orchestrations.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import { balancesOf, newAddress, newRule, releaseDeposit, report, reportOf, useDepositsNode } from './deposits-node.ts'

const stand = useDepositsNode()
const HUNDRED = 100_000_000n
const SEVEN = 7_000_000n

const postAll = (...postings: Posting[]) => stand.node.db.transaction((transaction) => post(transaction, postings))

/** The profile spent money that was taken back: it owes 7. */
async function owe({ profileId }: Owner, asset: string): Promise<void> {
  const debit = { bucket: 'receivable', profileId } as const
  await postAll({ asset, amount: SEVEN, debit, credit: { bucket: 'external' }, groupId: newId() })
}

/** A completed deposit, or a call of the operator about it. */
async function call(id: string, verb: string, body?: object): Promise<void> {
  const answer = await stand.node.operator('POST', `/deposits/${id}/${verb}`, body)
  expect(answer.status, answer.text).toBe(200)
}

async function convertDue(): Promise<void> {
  const claims = await claimWork(stand.node.db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
  await stand.node.db.transaction((transaction) => convertBatch(transaction, claims, convertSettings()))
}

/** An orchestration of 100 USDC that has not been converted. */
async function started(owner: Owner, changes: Parameters<typeof newOrchestration>[1] = {}, seconds = 60) {
  const wanted = newOrchestration(owner, { sourceAmount: HUNDRED, ...changes })
  const [id = ''] = await startAll(stand.node.db, [wanted], seconds)
  return id
}

const to = ({ profileId }: Owner) => ({ destination: { profile: { profile_id: profileId } } })

/** Prepares 100 USDC that are not available yet; the function it returns makes them available. */
type Kind = (owner: Owner) => Promise<() => Promise<unknown>>

const KINDS: Readonly<Record<string, Kind>> = {
  'a deposit': async ({ profileId }) => {
    const address = await newAddress(stand, profileId)
    return () => report(stand, reportOf(address))
  },
  'a deposit that a rule converts for another profile': async (owner) => {
    const sender = await customerProfile()
    const terms = { destination_asset: 'USDC', ...to(owner) }
    const { address } = (await newRule(stand, sender.profileId, terms)).source.crypto
    return async () => {
      await report(stand, reportOf(address))
      await convertDue()
    }
  },
  'a deposit that is released': async ({ profileId }) => {
    const { id } = await report(stand, reportOf(await newAddress(stand, profileId)))
    await call(id, 'hold', { reason: 'to be checked' })
    return () => releaseDeposit(stand, id)
  },
  'a deposit that is assigned': async ({ profileId }) => {
    const { id } = await report(stand, reportOf(ETHEREUM_ADDRESS))
    return () => call(id, 'assign', { profile_id: profileId, run_rules: false })
  },
  "a conversion's destination": async (owner) => {
    await credit(stand.node.db, owner.profileId, 'USDG', HUNDRED, 'in_transit')
    const amounts = { fee: 0n, remainder: 0n, converted: HUNDRED, outgoing: HUNDRED }
    const wanted = newOrchestration(owner, { sourceAsset: 'USDG', destinationAsset: 'USDC', sourceAmount: HUNDRED })
    return () => postAll(...conversionPostings({ ...wanted, destinationAccountId: owner.accountId }, amounts))
  },
  "a conversion's remainder": async (owner) => {
    await credit(stand.node.db, owner.profileId, 'USDC', HUNDRED, 'in_transit')
    const amounts = { fee: 0n, remainder: HUNDRED, converted: 0n, outgoing: 0n }
    const wanted = newOrchestration(owner)
    return () => postAll(...conversionPostings({ ...wanted, destinationAccountId: owner.accountId }, amounts))
  },
  "another profile's conversion": async (owner) => {
    await started(await customerProfile(), { sourceAsset: 'USDG', destinationAsset: 'USDC', ...to(owner) })
    return convertDue
  },
  "another profile's movement": async (owner) => {
    await started(await customerProfile(), { destinationAsset: 'USDC', ...to(owner) })
    return convertDue
  },
  'an orchestration that fails': async (owner) => {
    const id = await started(owner)
    await sql`
      update orchestrations set waiting_for = 'HOLD', waiting_detail = 'a test', waiting_since = now() where id = ${id}
    `.execute(stand.node.db.tables())
    return () =>
      stand.node.db.transaction((transaction) => rejectOrchestration(transaction, 'operator', id, 'not wanted'))
  },
  'an orchestration whose deposit is reversed': async (owner) => {
    const id = await started(owner, { depositId: newId() })
    return () => stand.node.db.transaction((transaction) => stopForReversal(transaction, id))
  },
  'a delivery that fails': async (owner) => {
    const [id = ''] = await addDeliveries(stand.node.db, owner, 1, { amount: HUNDRED })
    const failure = { reason: 'closed', attempt: 0 }
    return () =>
      stand.node.db.transaction((transaction) => reportFailed(transaction, recordingOwners(), OPERATOR, id, failure))
  },
}

/** A profile of the node's customer. */
async function customerProfile(): Promise<Owner> {
  const owner = await addOwner(stand.node.db)
  const { customerId } = stand.customer
  const { profileId, accountId } = owner
  const tables = stand.node.db.tables()
  await sql`update profiles set customer_id = ${customerId} where id = ${profileId}`.execute(tables)
  await sql`update accounts set customer_id = ${customerId}, identity_id = ${newId()} where id = ${accountId}`.execute(
    tables,
  )
  return { ...owner, customerId }
}

it.each(Object.entries(KINDS))('%s repays the debt of its profile first', async (_, prepare) => {
  const owner = await customerProfile()
  const credited = await prepare(owner)
  await owe(owner, 'USDC')
  await owe(owner, 'USDG')
  await credited()
  const rest = { available: String(HUNDRED - SEVEN), in_transit: '0', held: '0', receivable: '0' }
  expect(await balancesOf(stand, owner.profileId)).toEqual(rest)
  // A debt in another asset stays.
  expect(await balancesOf(stand, owner.profileId, 'USDG')).toMatchObject({ receivable: String(SEVEN) })
})

it("one credit of a batch repays the debt, and a credit from the profile's own debt repays nothing", async () => {
  const owner = await customerProfile()
  await owe(owner, 'USDC')
  const { profileId } = owner
  const external = { bucket: 'external' } as const
  const available = { bucket: 'available', profileId } as const
  const receivable = { bucket: 'receivable', profileId } as const
  const [first, second] = [newId(), newId()]
  await postAll(
    { asset: 'USDC', amount: 4_000_000n, debit: external, credit: available, groupId: first },
    { asset: 'USDC', amount: HUNDRED, debit: external, credit: available, groupId: second },
    // It comes last, and is repaid too.
    { asset: 'USDC', amount: 1_000_000n, debit: receivable, credit: external, groupId: newId() },
  )
  const { rows } = await sql<{ group_id: string; amount: string }>`
    select group_id, amount from postings where credit_bucket = 'receivable' and credit_profile_id = ${profileId}
    order by id
  `.execute(stand.node.db.tables())
  expect(rows).toEqual([
    { group_id: first, amount: '4000000' },
    { group_id: second, amount: '4000000' },
  ])
  await postAll({ asset: 'USDC', amount: SEVEN, debit: receivable, credit: available, groupId: newId() })
  expect(await balancesOf(stand, profileId)).toMatchObject({ available: '103000000', receivable: '7000000' })
})
