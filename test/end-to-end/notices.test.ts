/** Notices of a running service, by mail and by webhook, and the start without a way to send them. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'
import { openSmtpServer, type SmtpServer } from '../support/smtp-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const UNAPPROVED = { 'destinations.required': 'true', 'destinations.approval': 'auto' }

const folder = temporaryFolder()
const other = temporaryFolder()
let service: ServiceInside
let smtp: SmtpServer
let hook: Server
const bodies: Json[] = []
/** The requests that the hook does not answer, while it answers none. */
const unanswered: (() => void)[] = []
let isAnswering = true
beforeAll(async () => {
  smtp = await openSmtpServer()
  hook = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(JSON.parse(body))
    if (isAnswering) response.end()
    else unanswered.push(() => response.end())
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  service = await startServiceInside(folder.path, [], {
    ...UNAPPROVED,
    'notices.smtp_url': `smtp://127.0.0.1:${smtp.port}`,
    'notices.from': 'tidegate@exchange.example',
    'notices.url': `http://127.0.0.1:${(hook.address() as AddressInfo).port}/notices`,
    'notices.secrets': `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
  })
})
afterAll(async () => {
  await service?.stop()
  await smtp?.close()
  hook?.close()
  folder.remove()
  other.remove()
})

it('a security contact hears of a new secret and of a test, by mail and by webhook', async () => {
  const { id } = await service.operator.call<Json>('POST', '/customers', { name: 'Northwind' })
  const security_contacts = ['security@northwind.example']
  await service.operator.call('PUT', `/customers/${id}/security-contacts`, { security_contacts })
  const made = await service.operator.call<Json>('POST', `/customers/${id}/clients`, { name: 'desk', scopes: [] })
  await service.operator.call('POST', `/customers/${id}/security-contacts/test`, {})
  const sent = async () => {
    const { items } = await service.operator.call<Json>('GET', `/notices?customer_id=${id}&order=ASC`)
    return items.map(({ type, sends }: Json) => [type, ...sends.map(({ status }: Json) => status)])
  }
  await expect.poll(sent, { timeout: 20_000 }).toEqual([
    ['secret.created', 'SENT', 'SENT'],
    ['test', 'SENT', 'SENT'],
  ])
  const ofCustomer = bodies.filter(({ data }) => data.customer_id === id)
  expect(ofCustomer.map(({ type }) => type).sort()).toEqual(['notice.secret.created', 'notice.test'])
  const texts = smtp.mails.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1]).sort()
  expect(texts).toEqual(['A client secret was created: Northwind', 'Test notice: Northwind'])
  expect(smtp.mails.map(({ from, recipients }) => [from, ...recipients])).toEqual([
    ['tidegate@exchange.example', 'security@northwind.example'],
    ['tidegate@exchange.example', 'security@northwind.example'],
  ])
  expect(JSON.stringify([smtp.mails, bodies])).not.toContain(made.client_secret)
})

it('the service does not start with required destinations without an approval and no way to send notices', async () => {
  await expect(startServiceInside(other.path, [], UNAPPROVED)).rejects.toThrow(
    /^destinations\.approval must be required unless notices\.smtp_url or notices\.url is set/,
  )
})

it('a service that is stopped while a receiver of notices does not answer closes its listener at once', async () => {
  const { id } = await service.operator.call<Json>('POST', '/customers', { name: 'Southwind' })
  const security_contacts = ['security@southwind.example']
  await service.operator.call('PUT', `/customers/${id}/security-contacts`, { security_contacts })
  isAnswering = false
  await service.operator.call('POST', `/customers/${id}/security-contacts/test`, {})
  await expect.poll(() => unanswered.length, { timeout: 20_000 }).toBeGreaterThan(0)
  let isStopped = false
  const stopped = service.stop().then(() => {
    isStopped = true
  })
  const isListening = () =>
    fetch(service.http).then(
      () => true,
      () => false,
    )
  // The request has ten seconds.
  await expect.poll(isListening, { timeout: 5_000 }).toBe(false)
  expect(isStopped).toBe(false)
  for (const answer of unanswered) answer()
  await stopped
})
