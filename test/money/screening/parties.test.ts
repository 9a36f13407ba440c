/** The parties of movements: accepted only while they are screened, encrypted, and passed to hook and executor. */
import { describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import { newAddress, reportOf } from '../deposits/deposits-node.ts'
import { ORCHESTRATIONS, useScreening } from './screening-stand.ts'

const stand = useScreening()
const PARTIES = {
  originator: {
    name: 'Ann Example',
    type: 'INDIVIDUAL',
    address: 'Main Street 1',
    account: 'DE00',
    institution: 'A Bank',
  },
  beneficiary: { name: 'Bob Example' },
}

const request = (changes: object) =>
  stand.customer.call('POST', ORCHESTRATIONS, {
    ref_id: crypto.randomUUID(),
    source: { profile: { profile_id: stand.account.profileId } },
    source_asset: 'USDC',
    source_amount: '2.5',
    destination_asset: 'USDC',
    destination: { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } },
    ...changes,
  })

async function reportWith(parties: object) {
  const address = await newAddress(
    { node: stand.node, customer: stand.customer, profileId: '' },
    stand.account.profileId,
  )
  return await stand.node.operator('POST', '/deposits', reportOf(address, { parties }))
}

describe('a payment with parties', () => {
  it('a payment with parties passes them to the hook and the executor, and returns them to its customer', async () => {
    const id = await stand.pay({ parties: PARTIES })
    await stand.ask()
    expect(stand.received[0]?.data.parties).toEqual(PARTIES)
    expect((await stand.orchestration(id)).parties).toEqual(PARTIES)
    expect((await stand.node.operator('GET', `/orchestrations/${id}`)).body.parties).toEqual(PARTIES)
    const claimed = await stand.node.operator('POST', '/deliveries/claim', {
      executor: 'treasury',
      limit: 10,
      lease_seconds: 60,
    })
    expect(claimed.body.items).toMatchObject([{ orchestration_id: id, parties: PARTIES }])
    const { text } = await stand.node.operator('GET', '/audit')
    expect(text).not.toMatch(/Ann Example/)
  })

  it('a payment’s parties are stored encrypted, and appear in no other column', async () => {
    await stand.pay({ parties: PARTIES })
    await stand.ask()
    const { rows } = await sql<{ readonly text: string }>`
      select parties as text from movement_parties
      union all select facts::text from screenings where facts is not null
    `.execute(stand.node.db.tables())
    expect(rows.map(({ text }) => text).join('\n')).not.toMatch(/Example/)
    expect(rows.some(({ text }) => text.startsWith('tg1.'))).toBe(true)
  })

  it('a payment’s parties are refused while nothing is screened, above 4 KiB, and with unknown members', async () => {
    const large = {
      originator: Object.fromEntries(
        ['name', 'type', 'address', 'account', 'institution'].map((name) => [name, 'x'.repeat(900)]),
      ),
    }
    expect(await request({ parties: large })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/parties' }] },
    })
    expect(await request({ parties: { payer: {} } })).toMatchObject({ status: 400 })
    stand.set({ 'screening.url': '' })
    expect(await request({ parties: PARTIES })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/parties' }] },
    })
    expect(await reportWith(PARTIES)).toMatchObject({ status: 400, body: { errors: [{ pointer: '/parties' }] } })
  })
})

describe('a deposit with parties', () => {
  it('a deposit with parties passes them to the hook, and shows them to the operator', async () => {
    const reported = await reportWith(PARTIES)
    expect(reported.status, reported.text).toBe(200)
    await stand.ask()
    expect(stand.received.at(-1)?.data).toMatchObject({ parties: PARTIES, movement: { id: reported.body.id } })
    expect((await stand.node.operator('GET', `/deposits/${reported.body.id}`)).body.parties).toEqual(PARTIES)
    const seen = await stand.customer.call('GET', `/v2/transfer/transfers/${reported.body.id}`)
    expect(seen.text).not.toMatch(/Example/)
  })
})
