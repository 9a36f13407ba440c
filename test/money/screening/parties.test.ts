/** The parties of movements: accepted only while they are screened, encrypted, and passed to hook and executor. */
import { describe, expect, it } from 'vitest'
import { EncryptionKey } from '../../../src/access/clients/encryption-key.ts'
import { claimDeliveries } from '../../../src/money/deliveries/reports.ts'
import { takeDue } from '../../../src/money/deliveries/webhook-store.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { FIAT_ACCOUNTS, fiatBody, registerAddress, TO_ADDRESSES } from '../../support/destinations.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import { newAddress, reportOf } from '../deposits/deposits-node.ts'
import { decide, ORCHESTRATIONS, useScreening } from './screening-stand.ts'

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

  it('a retried payment passes the parties of its request to the hook and the executor', async () => {
    stand.script = [decide('REJECT')]
    const id = await stand.pay({ parties: PARTIES })
    await stand.ask()
    expect(await stand.orchestration(id)).toMatchObject({ status: 'FAILED' })
    const retried = await stand.node.operator('POST', `/orchestrations/${id}/retry`, {})
    expect(retried, retried.text).toMatchObject({ status: 200 })
    await stand.convert()
    await stand.ask()
    expect(stand.received.at(-1)?.data).toMatchObject({ movement: { id: retried.body.id }, parties: PARTIES })
    expect((await stand.orchestration(retried.body.id)).parties).toEqual(PARTIES)
    const claim = { executor: 'treasury', limit: 10, lease_seconds: 60 }
    const { items } = (await stand.node.operator('POST', '/deliveries/claim', claim)).body
    expect(items).toMatchObject([{ orchestration_id: retried.body.id, parties: PARTIES }])
  })

  it('a process without the key leaves a payment with parties to others, and hands out the payments beside it', async () => {
    const ids = [await stand.pay({ parties: PARTIES }), await stand.pay(), await stand.pay()]
    await stand.ask()
    const { db } = stand.node
    const orchestrationsOf = (texts: readonly string[]) =>
      texts.map((text) => text.match(/"orchestration_id":"([^"]+)"/)?.[1])
    const claim = { executor: 'treasury', limit: 2, lease_seconds: 60 }
    const claimed = await db.transaction((transaction) =>
      claimDeliveries(transaction, DELIVERY_OWNERS, 'operator', { ...claim, limit: 1 }, false, ALL_DUE),
    )
    const sent = await db.transaction((transaction) => takeDue(transaction, DELIVERY_OWNERS, 8, ALL_DUE))
    expect(orchestrationsOf([...claimed.map(({ text }) => text), ...sent.map(({ body }) => body)])).toEqual(
      ids.slice(1),
    )
    const { items } = (await stand.node.operator('POST', '/deliveries/claim', claim)).body
    expect(items).toMatchObject([{ orchestration_id: ids[0], parties: PARTIES, attempt: 1 }])
  })

  it('a payment whose parties a lost key has encrypted waits without stopping others, and can be failed', async () => {
    const lost = await stand.pay({ parties: PARTIES })
    const other = await stand.pay({ parties: PARTIES })
    await stand.ask()
    const text = (EncryptionKey.parse('ab'.repeat(32)) as EncryptionKey).encrypt(
      Buffer.from(JSON.stringify(PARTIES)),
      `movement_parties.parties/${lost}`,
    )
    await sql`update movement_parties set parties = ${text} where movement_id = ${lost}`.execute(stand.node.db.tables())
    expect(await stand.handOut()).toEqual([other])
    const waiting = await stand.node.operator('GET', `/deliveries?orchestration_id=${lost}`)
    expect(waiting.body.items).toMatchObject([{ status: 'WAITING' }])
    const [{ id }] = waiting.body.items
    const shown = await stand.node.operator('GET', `/deliveries/${id}`)
    expect(shown.status, shown.text).toBe(200)
    expect(shown.body.parties).toBeUndefined()
    expect((await stand.orchestration(lost)).status).toBe('PROCESSING')
    const failed = await stand.node.operator('POST', `/deliveries/${id}/fail`, { attempt: 0, reason: 'lost parties' })
    expect(failed.status, failed.text).toBe(200)
    expect((await stand.orchestration(lost)).status).toBe('FAILED')
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

describe('a destination with parties', () => {
  const registered = async (path: string, body: object) => {
    const answer = await stand.customer.call('POST', path, { ref_id: crypto.randomUUID(), parties: PARTIES, ...body })
    expect(answer.status, answer.text).toBe(200)
    return answer.body
  }
  const newEthereum = () => `0x${crypto.randomUUID().replaceAll('-', '')}00000000`

  it('both kinds return their parties to the customer and the operator, store them encrypted, and refuse them without screening', async () => {
    const fiat = await registered(FIAT_ACCOUNTS, fiatBody())
    const address = await registered(TO_ADDRESSES, { crypto_network: 'ETHEREUM', address: newEthereum() })
    for (const { id, path } of [
      { id: fiat.id, path: FIAT_ACCOUNTS },
      { id: address.id, path: TO_ADDRESSES },
    ]) {
      expect((await stand.customer.call('GET', `${path}/${id}`)).body.parties).toEqual(PARTIES)
      expect((await stand.node.operator('GET', `/destinations/${id}`)).body.parties).toEqual(PARTIES)
    }
    const { rows } = await sql<{ readonly text: string }>`
      select to_json(destinations)::text || coalesce((select string_agg(facts::text, '') from notices), '') as text
      from destinations where parties is not null
    `.execute(stand.node.db.tables())
    expect(rows.map(({ text }) => text).join('')).not.toMatch(/Example|Main Street/)
    stand.set({ 'screening.url': '' })
    const refused = { status: 400, body: { errors: [{ pointer: '/parties' }] } }
    expect(await stand.customer.call('POST', FIAT_ACCOUNTS, fiatBody({ parties: PARTIES }))).toMatchObject(refused)
    expect(await registerAddress(stand.customer, { address: newEthereum(), parties: PARTIES })).toMatchObject(refused)
  })

  it('a payment passes its destination’s parties to hook and executor, and its own instead when it has some', async () => {
    const address = newEthereum()
    const {
      id: registration,
      created_at,
      usable_at,
    } = await registered(TO_ADDRESSES, { crypto_network: 'ETHEREUM', address })
    const destination = { crypto: { address, network: 'ETHEREUM' } }
    const own = { beneficiary: { name: 'Carl Example' } }
    for (const [changes, parties] of [
      [{}, PARTIES],
      [{ parties: own }, own],
    ] as const) {
      const id = await stand.pay({ destination, ...changes })
      await stand.ask()
      expect(stand.received.at(-1)?.data).toMatchObject({
        parties,
        movement: { id },
        destination_registration: { id: registration, registered_at: created_at, usable_at, unverified: false },
      })
      expect((await stand.orchestration(id)).parties).toEqual(parties)
      const claim = { executor: 'treasury', limit: 10, lease_seconds: 60 }
      const { items } = (await stand.node.operator('POST', '/deliveries/claim', claim)).body
      expect(items.filter((item: { orchestration_id: string }) => item.orchestration_id === id)).toMatchObject([
        { parties },
      ])
    }
  })

  it('a destination that is registered again is asked about again, and the payment keeps the parties of its start', async () => {
    const address = newEthereum()
    const first = await registered(TO_ADDRESSES, { crypto_network: 'ETHEREUM', address })
    const id = await stand.pay({ destination: { crypto: { address, network: 'ETHEREUM' } } })
    await stand.ask()
    await stand.customer.call('DELETE', `${TO_ADDRESSES}/${first.id}`)
    const parties = { beneficiary: { name: 'Dora Example' } }
    const second = await registered(TO_ADDRESSES, { crypto_network: 'ETHEREUM', address, parties })
    expect(await stand.handOut()).toEqual([])
    await stand.ask()
    expect(stand.received.at(-1)?.data).toMatchObject({
      revision: 2,
      parties: PARTIES,
      destination_registration: { id: second.id },
    })
    expect(await stand.handOut()).toEqual([id])
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
