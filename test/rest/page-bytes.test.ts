/**
 * Pages end at 2 MiB, on both engines, in all lists; and the text that the store returns for a record in a list equals,
 * byte for byte, the record on its own.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PAGE_BYTES_MAX } from '../../src/platform/store/page.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { OPERATOR_TOKEN, type RestAnswer, type RestCustomer, RestNode } from '../support/rest.ts'
import { ADDRESSES, RULES, ruleBody } from '../support/rules.ts'
import { acceptInventedAnswers } from '../support/validated-answers.ts'

const ACCOUNTS = '/v2/identity/accounts'
/** Every character that JSON escapes, characters of two, three and four bytes, and text that resembles JSON. */
const HOSTILE = '"\\/\b\f\n\r\t\u0001\u001f\u007f\u2028é東🜚 {"a":1}, null'
const METADATA = `{"big":12345678901234567890,"one":1.0,"nothing":null,"text":${JSON.stringify(HOSTILE)},"deep":[{"x":[]}]}`

let node: RestNode
let customer: RestCustomer

beforeAll(async () => {
  node = await RestNode.open({ flags: ALL_KEYS })
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

/** Without the comparison with the document: members of these records are longer than requests may have them. */
async function ofOperator(path: string): Promise<RestAnswer> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  const response = await fetch(`${node.operatorUrl}/admin/v1${path}`, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

/** Compact JSON with the members in their order. */
const compact = (value: unknown) => JSON.stringify(value)

async function allPages(call: (query: string) => Promise<RestAnswer>): Promise<RestAnswer[]> {
  const pages: RestAnswer[] = []
  let query = 'limit=1000'
  for (;;) {
    const page = await call(query)
    expect(page.status, page.text).toBe(200)
    pages.push(page)
    const cursor: string | undefined = page.body.next_page_cursor
    if (cursor === undefined) return pages
    query = `limit=1000&page_cursor=${cursor}`
  }
}

/** Reads all pages: each is as full as allowed, and every record comes once, in order. */
function expectFullPages(pages: readonly RestAnswer[], count: number, bytesMax = PAGE_BYTES_MAX): void {
  const items = pages.flatMap(({ body }) => body.items as { id: string; created_at: string }[])
  expect(new Set(items.map(({ id }) => id)).size).toBe(count)
  expect(items).toHaveLength(count)
  const keys = items.map(({ created_at, id }) => `${created_at} ${id}`)
  expect(keys).toEqual([...keys].sort().reverse())
  expect(pages.length).toBeGreaterThan(1)
  for (const [index, { body }] of pages.entries()) {
    const bytes = body.items.reduce((sum: number, item: unknown) => sum + Buffer.byteLength(compact(item)) + 1, 0)
    expect(bytes).toBeLessThanOrEqual(bytesMax)
    expect(body.items.length).toBeGreaterThan(0)
    const next = pages[index + 1]?.body.items[0]
    // Less than the whitespace that the store leaves in a json value, and the sizes that it knows only approximately.
    if (next !== undefined) expect(bytes + Buffer.byteLength(compact(next))).toBeGreaterThan(bytesMax * 0.9)
  }
}

describe('the text of a record in a list', () => {
  it('an account in a list has the same text as on its own, for the customer and for the operator', async () => {
    const bodies = [
      `{"account":{"identity_id":"plain"}}`,
      `{"account":{"identity_id":${JSON.stringify(HOSTILE)},"ref_id":${JSON.stringify(`${HOSTILE} ref`)},
        "description":${JSON.stringify(HOSTILE)},"metadata":${METADATA},
        "members":[{"identity_id":${JSON.stringify(HOSTILE)},"roles":["FINANCIAL_ADVISOR","BENEFICIAL_OWNER"]},
          {"identity_id":"nobody","roles":[]}]},"create_profile":true}`,
    ]
    for (const body of bodies) {
      const { body: account } = await customer.call('POST', ACCOUNTS, body, { 'content-type': 'application/json' })
      if (bodies.indexOf(body) === 1) {
        await customer.call('PUT', ACCOUNTS, { id: account.id, set_user_disabled: true })
      }
      const alone = await customer.call('GET', `${ACCOUNTS}/${account.id}`)
      const listed = await customer.call('GET', `${ACCOUNTS}?limit=1`)
      expect(itemTextOf(listed.text)).toBe(`${alone.text.replace(/,"summary_status":.*$/, '')}}`)
      const reviewed = await node.operator('GET', `/accounts/${account.id}`)
      expect(itemTextOf((await node.operator('GET', '/accounts?limit=1')).text)).toBe(reviewed.text)
    }
  })

  it('a deposit address in a list has the text with which it was created', async () => {
    const { profile_id } = await newProfile()
    for (const more of [
      { crypto_network: 'ETHEREUM' },
      { crypto_network: 'BITCOIN', ref_id: HOSTILE, identity_id: HOSTILE, metadata: { [HOSTILE]: HOSTILE, b: '' } },
    ]) {
      const made = await customer.call('POST', ADDRESSES, { profile_id, ...more })
      expect(made.status, made.text).toBe(200)
      const listed = await customer.call('GET', `${ADDRESSES}?limit=1`)
      expect(compact(listed.body.items[0])).toBe(compact(made.body))
    }
  })

  it('a rule in a list has the text with which it was created, for the customer and for the operator', async () => {
    const { profile_id } = await newProfile()
    const destination = { crypto: { address: '0x52908400098527886E0F7030069857D2E4169EE7', network: 'ETHEREUM' } }
    for (const more of [
      { source: { profile: { profile_id } } },
      { source: { crypto: { network: 'ETHEREUM' } }, nickname: HOSTILE, identity_id: HOSTILE },
      { source: { crypto: { network: 'ETHEREUM' } }, destination_asset: 'USDC', destination },
      { destination_asset: 'USD', destination: { fiat: { fiat_account_id: HOSTILE, memo: HOSTILE } } },
    ]) {
      const ref_id = `${HOSTILE} ${JSON.stringify(more).length}`
      const made = await customer.call('POST', RULES, ruleBody(profile_id, { ref_id, ...more }))
      expect(made.status, made.text).toBe(200)
      const { body } = await customer.call('GET', `${RULES}?limit=1`)
      expect(compact(body.items[0])).toBe(compact(made.body.rule))
      expect(body.rules).toEqual(body.items)
      const { body: all } = await node.operator('GET', '/rules?limit=1')
      const { body: deleted } = await node.operator('POST', `/rules/${made.body.rule.id}/delete`, {})
      expect(compact({ ...all.items[0], status: 'DELETED' })).toBe(compact(deleted))
    }
  })
})

describe('a page of large records ends at 2 MiB', () => {
  let rich: RestCustomer
  const COUNT = 60

  beforeAll(async () => {
    rich = await node.newCustomer()
    const owner = sql`${rich.customerId}::uuid`
    const id = (kind: string) => sql`md5(${`${kind} ${rich.customerId} `} || i)::uuid`
    const time = sql`timestamptz '2026-01-01 00:00:00Z' + (i / 3) * interval '1 millisecond'`
    const db = node.db.tables()
    // 110 KB: identities and metadata that do not compress.
    const text = (length: number) => sql`repeat(${'é'}, ${length}::int)`
    await sql`insert into profiles (id, customer_id, type, created_at) select ${id('profile')}, ${owner}, 'NORMAL', ${time}
      from generate_series(0, 0) as i`.execute(db)
    await sql`insert into accounts select ${id('account')}, ${owner}, 'rich', null, ${text(1_000)},
      '{"a":"' || (select string_agg(md5(i || '.' || n), '') from generate_series(1, 500) as n) || '"}',
      (select jsonb_agg(member) from (select jsonb_build_object('id', ${id('member')}, 'identity_id', ${text(200)},
        'roles', '[]'::jsonb) as member from generate_series(1, 200)) as members), 'BROKERAGE', 'PENDING', false, false, null, ${time}, ${time}
      from generate_series(0, ${COUNT - 1}::int) as i`.execute(db)
    await sql`insert into deposit_addresses select ${id('address')}, ${owner}, md5(${`profile ${rich.customerId} 0`})::uuid,
      null, ${text(200)}, 'ref ' || i, 'BITCOIN', 'bitcoin', ${rich.customerId} || i, 'NO_CONVERSION',
      jsonb_build_object('x', ${text(40_000)}), ${time} from generate_series(0, ${COUNT - 1}::int) as i`.execute(db)
    await sql`insert into rules select ${id('rule')}, ${owner}, 'ref ' || i, ${text(20_000)},
      md5(${`profile ${rich.customerId} 0`})::uuid, null, null, 'ACTIVE', 'USD', 'USD',
      jsonb_build_object('profile', jsonb_build_object('profile_id', 'p')),
      jsonb_build_object('fiat', jsonb_build_object('fiat_account_id', ${text(20_000)})), null, null, null, ${time}
      from generate_series(0, ${COUNT - 1}::int) as i`.execute(db)
    await sql`insert into audit (actor, action, subject, detail) select 'rich', 'test', ${rich.customerId},
      jsonb_build_object('x', ${text(40_000)}) from generate_series(1, ${COUNT}::int)`.execute(db)
    await sql`insert into customers (id, name, streaming, created_at) select ${id('customer')}, i || ${text(40_000)}, false,
      ${time} from generate_series(1, ${COUNT}::int) as i`.execute(db)
  })

  it('a page of large records ends at 2 MiB in the list of accounts, also by the time of change', async () => {
    expectFullPages(await allPages((query) => rich.call('GET', `${ACCOUNTS}?${query}`)), COUNT)
    const changed = 'updated_at.gte=2026-01-01T00:00:00Z'
    expectFullPages(await allPages((query) => rich.call('GET', `${ACCOUNTS}?${changed}&${query}`)), COUNT)
  })

  it('a page of large records ends at 2 MiB in the list of deposit addresses, also with filters', async () => {
    expectFullPages(await allPages((query) => rich.call('GET', `${ADDRESSES}?${query}`)), COUNT)
    const network = `identity_ids=${encodeURIComponent('é'.repeat(200))}`
    expectFullPages(await allPages((query) => rich.call('GET', `${ADDRESSES}?${network}&${query}`)), COUNT)
  })

  it('a page of large records ends at 2 MiB in the list of rules, with both members that contain them', async () => {
    // Their destinations are longer than any that is accepted.
    acceptInventedAnswers()
    const pages = await allPages((query) => rich.call('GET', `${RULES}?${query}`))
    expectFullPages(pages, COUNT, PAGE_BYTES_MAX / 2)
    for (const { text } of pages) expect(Buffer.byteLength(text)).toBeLessThan(PAGE_BYTES_MAX + 1_000)
  })

  it.each(['accounts', 'rules', 'audit', 'customers'])(
    'a page of large records ends at 2 MiB in the operator’s list of %s',
    async (list) => {
      if (list === 'rules') acceptInventedAnswers()
      const pages = await allPages((query) => ofOperator(`/${list}?${query}`))
      const count = pages.reduce((sum, { body }) => sum + body.items.length, 0)
      expect(count).toBeGreaterThanOrEqual(COUNT)
      for (const { text } of pages) expect(Buffer.byteLength(text)).toBeLessThan(PAGE_BYTES_MAX + 1_000)
      expect(pages.length).toBeGreaterThan(1)
    },
  )

  it('a page contains at least one record, however large', async () => {
    const { customerId } = rich
    await sql`update accounts set description = repeat('x', 3000000) where customer_id = ${customerId}
      and id = (select id from accounts where customer_id = ${customerId} order by created_at desc, id desc offset 1 limit 1)`.execute(
      node.db.tables(),
    )
    const pages = await allPages((query) => rich.call('GET', `${ACCOUNTS}?${query}`))
    expect(pages.slice(0, 2).map(({ body }) => body.items.length)).toEqual([1, 1])
    expect(pages.reduce((sum, { body }) => sum + body.items.length, 0)).toBe(COUNT)
  })
})

function itemTextOf(listText: string): string {
  return (/^\{"items":\[(.*)\](,"next_page_cursor":"[^"]*")?\}$/s.exec(listText) as RegExpExecArray)[1] as string
}

async function newProfile(): Promise<{ profile_id: string }> {
  const { body } = await customer.call('POST', ACCOUNTS, { account: { identity_id: 'somebody' }, create_profile: true })
  return { profile_id: body.profile_id }
}
