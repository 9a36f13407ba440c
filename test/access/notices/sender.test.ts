/** Notices by mail, to a mail server on a socket, and by a signed webhook, with failures and retries. */
import { createHmac } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { getNotice } from '../../../src/access/notices/lists.ts'
import { createNoticeMetrics } from '../../../src/access/notices/metrics.ts'
import { type Notice, queueNotice } from '../../../src/access/notices/queue.ts'
import { createNoticeSender, type NoticeSettings } from '../../../src/access/notices/sender.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openSmtpServer, type SmtpServer } from '../../support/smtp-server.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const KEY = Buffer.alloc(24, 7)
const NONE: NoticeSettings = { mail: { url: '', from: '' }, webhook: { url: '', secrets: [], allowPrivate: true } }

const captured = captureLog()

let db: Db
let smtp: SmtpServer
let hook: Server
let hookStatus = 200
const requests: { headers: Record<string, unknown>; body: string }[] = []

beforeAll(async () => {
  db = await openTestStore({ log: captured.log })
  smtp = await openSmtpServer()
  hook = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(hookStatus).end('a text of the receiver')
    })
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  hook?.close()
  await smtp?.close()
  await db?.close()
})

let sender: ReturnType<typeof createNoticeSender>
let settings: NoticeSettings
let registry: ReturnType<typeof createMetricsRegistry>

beforeEach(async () => {
  await sql`truncate notices, notice_sends`.execute(db.tables())
  smtp.answers.clear()
  smtp.mails.splice(0)
  smtp.credentials.splice(0)
  requests.splice(0)
  captured.lines.splice(0)
  hookStatus = 200
  settings = both()
  registry = createMetricsRegistry()
  const sends = createNoticeMetrics(registry, db)
  // Delays 100 times as long: no send is due again before a test says so.
  const options = { db, clock: new VirtualClock(Date.now()), log: captured.log, random: () => 100, sends }
  sender = createNoticeSender({ ...options, settings: () => settings })
})
afterEach(() => sender.stop())

function both(): NoticeSettings {
  const { port } = hook.address() as AddressInfo
  return {
    mail: { url: `smtp://alerts%40acme.example:p%3Ass@127.0.0.1:${smtp.port}`, from: '' },
    webhook: {
      url: `http://127.0.0.1:${port}/notices`,
      secrets: [`whsec_${KEY.toString('base64')}`],
      allowPrivate: true,
    },
  }
}

async function newCustomer(contacts: readonly string[]): Promise<string> {
  const id = newId()
  await sql`
    insert into customers (id, name, streaming, security_contacts)
    values (${id}, ${`acme ${id}`}, false, ${[...contacts]}::text[])
  `.execute(db.tables())
  return id
}

function queue(notice: Notice): Promise<string> {
  return db.transaction((transaction: Transaction<object>) => queueNotice(transaction, notice))
}

async function sendsOf(id: string) {
  return (await getNotice(db, id)).sends
}

/** Waits until each of the notice's sends has had this many attempts, and its outcome is recorded. */
async function attempted(id: string, attempts: number): Promise<void> {
  await until('the attempts', async () => (await sendsOf(id)).every((send) => send.attempts >= attempts))
  await sender.settled()
}

/** Makes all sends due now, and created this much earlier. */
async function letPass(hours: number): Promise<void> {
  await sql`
    update notice_sends set created_at = created_at - ${hours} * interval '1 hour',
      next_attempt_at = case when next_attempt_at is not null then clock_timestamp() end
  `.execute(db.tables())
  await sql`select pg_notify('tidegate_notices', '')`.execute(db.tables())
}

async function metric(name: string): Promise<string | undefined> {
  return (await registry.metrics()).split('\n').find((line) => line.startsWith(name))
}

it('a notice reaches every security contact by mail and the operator by a signed webhook', async () => {
  const customerId = await newCustomer(['b@acme.example', 'a@acme.example'])
  await sender.start()
  const facts = { crypto_network: 'ETHEREUM', address: '0xABC', nickname: 'cold wallet' }
  const id = await queue({ customerId, type: 'destination.created', subject: newId(), facts })
  await attempted(id, 1)
  expect(await sendsOf(id)).toMatchObject([
    { channel: 'mail', recipient: 'a@acme.example', status: 'SENT', attempts: 1, sent_at: expect.any(String) },
    { channel: 'mail', recipient: 'b@acme.example', status: 'SENT', attempts: 1 },
    { channel: 'webhook', status: 'SENT', attempts: 1 },
  ])
  expect(smtp.mails.map(({ recipients }) => recipients).sort()).toEqual([['a@acme.example'], ['b@acme.example']])
  const [mail] = smtp.mails
  expect(mail).toMatchObject({ from: 'alerts@acme.example', credentials: 'alerts@acme.example:p:ss' })
  const text = mail?.text ?? ''
  expect(text).toMatch(/^Subject: A payment destination was registered: acme/m)
  expect(text).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(text).toContain('  crypto network: ETHEREUM\r\n  address: 0xABC\r\n  nickname: cold wallet\r\n')
  const [request] = requests
  const { 'webhook-id': webhookId, 'webhook-timestamp': time, 'webhook-signature': signature } = request?.headers ?? {}
  expect(webhookId).toBe(id)
  const signed = createHmac('sha256', KEY).update(`${webhookId}.${time}.${request?.body}`).digest('base64')
  expect(signature).toBe(`v1,${signed}`)
  expect(JSON.parse(request?.body ?? '')).toMatchObject({
    type: 'notice.destination.created',
    timestamp: expect.stringMatching(/Z$/),
    data: { id, customer_id: customerId, facts, contacts: ['a@acme.example', 'b@acme.example'] },
  })
})

it('a fact with line breaks and control characters stays one line of a mail', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  await sender.start()
  const nickname = `x\r\n\r\nAll is well.\u202E\u0007${'y'.repeat(1_000)}`
  const id = await queue({ customerId, type: 'destination.created', subject: newId(), facts: { nickname } })
  await attempted(id, 1)
  const body = Buffer.from(smtp.mails[0]?.text.replaceAll('=\r\n', '') ?? '', 'latin1').toString()
  expect(body).toMatch(/^ {2}nickname: x All is well\. y{250,300}(…|=E2=80=A6)\r$/m)
})

it('a failed send is tried again with a growing delay until it succeeds, and shows its last error meanwhile', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  smtp.answers.set('.', '451 a text of the server')
  hookStatus = 503
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  const [mail, webhook] = await sendsOf(id)
  expect(mail).toMatchObject({
    status: 'WAITING',
    last_error: expect.stringMatching(/^the mail server answered 451 \(E[A-Z]+\)$/),
  })
  expect(webhook).toMatchObject({ status: 'WAITING', last_error: 'answered with status 503' })
  expect(JSON.stringify([await sendsOf(id), captured.lines])).not.toContain('a text of')
  await letPass(0)
  await attempted(id, 2)
  const delayOf = async () => Date.parse((await sendsOf(id))[0]?.next_attempt_at ?? '') - Date.now()
  expect(await delayOf()).toBeGreaterThan(900_000)
  smtp.answers.clear()
  hookStatus = 204
  await letPass(2)
  await attempted(id, 3)
  expect((await sendsOf(id)).map(({ status, attempts }) => [status, attempts])).toEqual([
    ['SENT', 3],
    ['SENT', 3],
  ])
  const ids = smtp.mails.map(({ text }) => /^Message-ID: (.*)\r$/m.exec(text)?.[1])
  expect(ids).toEqual([expect.stringMatching(/^<[0-9a-f-]{36}@acme\.example>$/)])
})

it('a refused password is reported without the password', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  smtp.answers.set('AUTH', '535 p:ss is wrong')
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  expect((await sendsOf(id))[0]).toMatchObject({ last_error: 'the mail server answered 535 (EAUTH)' })
  expect(captured.lines.join('')).not.toContain('p:ss')
})

it('a mail server that cannot be reached is reported, and the webhook is sent all the same', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  const closed = await openSmtpServer()
  await closed.close()
  settings = { ...settings, mail: { url: `smtp://127.0.0.1:${closed.port}`, from: 'from@acme.example' } }
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  expect(await sendsOf(id)).toMatchObject([
    { status: 'WAITING', last_error: expect.stringMatching(/^the mail server: E[A-Z]+$/) },
    { status: 'SENT' },
  ])
})

it('neither a mail nor a password leaves in plain text, except to a loopback address', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  // Not one of the names and addresses known to be this machine, although it resolves to it.
  settings = { ...settings, mail: { url: `smtp://user:secret@LOCALHOST:${smtp.port}`, from: '' } }
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  expect((await sendsOf(id))[0]).toMatchObject({ status: 'WAITING', last_error: 'the mail server answered 502 (ETLS)' })
  expect([smtp.mails, smtp.credentials]).toEqual([[], []])
})

it('a notice that cannot be sent for three days is given up, and the metric shows its age until then', async () => {
  const customerId = await newCustomer([])
  hookStatus = 500
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  await letPass(71)
  await attempted(id, 2)
  expect(Number((await metric('tidegate_notices_oldest_seconds'))?.split(' ')[1])).toBeGreaterThan(71 * 3_600 - 1)
  await letPass(2)
  await attempted(id, 3)
  expect(await sendsOf(id)).toMatchObject([{ status: 'FAILED', attempts: 3, last_error: 'answered with status 500' }])
  expect((await sendsOf(id))[0]?.next_attempt_at).toBeUndefined()
  expect(await metric('tidegate_notices_oldest_seconds')).toBe('tidegate_notices_oldest_seconds 0')
})

it('a send without a setting that says where to is skipped, and stays skipped', async () => {
  const customerId = await newCustomer(['a@acme.example'])
  settings = NONE
  await sender.start()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  await attempted(id, 1)
  settings = both()
  await letPass(0)
  await sender.settled()
  expect(await sendsOf(id)).toMatchObject([
    { status: 'SKIPPED', last_error: 'notices.smtp_url is not set' },
    { status: 'SKIPPED', last_error: 'notices.url is not set' },
  ])
  expect([smtp.mails.length, requests.length]).toEqual([0, 0])
})

it('a notice is deleted with its sends after 90 days, unless one still waits, and younger ones stay', async () => {
  const customerId = await newCustomer([])
  const notice = () => queue({ customerId, type: 'test', subject: customerId, facts: {} })
  const [old, waiting, young] = [await notice(), await notice(), await notice()]
  await sql`
    update notices set created_at = created_at - case when id = ${young} then interval '89 days' else interval '91 days' end
  `.execute(db.tables())
  await sql`
    update notice_sends set status = case when notice_id = ${waiting} then 'WAITING' else 'SENT' end,
      next_attempt_at = case when notice_id = ${waiting} then clock_timestamp() + interval '1 day' end
  `.execute(db.tables())
  await sender.start()
  await sender.settled()
  const { rows } = await sql<{ id: string; sends: number }>`
    select id, (select count(*)::integer from notice_sends where notice_id = notices.id) as sends from notices order by id
  `.execute(db.tables())
  expect(rows).toEqual([waiting, young].sort().map((id) => ({ id, sends: 1 })))
  expect(rows.map(({ id }) => id)).not.toContain(old)
})

it('the outcome of an attempt whose lease has ended changes nothing, and the notice is sent again with the same id', async () => {
  const customerId = await newCustomer([])
  await sender.start()
  await sender.stop()
  const id = await queue({ customerId, type: 'test', subject: customerId, facts: {} })
  // As a sender that stopped after it had claimed the send.
  await sql`update notice_sends set attempt = 1, next_attempt_at = clock_timestamp()`.execute(db.tables())
  const sends = createNoticeMetrics(createMetricsRegistry(), db)
  const options = { db, clock: new VirtualClock(Date.now()), log: captured.log, random: () => 1, sends }
  sender = createNoticeSender({ ...options, settings: () => settings })
  await sender.start()
  await attempted(id, 2)
  expect(await sendsOf(id)).toMatchObject([{ status: 'SENT', attempts: 2 }])
  expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([id])
})
