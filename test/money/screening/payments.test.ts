/** Screened payments: they leave only after a valid ALLOW, and the money comes back after REJECT unless it may be gone. */
import { describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { balanceOf } from '../../support/ledger.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import { allow, decide, ORCHESTRATIONS, useScreening } from './screening-stand.ts'

const stand = useScreening()

/** Holds the sender back until `ask`. */
async function payUnasked(): Promise<string> {
  await stand.sender.stop()
  const id = await stand.pay()
  stand.sender = stand.newSender()
  return id
}

async function answer(): Promise<void> {
  await stand.sender.start()
  await stand.sender.settled()
}

const balance = () => balanceOf(stand.node.db, stand.account.profileId, 'USDC')

describe('a screened payment', () => {
  it('a screened payment waits for the hook, leaves after ALLOW, and is asked about with its facts', async () => {
    const id = await payUnasked()
    expect(await stand.orchestration(id)).toMatchObject({ status: 'PROCESSING', waiting_for: 'SCREENING' })
    expect(await stand.handOut()).toEqual([])
    await answer()
    expect(await stand.handOut()).toEqual([id])
    expect((await stand.orchestration(id)).waiting_for).toBeUndefined()
    const destination = { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } }
    expect(stand.received[0]?.data).toMatchObject({
      movement: { id, type: 'payment', asset: 'USDC', amount: '2.5', destination },
      destination_use: { payments: 0 },
      last_24_hours: [{ asset: 'USDC', payments: { count: 1, amount: '2.5' } }],
    })
    expect(await stand.screeningOf(id)).toMatchObject({ kind: 'payment', orchestration_id: id, status: 'ALLOWED' })
  })

  it('a rejected payment fails with screening_rejected, and its money returns without the provider’s reason', async () => {
    stand.otherwise = decide('REJECT', 'on the list of ACME')
    const id = await payUnasked()
    await answer()
    const seen = await stand.customer.call('GET', `${ORCHESTRATIONS}/${id}`)
    expect(seen.body).toMatchObject({ status: 'FAILED', fail_reason: { code: 'screening_rejected' } })
    expect(seen.text).not.toMatch(/ACME/)
    expect(await balance()).toMatchObject({ available: 2_500_000n, in_transit: 0n })
    expect(await stand.handOut()).toEqual([])
    expect(await stand.screeningOf(id)).toMatchObject({ status: 'REJECTED', reason: 'on the list of ACME' })
  })

  it('HOLD waits for a person, and the customer cannot cancel meanwhile', async () => {
    stand.otherwise = decide('HOLD', 'unusual')
    const id = await payUnasked()
    await answer()
    expect(await stand.handOut()).toEqual([])
    const cancelled = await stand.customer.call('POST', `${ORCHESTRATIONS}/${id}/cancel`)
    expect(cancelled.status).toBe(409)
    expect(cancelled.text).not.toMatch(/unusual/)
    const { id: screening } = await stand.screeningOf(id)
    const body = { decision: 'ALLOW', note: 'the customer called' }
    expect(await stand.node.operator('POST', `/screening/${screening}/decide`, body)).toMatchObject({ status: 200 })
    expect(await stand.handOut()).toEqual([id])
  })

  it('an ALLOW that is older than screening.valid_hours is asked again before the payment leaves', async () => {
    const id = await payUnasked()
    await answer()
    await stand.letPass(23 * 3_600)
    await stand.sender.stop()
    stand.sender = stand.newSender()
    expect(stand.received).toHaveLength(1)
    await sql`update screenings set decided_at = decided_at - interval '1 hour'`.execute(stand.node.db.tables())
    expect(await stand.handOut()).toEqual([])
    expect(await stand.orchestration(id)).toMatchObject({ waiting_for: 'SCREENING' })
    stand.otherwise = decide('REJECT')
    await answer()
    expect(stand.received).toHaveLength(2)
    expect(stand.received[1]?.id).not.toBe(stand.received[0]?.id)
    expect(stand.received[1]?.data.revision).toBe(1)
    expect(await stand.orchestration(id)).toMatchObject({ status: 'FAILED' })
    expect(await balance()).toMatchObject({ available: 2_500_000n, in_transit: 0n })
  })

  it('a payment that was handed out with an unknown outcome is left to the operator when it is rejected', async () => {
    const id = await payUnasked()
    await answer()
    expect(await stand.handOut()).toEqual([id])
    const { db } = stand.node
    await sql`
      update deliveries set next_attempt_at = clock_timestamp() - interval '1 second' where orchestration_id = ${id}
    `.execute(db.tables())
    await sql`update screenings set decided_at = decided_at - interval '25 hours'`.execute(db.tables())
    stand.otherwise = decide('REJECT')
    await stand.sender.settled()
    expect(await stand.handOut()).toEqual([])
    await stand.ask()
    expect(await stand.orchestration(id)).toMatchObject({ status: 'PROCESSING', waiting_for: 'OPERATOR' })
    expect(await balance()).toMatchObject({ available: 0n, in_transit: 2_500_000n })
    const { body } = await stand.node.operator('GET', `/deliveries?orchestration_id=${id}`)
    expect(body.items).toMatchObject([{ status: 'NEEDS_OPERATOR' }])
  })

  it('a payment that may have been made before a restore is left to the operator when it is rejected', async () => {
    const id = await payUnasked()
    const { db } = stand.node
    await sql`update store_origin set identity = 'another store'`.execute(db.tables())
    stand.otherwise = decide('REJECT')
    await answer()
    expect(await stand.orchestration(id)).toMatchObject({ status: 'PROCESSING', waiting_for: 'OPERATOR' })
    expect(await balance()).toMatchObject({ available: 0n, in_transit: 2_500_000n })
    const [delivery] = (await stand.node.operator('GET', `/deliveries?orchestration_id=${id}`)).body.items
    expect(delivery).toMatchObject({ status: 'NEEDS_OPERATOR', attempt: 0 })
    const result = { reference: delivery.id, attempt: 0 }
    expect((await stand.node.operator('POST', `/deliveries/${delivery.id}/settle`, result)).status).toBe(200)
    expect(await stand.orchestration(id)).toMatchObject({ status: 'COMPLETED' })
    await sql`update store_origin set identity = null`.execute(db.tables())
  })

  it('a person’s REJECT of an allowed payment counts until it is handed out', async () => {
    const id = await payUnasked()
    await answer()
    const { id: screening } = await stand.screeningOf(id)
    const body = { decision: 'REJECT', note: 'stop it' }
    const path = `/screening/${screening}/decide`
    expect(await stand.handOut()).toEqual([id])
    expect(await stand.node.operator('POST', path, body)).toMatchObject({ status: 409 })
    const other = await payUnasked()
    await answer()
    const { id: second } = await stand.screeningOf(other)
    expect(await stand.node.operator('POST', `/screening/${second}/decide`, body)).toMatchObject({ status: 200 })
    expect(await stand.orchestration(other)).toMatchObject({ status: 'FAILED' })
  })

  it('a movement to another profile does not leave, and is not screened', async () => {
    const id = await stand.pay({
      destination: { profile: { profile_id: stand.account.profileId } },
      destination_asset: 'USD',
    })
    expect(await stand.orchestration(id)).toMatchObject({ status: 'COMPLETED' })
    expect((await stand.node.operator('GET', `/screening?movement_id=${id}`)).body.items).toEqual([])
  })

  it('payments leave unasked while screening.url is empty, also those that waited', async () => {
    const id = await payUnasked()
    expect(await stand.handOut()).toEqual([])
    stand.set({ 'screening.url': '' })
    expect(await stand.handOut()).toEqual([id])
  })

  it('a payment that left unasked has no open screening, although screening.url stays empty', async () => {
    const id = await payUnasked()
    stand.set({ 'screening.url': '' })
    expect(await stand.handOut()).toEqual([id])
    expect(await stand.screeningOf(id)).toMatchObject({ status: 'PENDING' })
    const [delivery] = (await stand.node.operator('GET', `/deliveries?orchestration_id=${id}`)).body.items
    const result = { reference: delivery.id, attempt: 1 }
    expect((await stand.node.operator('POST', `/deliveries/${delivery.id}/settle`, result)).status).toBe(200)
    await answer()
    expect(await stand.screeningOf(id)).toMatchObject({ status: 'CLOSED' })
    expect(stand.received).toEqual([])
  })
})

const PAYMENTS = 5

describe('a hook that is unavailable for an hour', () => {
  it('a hook that is unavailable for an hour releases nothing, and everything continues afterwards', async () => {
    stand.otherwise = (_, response) => void response.socket?.destroy()
    const ids: string[] = []
    for (let count = 0; count < PAYMENTS; count++) ids.push(await stand.pay())
    for (let minute = 1; minute <= 60; minute++) {
      await stand.letPass(60)
      if (minute % 10 === 0) expect(await stand.handOut()).toEqual([])
    }
    const asked = stand.received.length
    expect(asked).toBeGreaterThan(PAYMENTS * 30)
    expect(asked).toBeLessThan(PAYMENTS * 80)
    const seen = async () => (await Promise.all(ids.map((id) => stand.orchestration(id)))).map(({ status }) => status)
    expect(new Set(await seen())).toEqual(new Set(['PROCESSING']))
    stand.otherwise = allow
    await stand.letPass(120)
    expect([...(await stand.handOut())].sort()).toEqual([...ids].sort())
    expect(new Set(stand.received.map(({ id }) => id)).size).toBe(PAYMENTS)
  })
})

describe('a sender that stops', () => {
  it('a sender that stops between request and answer repeats the same question, and its late answer is ignored', async () => {
    let late: () => void = () => undefined
    stand.script = [
      (question, response) => {
        late = () => decide('REJECT')(question, response)
      },
    ]
    const id = await payUnasked()
    const first = stand.sender
    await first.start()
    await expect.poll(() => stand.received.length).toBe(1)
    // A second sender, as after the first one was killed, when its lease has ended.
    const second = stand.newSender()
    await sql`update screenings set next_attempt_at = clock_timestamp() where movement_id = ${id}`.execute(
      stand.node.db.tables(),
    )
    await second.start()
    await second.settled()
    await second.stop()
    expect(stand.received.map(({ text }) => text)).toEqual([stand.received[0]?.text, stand.received[0]?.text])
    expect(await stand.screeningOf(id)).toMatchObject({ status: 'ALLOWED' })
    late()
    await first.settled()
    expect(await stand.screeningOf(id)).toMatchObject({ status: 'ALLOWED' })
    expect(await stand.handOut()).toEqual([id])
  })
})
