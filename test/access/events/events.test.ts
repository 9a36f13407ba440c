/** Customers' events over the REST API, and what the store writes of each transaction. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvents } from '../../../src/access/events/read.ts'
import { startEventRetention } from '../../../src/access/events/retention.ts'
import { changeTransfers, insertTransfers, type NewTransfer } from '../../../src/money/transfers/store.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { nextCreationTime } from '../../../src/platform/store/creation-time.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { registerAddress } from '../../support/destinations.ts'
import { moneyViolations } from '../../support/money-oracles.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

const EVENTS = '/v2/events'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

const list = async (who: RestCustomer, query = '') => (await who.call('GET', `${EVENTS}?${query}`)).body
const typesOf = async (who: RestCustomer, query = ''): Promise<readonly string[]> =>
  (await list(who, query)).items.map(({ type }: { type: string }) => type)

function transferOf(who: RestCustomer, changes: Partial<NewTransfer> = {}): Omit<NewTransfer, 'createdAt'> {
  return {
    id: newId(),
    customerId: who.customerId,
    profileId: newId(),
    accountId: null,
    asset: 'USDC',
    amount: 1n,
    direction: 'CREDIT',
    type: 'CRYPTO_DEPOSIT',
    status: 'PENDING',
    groupId: newId(),
    ...changes,
  }
}

const write = (who: RestCustomer, transfers: readonly Omit<NewTransfer, 'createdAt'>[]) =>
  node.db.transaction(async (transaction) => {
    const createdAt = await nextCreationTime(transaction, who.customerId)
    await insertTransfers(
      transaction,
      transfers.map((transfer) => ({ ...transfer, createdAt })),
    )
  })

describe('events', () => {
  it('an event names the changed object, and is found by its id', async () => {
    const { accountId } = await newAccount(customer)
    const { items } = await list(customer, 'types=identity.account.pending')
    expect(items.at(-1)).toEqual({
      id: expect.any(String),
      sequence: expect.any(Number),
      type: 'identity.account.pending',
      source: 'tidegate',
      time: expect.any(String),
      specversion: '1.0',
      subject: `account/${accountId}`,
      object: 'event',
      is_test: false,
      data: { object_type: 'account', id: accountId, status: 'PENDING', changed_at: expect.any(String) },
    })
    const one = await customer.call('GET', `${EVENTS}/${items.at(-1).id}`)
    expect(one.body).toEqual(items.at(-1))
    const other = await node.newCustomer()
    expect((await other.call('GET', `${EVENTS}/${items.at(-1).id}`)).status).toBe(404)
    expect((await customer.call('GET', `${EVENTS}/${newId()}`)).status).toBe(404)
  })

  it('each customer has sequences from 1 on, without a gap, oldest first', async () => {
    const who = await node.newCustomer()
    await newAccount(who)
    await registerAddress(who)
    await write(who, [transferOf(who), transferOf(who, { type: 'CONVERSION', status: 'COMPLETED' })])
    const { items } = await list(who)
    expect(items.map(({ sequence }: { sequence: number }) => sequence)).toEqual([1, 2, 3, 4, 5])
    expect(items.map(({ type }: { type: string }) => type)).toEqual([
      'auth.secret.created',
      'identity.account.pending',
      'transfer.destination.active',
      'transfer.deposit.pending',
      'transfer.transfer.completed',
    ])
    expect(await typesOf(who, 'after=3&limit=1')).toEqual(['transfer.deposit.pending'])
    expect(await typesOf(who, 'order=DESC&limit=1')).toEqual(['transfer.transfer.completed'])
    expect(await typesOf(who, `created_at.gt=${items[4].time}`)).toEqual([])
    const first = await list(who, 'limit=2&after=1')
    expect(await typesOf(who, `limit=2&after=1&page_cursor=${first.next_page_cursor}`)).toEqual([
      'transfer.deposit.pending',
      'transfer.transfer.completed',
    ])
  })

  it('a range of times finds the events within it, also where many have one time and the oldest are deleted', async () => {
    const who = await node.newCustomer()
    const times = [0, 0, 1, 3, 3, 3, 4, 7, 9, 9, 9].map((at) => new Date(Date.UTC(2026, 10, 28, 10) + at).toISOString())
    const tables = node.db.tables()
    await sql`delete from events where customer_id = ${who.customerId}`.execute(tables)
    await sql`
      insert into events (customer_id, sequence, type, object_type, object_id, changed_at, created_at)
      select ${who.customerId}::uuid, 4 + place, 'auth.secret.created', 'secret', gen_random_uuid(), time, time
      from unnest(${times}::timestamptz[]) with ordinality as made (time, place)
    `.execute(tables)
    const sequencesOf = async (query: string): Promise<number[]> =>
      (await list(who, query)).items.map(({ sequence }: { sequence: number }) => sequence)
    for (let from = -1; from <= 10; from++) {
      const ends = [from, from + 2, from + 5]
      for (const [index, until] of ends.entries()) {
        const [low, high] = [from, until].map((at) => new Date(Date.UTC(2026, 10, 28, 10) + at).toISOString())
        const [after, before] = index === 1 ? (['gt', 'lt'] as const) : (['gte', 'lte'] as const)
        const isWithin = (time: string) =>
          (index === 1 ? time > `${low}` : time >= `${low}`) && (index === 1 ? time < `${high}` : time <= `${high}`)
        const wanted = times.flatMap((time, at) => (isWithin(time) ? [5 + at] : []))
        const range = `created_at.${after}=${low}&created_at.${before}=${high}`
        expect([range, await sequencesOf(range)]).toEqual([range, wanted])
        expect([range, await sequencesOf(`${range}&order=DESC&limit=2`)]).toEqual([
          range,
          wanted.toReversed().slice(0, 2),
        ])
      }
    }
  })

  it('an event has every character of a ref_id', async () => {
    const who = await node.newCustomer()
    const refId = 'a\nb\r\t"c" \\n \\ (d,) {e}, €'
    const { id } = (await registerAddress(who)).body
    await sql`update destinations set ref_id = ${refId}, status = 'DELETED' where id = ${id}`.execute(node.db.tables())
    expect((await list(who, 'order=DESC&limit=1')).items[0].data).toMatchObject({ ref_id: refId, status: 'DELETED' })
  })

  it('a transaction makes one event of an object, with its last state, and none when it is rolled back', async () => {
    const who = await node.newCustomer()
    const [kept, lost] = [transferOf(who), transferOf(who)]
    await write(who, [kept])
    const failed = node.db.transaction(async (transaction) => {
      const createdAt = await nextCreationTime(transaction, who.customerId)
      await insertTransfers(transaction, [{ ...lost, createdAt }])
      await changeTransfers(transaction, [{ id: kept.id, status: 'COMPLETED' }])
      throw new Error('rolled back')
    })
    await expect(failed).rejects.toThrow('rolled back')
    await node.db.transaction(async (transaction) => {
      await changeTransfers(transaction, [{ id: kept.id, status: 'COMPLETED' }])
      await changeTransfers(transaction, [{ id: kept.id, secondaryStatus: 'HELD' }])
      await changeTransfers(transaction, [{ id: kept.id, confirmations: 3 }])
    })
    await node.db.transaction((transaction) => changeTransfers(transaction, [{ id: kept.id, confirmations: 4 }]))
    expect(await typesOf(who, 'after=1')).toEqual(['transfer.deposit.pending', 'transfer.deposit.held'])
  })

  it('concurrent transactions of the same customers number their events without a gap or a deadlock', async () => {
    const customers = await Promise.all(Array.from({ length: 3 }, () => node.newCustomer()))
    const rounds = Array.from({ length: 40 }, (_, round) => {
      const order = round % 2 === 0 ? customers : customers.toReversed()
      return node.db.transaction(async (transaction) => {
        const transfers = order.map((who) => ({ ...transferOf(who), createdAt: '2026-11-28T10:00:00.000Z' }))
        for (const transfer of transfers) await insertTransfers(transaction, [transfer])
      })
    })
    await Promise.all(rounds)
    for (const who of customers) {
      const { items } = await list(who)
      expect(items.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
        Array.from({ length: 41 }, (_, at) => at + 1),
      )
    }
  })

  it('a client sees the events whose objects its scopes read', async () => {
    const who = await node.newCustomer(['events:read_event', 'transfer:read_transfer'])
    await write(who, [transferOf(who)])
    await node.db.transaction((transaction) =>
      sql`update accounts set user_disabled = true where customer_id = ${who.customerId}`.execute(transaction),
    )
    expect(await typesOf(who)).toEqual(['auth.secret.created', 'transfer.deposit.pending'])
    const { events } = await readEvents(node.db, { customerId: who.customerId, scopes: new Set() }, 0n)
    expect(events.map(({ type }) => type)).toEqual(['auth.secret.created'])
    const without = await node.newCustomer(['transfer:read_transfer'])
    expect((await without.call('GET', EVENTS)).body.code).toBe('insufficient_scope')
  })

  it('old events are deleted, and asking for them names the oldest kept', async () => {
    const who = await node.newCustomer()
    await write(who, [transferOf(who), transferOf(who), transferOf(who)])
    await sql`update events set created_at = created_at - interval '100 days'
      where customer_id = ${who.customerId} and sequence <= 2`.execute(node.db.tables())
    const { log } = captureLog()
    const retention = startEventRetention({ db: node.db, clock: createSystemClock(), log, days: () => 90 })
    await retention.settled()
    await retention.stop()
    const expired = await who.call('GET', `${EVENTS}?after=1`)
    expect([expired.status, expired.body.code, expired.body.meta]).toEqual([
      410,
      'events_expired',
      { oldest_sequence: 3 },
    ])
    expect((await list(who)).items.length).toBe(2)
    expect((await list(who, 'after=2')).items.length).toBe(2)
    await expect(readEvents(node.db, { customerId: who.customerId, scopes: undefined }, 0n)).rejects.toThrow(
      'sequence 3',
    )
  })

  it('a sequence later than the last one, known from before a restore, is answered as one no longer kept', async () => {
    const who = await node.newCustomer()
    const { sequence: last } = (await list(who)).items.at(-1)
    expect(await typesOf(who, `after=${last}`)).toEqual([])
    const early = await who.call('GET', `${EVENTS}?after=${last + 1}`)
    expect([early.status, early.body.code, early.body.meta]).toEqual([410, 'events_expired', { oldest_sequence: 1 }])
    expect(early.body.detail).toBe(`the oldest event kept has the sequence 1, and the last one ${last}`)
    await expect(
      readEvents(node.db, { customerId: who.customerId, scopes: undefined }, BigInt(last) + 1n),
    ).rejects.toThrow(`the last one ${last}`)
  })

  it('a wrong after, type or order names its parameter', async () => {
    for (const query of ['after=-1', 'after=1e3', 'types=a.b', 'order=UP']) {
      const { status, body } = await customer.call('GET', `${EVENTS}?${query}`)
      expect([status, body.errors[0].parameter]).toEqual([400, query.split('=')[0]])
    }
  })

  it('the oracle finds a change without its event', async () => {
    const who = await node.newCustomer()
    const transfer = transferOf(who)
    await write(who, [transfer])
    await sql`delete from events where customer_id = ${who.customerId} and object_id = ${transfer.id}`.execute(
      node.db.tables(),
    )
    const violations = (await moneyViolations(node.db)).filter(
      (text) => text.includes(transfer.id) || text.includes(who.customerId),
    )
    expect(violations.length).toBeGreaterThanOrEqual(2)
  })
})
