/**
 * Deliveries to an executor that misbehaves in every way that is known: never two settled payments, and never money back
 * without a refusal or the operator.
 */

import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createRequestCounter } from '../../../src/money/deliveries/metrics.ts'
import { reportFailed, reportSettled } from '../../../src/money/deliveries/reports.ts'
import { createWebhookSender } from '../../../src/money/deliveries/webhook-sender.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import type { WebhookEndpoint } from '../../../src/platform/webhooks/signed-request.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import {
  addDeliveries,
  attemptsOf,
  letPass,
  OPERATOR,
  recordingOwners,
  rowsOf,
  transferOf,
} from '../../support/deliveries.ts'
import { addAssets, addOwner, balanceOf, type Owner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const NOTHING = { available: 0n, in_transit: 0n, held: 0n, receivable: 0n }
const BACK = { ...NOTHING, available: 1_500_000n }
const STILL_OUT = { ...NOTHING, in_transit: 1_500_000n }
const KEY = Buffer.alloc(24, 5)
const SECRET = `whsec_${KEY.toString('base64')}`
const DAY = 86_400
/** Makes the first wait 500 s instead of 5, doubled each time: nothing becomes due before a test lets the time pass. */
const LONG_WAITS = () => 100

/** What an executor does with a request; it pays each id once, however often it is asked. */
type Behaviour = (pay: () => string, response: ServerResponse) => void

interface Received {
  readonly id: string
  readonly timestamp: string
  readonly signatures: readonly string[]
  readonly body: string
}

const settle: Behaviour = (pay, response) => void response.end(JSON.stringify({ status: 'SETTLED', reference: pay() }))
const accept: Behaviour = (_, response) => void response.end('{"status":"ACCEPTED"}')
const refuse: Behaviour = (_, response) =>
  void response.end('{"status":"REFUSED","code":"closed_account","detail":"the account is closed"}')
const answer =
  (status: number): Behaviour =>
  (_, response) =>
    void response.writeHead(status).end('{"status":"REFUSED"}')
const payThenAnswer =
  (status: number): Behaviour =>
  (pay, response) => {
    pay()
    response.writeHead(status).end()
  }
const payThenCut: Behaviour = (pay, response) => {
  pay()
  response.socket?.destroy()
}
const payThenStall: Behaviour = (pay) => void pay()

let db: Db
let owner: Owner
let url: string
let script: Behaviour[] = []
let received: Received[] = []
let payments: Map<string, string>
const requests = createRequestCounter(createMetricsRegistry())
let owners: ReturnType<typeof recordingOwners>
let clock: VirtualClock
let settings: WebhookEndpoint
let sender: ReturnType<typeof createWebhookSender>
const logged = captureLog()
const server = createServer((request, response) => void serve(request, response))

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += part
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers
  received.push({ id: String(id), timestamp: String(timestamp), signatures: String(signatures).split(' '), body })
  const pay = () => {
    const reference = payments.get(String(id)) ?? `payment ${payments.size} ${String(id)}`
    payments.set(String(id), reference)
    return reference
  }
  const behaviour = script.shift() ?? settle
  behaviour(pay, response)
  server.emit('served')
}

beforeAll(async () => {
  db = await openTestStore({ log: logged.log })
  await addAssets(db, { USDC: 6 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await db?.close()
})
beforeEach(async () => {
  owner = await addOwner(db)
  owners = recordingOwners()
  script = []
  received = []
  payments = new Map()
  clock = new VirtualClock(Date.now())
  settings = { url, secrets: [SECRET], allowPrivate: false }
  sender = newSender()
})
afterEach(async () => {
  await sender.stop()
  // What a test leaves waiting is not sent in a later one.
  await sql`update deliveries set next_attempt_at = next_attempt_at + interval '1 day'`.execute(db.tables())
})

function newSender(): ReturnType<typeof createWebhookSender> {
  const common = { db, owners, clock, log: logged.log, requests, random: LONG_WAITS }
  return createWebhookSender({ ...common, settings: () => settings })
}

/** Sends what is due, and everything that follows from it at this time. */
async function send(): Promise<void> {
  clock.advance(5_000)
  await sender.settled()
}

/** One delivery, for which the executor does this, one after another; the wait between two is passed. */
async function deliver(...behaviours: Behaviour[]): Promise<string> {
  script = [...behaviours]
  const [id = ''] = await addDeliveries(db, owner, 1)
  await sender.start()
  await sender.settled()
  for (let attempt = 1; attempt < behaviours.length; attempt++) {
    await letPass(db, [id], 3_600)
    await send()
  }
  return id
}

async function rowOf(id: string) {
  const row = (await rowsOf(db, [id])).get(id)
  if (row === undefined) throw new Error('there is no such delivery')
  return row
}

const balance = () => balanceOf(db, owner.profileId, 'USDC')
const calls = () => owners.calls.map(({ call }) => call)
const outcomes = async (id: string) => (await attemptsOf(db, id)).map(({ outcome }) => outcome)

describe('an executor that', () => {
  it('an executor that settles is believed', async () => {
    const id = await deliver(settle)
    expect(await rowOf(id)).toMatchObject({ status: 'SETTLED', reference: payments.get(id), channel: 'webhook' })
    expect(await balance()).toEqual(NOTHING)
    expect((await transferOf(db, id))?.status).toBe('COMPLETED')
    expect(calls()).toEqual(['settled'])
  })

  it('an executor that refuses gives the money back', async () => {
    const id = await deliver(refuse)
    const refusal = { fail_code: 'REFUSED', fail_detail: 'closed_account: the account is closed' }
    expect(await rowOf(id)).toMatchObject({ status: 'FAILED', ...refusal })
    expect(await balance()).toEqual(BACK)
    expect(calls()).toEqual(['failed REFUSED: closed_account: the account is closed'])
    expect(await outcomes(id)).toEqual(['REFUSED'])
  })

  it('an executor that accepts keeps the money in transit until it reports', async () => {
    const id = await deliver(accept)
    expect(await rowOf(id)).toMatchObject({ status: 'SENT', attempt: 1, next_attempt_at: null })
    expect(await balance()).toEqual(STILL_OUT)
    await send()
    expect(received).toHaveLength(1)
    const report = { reference: 'by the bank', attempt: 1 }
    await db.transaction((transaction) => reportSettled(transaction, owners, 'operator', id, report))
    expect(await balance()).toEqual(NOTHING)
  })

  it.each([
    ['pays and loses the answer', payThenCut],
    ['pays and answers 500', payThenAnswer(500)],
    ['pays and has a proxy that answers 403', payThenAnswer(403)],
    ['answers 410', answer(410)],
    ['answers 500 before it pays', answer(500)],
    ['redirects', answer(302)],
  ])('an executor that %s is asked again with the same id and body, and pays once', async (_, behaviour) => {
    const id = await deliver(behaviour)
    expect(await rowOf(id)).toMatchObject({ status: 'CLAIMED', attempt: 1 })
    expect(await balance()).toEqual(STILL_OUT)
    clock.stepWall(7_000)
    await letPass(db, [id], 3_600)
    await send()
    expect(await rowOf(id)).toMatchObject({ status: 'SETTLED', attempt: 2, reference: payments.get(id) })
    expect(await outcomes(id)).toEqual(['UNKNOWN', 'SETTLED'])
    expect(payments.size).toBe(1)
    const [first, second] = received
    expect(second).toMatchObject({ id, body: first?.body })
    expect(second?.timestamp).not.toBe(first?.timestamp)
    expect(await balance()).toEqual(NOTHING)
  })

  it('an executor that does not answer in time is asked again', async () => {
    script = [payThenStall]
    const [id = ''] = await addDeliveries(db, owner, 1)
    const served = once(server, 'served')
    await sender.start()
    await served
    clock.advance(10_000)
    await sender.settled()
    const unknown = { outcome: 'UNKNOWN', detail: 'no complete answer within 10 seconds' }
    expect(await attemptsOf(db, id)).toMatchObject([unknown])
    await letPass(db, [id], 3_600)
    await send()
    expect(await rowOf(id)).toMatchObject({ status: 'SETTLED', attempt: 2 })
    expect(payments.size).toBe(1)
  })

  it('an executor that never gives a clear answer is asked for a day, and then the operator is', async () => {
    const id = await deliver(answer(403), answer(500), payThenCut, answer(410))
    expect(await rowOf(id)).toMatchObject({ status: 'CLAIMED', attempt: 4 })
    await letPass(db, [id], DAY)
    await send()
    expect(received).toHaveLength(4)
    expect(await rowOf(id)).toMatchObject({ status: 'NEEDS_OPERATOR', next_attempt_at: null })
    expect(await balance()).toEqual(STILL_OUT)
    expect(calls()).toEqual(['waits OPERATOR: no outcome is known 24 hours after the first request'])
    await letPass(db, [id], DAY)
    await send()
    expect(received).toHaveLength(4)
    const report = { reference: 'found in the statement', attempt: 4 }
    await db.transaction((transaction) => reportSettled(transaction, owners, 'operator', id, report))
    expect(await balance()).toEqual(NOTHING)
  })

  it('an executor that settles with the reference of another delivery is not believed', async () => {
    const first = await deliver(settle)
    const reference = payments.get(first)
    script = [(_, response) => void response.end(JSON.stringify({ status: 'SETTLED', reference }))]
    const [second = ''] = await addDeliveries(db, owner, 1)
    await send()
    expect((await rowOf(second)).status).toBe('CLAIMED')
    const detail = 'answered SETTLED with another delivery’s reference'
    expect(await attemptsOf(db, second)).toMatchObject([{ outcome: 'UNKNOWN', detail }])
  })
})

describe('requests', () => {
  it('webhook requests are signed with every valid secret, over the bytes that are sent', async () => {
    const other = Buffer.alloc(32, 6)
    settings = { ...settings, secrets: [SECRET, `whsec_${other.toString('base64')}`] }
    const id = await deliver(settle)
    const [request] = received as [Received]
    const signatureBy = (key: Buffer) =>
      `v1,${createHmac('sha256', key).update(`${id}.${request.timestamp}.${request.body}`).digest('base64')}`
    expect(request.signatures).toEqual([signatureBy(KEY), signatureBy(other)])
    expect(JSON.parse(request.body)).toMatchObject({
      type: 'delivery.requested',
      data: { id, asset: 'USDC', amount: '1.5', profile_id: owner.profileId, metadata: {} },
    })
  })

  it('webhook requests of a process that stopped in between are sent again with the same id and body', async () => {
    const id = await deliver(payThenAnswer(500))
    // As a process leaves it that stops after it has sent: claimed, without a result.
    await sql`update delivery_attempts set outcome = 'STARTED', ended_at = null where delivery_id = ${id}`.execute(
      db.tables(),
    )
    await sender.stop()
    sender = newSender()
    await letPass(db, [id], 3_600)
    await sender.start()
    await sender.settled()
    expect(received.map(({ body }) => body)).toEqual([received[0]?.body, received[0]?.body])
    expect(payments.size).toBe(1)
    expect(await outcomes(id)).toEqual(['UNKNOWN', 'SETTLED'])
  })

  it("a webhook's result after the operator's decision changes nothing, and a contradiction is counted", async () => {
    const held: ServerResponse[] = []
    script = [(_, response) => void held.push(response)]
    const [id = ''] = await addDeliveries(db, owner, 1)
    const served = once(server, 'served')
    await sender.start()
    await served
    const report = { reason: 'the executor is gone', attempt: 1 }
    await db.transaction((transaction) => reportFailed(transaction, owners, OPERATOR, id, report))
    held[0]?.end('{"status":"SETTLED","reference":"too late"}')
    await sender.settled()
    expect((await rowOf(id)).status).toBe('FAILED')
    expect(await balance()).toEqual(BACK)
    const { values } = await requests.get()
    expect(values.find(({ labels }) => labels.outcome === 'contradiction')?.value).toBe(1)
    expect(logged.lines.some((line) => line.includes('contradicts a recorded result'))).toBe(true)
  })

  it('webhook requests are not sent while deliveries are paused, nor without an address', async () => {
    const id = await deliver(answer(500))
    await sql`update controls set deliveries_paused = true`.execute(db.tables())
    await letPass(db, [id], 3_600)
    await send()
    expect(calls()).toEqual(['waits PAUSED: deliveries are paused'])
    await sql`update controls set deliveries_paused = false`.execute(db.tables())
    settings = { ...settings, url: '' }
    await letPass(db, [id], 3_600)
    await send()
    expect(received).toHaveLength(1)
    await letPass(db, [id], DAY)
    await send()
    expect((await rowOf(id)).status).toBe('NEEDS_OPERATOR')
  })

  it('webhook requests of many deliveries are made a few at a time, each once', async () => {
    const ids = await addDeliveries(db, owner, 30)
    await sender.start()
    await sender.settled()
    expect(received.map(({ id }) => id).sort()).toEqual([...ids].sort())
    expect(await balance()).toEqual(NOTHING)
  })

  it('webhook requests show no secret in the log', () => {
    expect(JSON.stringify(logged.lines)).not.toContain(SECRET.slice(6))
  })
})
