/** What customers see of their money: transfers, in lists and alone, and balances. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from '../../../src/money/ledger/ledger.ts'
import { changeTransfers, insertTransfers, type NewTransfer } from '../../../src/money/transfers/store.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { nextCreationTime, nextCreationTimes } from '../../../src/platform/store/creation-time.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { credit } from '../../support/ledger.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

const TRANSFERS = '/v2/transfer/transfers'

let node: RestNode
let customer: RestCustomer
let profileId: string
let accountId: string
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  ;({ profileId, accountId } = await newAccount(customer))
})
afterAll(() => node?.close())

/** Writes transfers of a customer as those who move money do. */
async function write(who: RestCustomer, wanted: readonly Partial<NewTransfer>[]): Promise<readonly string[]> {
  return await node.db.transaction(async (transaction) => {
    const createdAt = await nextCreationTime(transaction, who.customerId)
    const transfers = wanted.map(
      (changes): NewTransfer => ({
        id: newId(),
        customerId: who.customerId,
        profileId,
        accountId: null,
        asset: 'USDC',
        amount: 12_500_000n,
        direction: 'CREDIT',
        type: 'CRYPTO_DEPOSIT',
        status: 'PENDING',
        groupId: newId(),
        createdAt,
        ...changes,
      }),
    )
    await insertTransfers(transaction, transfers)
    return transfers.map(({ id }) => id)
  })
}

const change = (...changes: Parameters<typeof changeTransfers>[1]) =>
  node.db.transaction((transaction) => changeTransfers(transaction, changes))

const get = async (id: string) => (await customer.call('GET', `${TRANSFERS}/${id}`)).body
const list = async (query: string) => (await customer.call('GET', `${TRANSFERS}?${query}`)).body

describe('a transfer', () => {
  it('a transfer has every member that has a value, and the list has the same', async () => {
    const groupId = newId()
    const [id = ''] = await write(customer, [
      {
        accountId,
        asset: 'ETH',
        amount: 1_000_000_000_000_000_001n,
        fee: 20n,
        direction: 'DEBIT',
        type: 'CRYPTO_WITHDRAWAL',
        status: 'COMPLETED',
        secondaryStatus: 'RETURNED',
        disposition: 'ORCHESTRATED',
        cryptoNetwork: 'ETHEREUM',
        cryptoTxHash: '0xabc "quoted"',
        cryptoTxIndex: -1,
        confirmations: 12,
        destinationAddress: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        memo: 'für "Bob" \\ \n',
        groupId,
        metadata: { order: '7', ä: 'ö' },
      },
    ])
    const transfer = await get(id)
    expect(transfer).toEqual({
      id,
      customer_id: customer.customerId,
      profile_id: profileId,
      account_id: accountId,
      asset: 'ETH',
      amount: '1.000000000000000001',
      fee: '0.00000000000000002',
      total: '1.000000000000000021',
      direction: 'DEBIT',
      type: 'CRYPTO_WITHDRAWAL',
      status: 'COMPLETED',
      secondary_status: 'RETURNED',
      disposition: { code: 'ORCHESTRATED' },
      crypto_network: 'ETHEREUM',
      crypto_tx_hash: '0xabc "quoted"',
      crypto_tx_index: -1,
      confirmations: 12,
      destination_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      memo: 'für "Bob" \\ \n',
      group_id: groupId,
      metadata: { order: '7', ä: 'ö' },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: transfer.created_at,
    })
    const { items } = await list(`group_id=${groupId}`)
    expect(JSON.stringify(items)).toBe(JSON.stringify([transfer]))
  })

  it('a transfer omits members without a value', async () => {
    const [id = ''] = await write(customer, [{ amount: 100n }])
    const transfer = await get(id)
    expect(transfer).toMatchObject({ amount: '0.0001', fee: '0', total: '0.0001', metadata: {} })
    expect(Object.keys(transfer)).toEqual(
      'id customer_id profile_id asset amount fee total direction type status group_id metadata created_at updated_at'.split(
        ' ',
      ),
    )
    expect((await list(`ids=${id.toUpperCase()}`)).items).toEqual([transfer])
  })

  it('a transfer changes member by member, and is later updated each time', async () => {
    const [id = '', other = ''] = await write(customer, [{}, {}])
    const first = await get(id)
    await change(
      { id, status: 'COMPLETED', secondaryStatus: 'HELD', disposition: 'HELD', confirmations: 3 },
      { id: other },
    )
    const second = await get(id)
    expect(second).toEqual({
      ...first,
      status: 'COMPLETED',
      secondary_status: 'HELD',
      disposition: { code: 'HELD' },
      confirmations: 3,
      updated_at: second.updated_at,
    })
    await change({ id, secondaryStatus: null, amount: 13_500_000n, cryptoTxHash: '0x1' })
    const third = await get(id)
    const { secondary_status: _, ...rest } = second
    expect(third).toEqual({
      ...rest,
      amount: '13.5',
      total: '13.5',
      crypto_tx_hash: '0x1',
      updated_at: third.updated_at,
    })
    expect([first.updated_at, second.updated_at, third.updated_at]).toEqual(
      [...new Set([first.updated_at, second.updated_at, third.updated_at])].toSorted(),
    )
    await expect(change({ id }, { id })).rejects.toThrow('a call changes each transfer once')
  })
})

describe('the list', () => {
  it('the list of transfers is filtered, by every filter alone and with others, and paged', async () => {
    const who = await node.newCustomer()
    const { profileId: second } = await newAccount(who)
    const groupId = newId()
    const types = ['CRYPTO_DEPOSIT', 'WIRE_WITHDRAWAL', 'CONVERSION'] as const
    const statuses = ['PENDING', 'COMPLETED', 'FAILED'] as const
    const made: { id: string; asset: string; type: string; status: string; profile_id: string; group_id: string }[] = []
    for (let n = 0; n < 12; n++) {
      const wanted = {
        profileId: n % 4 === 0 ? second : profileId,
        asset: n % 2 === 0 ? 'USD' : 'BTC',
        type: types[n % 3] as (typeof types)[number],
        status: statuses[Math.floor(n / 4)] as (typeof statuses)[number],
        ...(n < 3 ? { groupId } : {}),
      }
      const [id = ''] = await write(who, [wanted])
      const { profileId: profile_id, asset, type, status } = wanted
      made.push({ id, asset, type, status, profile_id, group_id: n < 3 ? groupId : '' })
    }
    const filters: Record<string, string[]> = {
      ids: [made[1]?.id ?? '', made[5]?.id ?? '', newId()],
      group_id: [groupId, 'no id'],
      profile_id: [second],
      asset: ['USD', 'XYZ'],
      type: ['CONVERSION', 'CRYPTO_DEPOSIT'],
      status: ['PENDING', 'FAILED'],
    }
    const names = Object.keys(filters)
    const pairs = names.flatMap((name, index) => names.slice(index).map((other) => [...new Set([name, other])]))
    // Last a status that the index of statuses has no transfers of.
    for (const [number, given] of [[], ...pairs, ['status'], ['status', 'type']].entries()) {
      if (number > pairs.length) filters.status = ['COMPLETED', 'FAILED']
      const query = new URLSearchParams(
        given.flatMap((name) => (filters[name] ?? []).map((value): [string, string] => [name, value])),
      )
      const matching = made.filter((one) =>
        given.every((name) => filters[name]?.includes(one[(name === 'ids' ? 'id' : name) as keyof typeof one])),
      )
      const found: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page: { items: { id: string }[]; next_page_cursor?: string } = (
          await who.call('GET', `${TRANSFERS}?order=ASC&limit=5&page_cursor=${cursor}&${query}`)
        ).body
        found.push(...page.items.map(({ id }) => id))
        cursor = page.next_page_cursor
      }
      expect(found, String(query)).toEqual(matching.map(({ id }) => id))
    }
    const first = (await who.call('GET', `${TRANSFERS}?ids=${made[0]?.id}`)).body.items[0]
    const later = (await who.call('GET', `${TRANSFERS}?created_at.gt=${first.created_at}`)).body.items
    expect(later.map(({ id }: { id: string }) => id)).not.toContain(first.id)
    // The oldest: the next one may have been made in the same millisecond.
    const until = (await who.call('GET', `${TRANSFERS}?created_at.lte=${first.created_at}`)).body.items
    expect(until.at(-1)).toEqual(first)
  })

  it('the list of transfers finds changes since a time, wherever they are in the order of the list', async () => {
    const who = await node.newCustomer()
    const ids = await write(who, [{}, {}, { asset: 'BTC' }, {}])
    const [first = '', second = ''] = ids
    const { updated_at: before } = (await who.call('GET', `${TRANSFERS}/${ids[3]}`)).body
    await change({ id: first, status: 'COMPLETED' }, { id: second, confirmations: 2 })
    const changed = await Promise.all([first, second].map((id) => who.call('GET', `${TRANSFERS}/${id}`)))
    const after = changed.map(({ body }) => body.updated_at as string).toSorted()[1]
    const found = async (query: string) =>
      (await who.call('GET', `${TRANSFERS}?order=ASC&${query}`)).body.items.map(({ id }: { id: string }) => id)
    expect(new Set(await found(`updated_at.gt=${before}`))).toEqual(new Set([first, second]))
    expect(await found(`updated_at.gt=${before}&status=COMPLETED`)).toEqual([first])
    expect(await found(`updated_at.lte=${before}&asset=BTC`)).toEqual([ids[2]])
    // Values of one record each, in and out of the range.
    expect(await found(`updated_at.gt=${before}&ids=${first}&ids=${ids[3]}`)).toEqual([first])
    expect(await found(`updated_at.gt=${after}`)).toEqual([])
    expect((await customer.call('GET', `${TRANSFERS}?updated_at.gt=${before}`)).body.items).not.toContainEqual(
      expect.objectContaining({ id: first }),
    )
  })

  it.each([['status=DONE'], ['type=GIFT'], ['ids=1'], ['limit=0'], ['created_at.gt=now'], ['page_cursor=abc']])(
    'the list of transfers refuses %s',
    async (query) => {
      expect((await customer.call('GET', `${TRANSFERS}?${query}`)).status).toBe(400)
    },
  )
})

describe('a customer', () => {
  it('a page of transfers ends early where very many match a filter and few the others, and leads to each once', async () => {
    const other = await node.newCustomer()
    // The oldest, the newest and one in between are of another asset; pages look at 5,000.
    await sql`
      insert into transfers (id, customer_id, profile_id, asset, amount, direction, type, status, group_id, metadata,
        created_at, updated_at)
      select gen_random_uuid(), ${other.customerId}::uuid, ${profileId}::uuid,
        case when i in (1, 6000, 11000) then 'BTC' else 'USDC' end, i, 'CREDIT', 'CONVERSION', 'COMPLETED',
        gen_random_uuid(), '{}', timestamptz '2026-01-01' + i * interval '1 millisecond', now()
      from generate_series(1, 11000) as i
    `.execute(node.db.tables())
    const expected = ['0.00000001', '0.00006', '0.00011']
    for (const order of ['ASC', 'DESC']) {
      const query = `${TRANSFERS}?profile_id=${profileId}&status=COMPLETED&asset=BTC&order=${order}`
      const found: string[] = []
      const counts: number[] = []
      let cursor: string | undefined = ''
      while (cursor !== undefined) {
        const { body } = await other.call('GET', `${query}&page_cursor=${cursor}`)
        found.push(...body.items.map(({ amount }: { amount: string }) => amount))
        counts.push(body.items.length)
        cursor = body.next_page_cursor
      }
      expect(found).toEqual(order === 'ASC' ? expected : expected.toReversed())
      expect(counts).toEqual([1, 1, 1])
    }
  })

  it('a customer finds no transfers and balances of others, and needs the scopes', async () => {
    const [id = ''] = await write(customer, [{}])
    const other = await node.newCustomer()
    for (const path of [`${TRANSFERS}/${id}`, `${TRANSFERS}/${newId()}`, `${TRANSFERS}/1`]) {
      expect((await other.call('GET', path)).body).toMatchObject({ status: 404, code: 'not_found' })
    }
    for (const query of [`ids=${id}`, `profile_id=${profileId}`, '']) {
      expect((await other.call('GET', `${TRANSFERS}?${query}`)).body).toEqual({ items: [] })
    }
    for (const profile of [profileId, newId(), '1']) {
      expect((await other.call('GET', `/v2/profiles/${profile}/balances`)).body).toMatchObject({ code: 'not_found' })
    }
    const without = await node.newClient(customer.customerId, ['identity:read_account'])
    for (const path of [TRANSFERS, `${TRANSFERS}/${id}`, `/v2/profiles/${profileId}/balances`]) {
      expect((await without.call('GET', path)).body).toMatchObject({ status: 403, code: 'insufficient_scope' })
    }
  })

  it("a customer sees a profile's balances by asset; the operator sees its debts too", async () => {
    const { profileId: id } = await newAccount(customer)
    expect((await customer.call('GET', `/v2/profiles/${id}/balances`)).body).toEqual({ items: [] })
    await credit(node.db, id, 'USDC', 10_500_000n)
    await credit(node.db, id, 'BTC', 1n)
    await credit(node.db, id, 'BTC', 100_000_000n, 'held')
    await node.db.transaction((transaction) =>
      post(transaction, [
        {
          asset: 'USDC',
          amount: 2_000_000n,
          debit: { bucket: 'available', profileId: id },
          credit: { bucket: 'in_transit', profileId: id },
          groupId: newId(),
        },
        {
          asset: 'USDC',
          amount: 5n,
          debit: { bucket: 'receivable', profileId: id },
          credit: { bucket: 'available', profileId: id },
          groupId: newId(),
        },
      ]),
    )
    const items = [
      { asset: 'BTC', available: '0.00000001', in_transit: '0', held: '1' },
      { asset: 'USDC', available: '8.500005', in_transit: '2', held: '0' },
    ]
    expect((await customer.call('GET', `/v2/profiles/${id.toUpperCase()}/balances`)).body).toEqual({ items })
    const receivables = ['0', '0.000005']
    expect((await node.operator('GET', `/profiles/${id}/balances`)).body).toEqual({
      items: items.map((item, index) => ({ ...item, receivable: receivables[index] })),
    })
    expect((await node.operator('GET', `/profiles/${newId()}/balances`)).status).toBe(404)
  })
})

describe('times of several customers', () => {
  it('times of several customers are given at once, each its own and never back', async () => {
    const others = [customer, await node.newCustomer()].map(({ customerId }) => customerId)
    const next = () => node.db.transaction((transaction) => nextCreationTimes(transaction, [...others, ...others]))
    const first = await next()
    const second = await next()
    expect([...first.keys()].toSorted()).toEqual(others.toSorted())
    for (const id of others) expect((first.get(id) as string) <= (second.get(id) as string)).toBe(true)
    expect(await node.db.transaction((transaction) => nextCreationTimes(transaction, []))).toEqual(new Map())
  })

  it('transfers of several customers lock them in one order: many with the same customers in other orders all succeed', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, async () => (await node.newCustomer()).customerId))
    const ask = (n: number) =>
      node.db.transaction((transaction) => nextCreationTimes(transaction, n % 2 === 0 ? ids : ids.toReversed()))
    expect(await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)))).toHaveLength(12)
  })
})
