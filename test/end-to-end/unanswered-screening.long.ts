/**
 * The built program beside a screening hook that does not run, for minutes of real time: deposits arrive and payments are
 * requested, and nothing is released. Then the example's hook starts, and everything continues.
 * `TIDEGATE_SCREENING_MINUTES` is how long the hook is away.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { servedScopes } from '../../src/contract/scopes.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { until } from '../support/awaited.ts'
import { note } from '../support/note.ts'
import { claimPort } from '../support/ports.ts'
import { ETHEREUM_ADDRESS } from '../support/rules.ts'
import { ensureBuilt, type ServiceProcess, startServiceProcess, temporaryFolder } from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const MINUTES = Number(process.env.TIDEGATE_SCREENING_MINUTES ?? 1)
const EVERY_MILLISECONDS = 3_000
/** The longest pause between two requests for one question is 90 s. */
const CONTINUES_WITHIN_MILLISECONDS = 150_000
const HOOK = join(import.meta.dirname, '../../examples/screening/hook.mjs')
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const ORCHESTRATIONS = '/v2/orchestration/orchestrations'

const folder = temporaryFolder()
let service: ServiceProcess
let stopHook: (() => void) | undefined
beforeAll(() => ensureBuilt())
afterAll(async () => {
  stopHook?.()
  await service?.stop()
  folder.remove()
})

class Customer {
  readonly deposits: string[] = []
  readonly payments: string[] = []
  readonly #token: string
  readonly #profileId: string
  readonly #address: string

  private constructor(token: string, profileId: string, address: string) {
    this.#token = token
    this.#profileId = profileId
    this.#address = address
  }

  static async create(): Promise<Customer> {
    const { id } = await service.operator.call<Json>('POST', '/customers', { name: 'Northwind' })
    const scopes = servedScopes(false)
    const client = await service.operator.call<Json>('POST', `/customers/${id}/clients`, { name: 'all', scopes })
    const { client_id: clientId, client_secret: clientSecret } = client
    const token = await fetchToken({ authUrl: service.http, clientId, clientSecret, scope: scopes.join(' ') })
    const account = { account: { identity_id: 'ada' }, create_profile: true }
    const { profile_id } = await callWith(token, 'POST', '/v2/identity/accounts', account)
    const place = { profile_id, crypto_network: 'ETHEREUM' }
    const { address } = await callWith(token, 'POST', '/v2/transfer/deposit-addresses', place)
    return new Customer(token, profile_id, address)
  }

  async receive(amount: string): Promise<void> {
    const number = String(this.deposits.length + 1)
    const crypto = { network: 'ETHEREUM', address: this.#address, tx_hash: number.padStart(64, '0'), tx_index: 0 }
    const report = { source: 'custody', external_id: number, asset: 'USDC', amount, crypto }
    const occurred_at = new Date().toISOString()
    this.deposits.push((await service.operator.call<Json>('POST', '/deposits', { ...report, occurred_at })).id)
  }

  async pay(): Promise<void> {
    const { id } = await callWith(this.#token, 'POST', ORCHESTRATIONS, {
      ref_id: `payment ${this.payments.length}`,
      source: { profile: { profile_id: this.#profileId } },
      source_asset: 'USDC',
      destination_asset: 'USDC',
      source_amount: '1',
      destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    })
    this.payments.push(id)
  }

  async available(): Promise<string> {
    const { items } = await callWith(this.#token, 'GET', `/v2/profiles/${this.#profileId}/balances`)
    return items.find(({ asset }: Json) => asset === 'USDC').available
  }

  async waitingPayments(): Promise<number> {
    const { items } = await callWith(this.#token, 'GET', `${ORCHESTRATIONS}?status=PROCESSING&limit=1000`)
    return items.filter(({ waiting_for }: Json) => waiting_for === 'SCREENING').length
  }
}

async function callWith(token: string, method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(`${service.http}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  expect(response.status, JSON.stringify(answer)).toBe(200)
  return answer
}

/** The payments handed out to an executor now. */
async function claim(): Promise<readonly string[]> {
  const request = { executor: 'treasury', limit: 100, lease_seconds: 3_600 }
  const { items } = await service.operator.call<Json>('POST', '/deliveries/claim', request)
  return items.map(({ orchestration_id }: Json) => orchestration_id)
}

async function openScreenings(status: string): Promise<readonly Json[]> {
  return (await service.operator.call<Json>('GET', `/screening?status=${status}&limit=1000`)).items
}

function startHook(port: number): () => void {
  const env = { ...process.env, PORT: String(port), TIDEGATE_WEBHOOK_SECRET: SECRET }
  const child = spawn(process.execPath, [HOOK], { env, stdio: 'inherit' })
  return () => child.kill('SIGTERM')
}

it(`while the hook is away for ${MINUTES} minutes nothing is released, and everything continues when it is back`, async () => {
  service = await startServiceProcess('serve', folder.path, ALL_KEYS)
  const customer = await Customer.create()
  await customer.receive('1000000')
  await service.stop()
  const port = await claimPort()
  const url = { 'screening.url': `http://127.0.0.1:${port}/`, 'screening.secrets': SECRET }
  service = await startServiceProcess('serve', folder.path, { ...ALL_KEYS, ...url })
  const ends = Date.now() + MINUTES * 60_000
  while (Date.now() < ends) {
    await customer.receive('5')
    await customer.pay()
    expect(await claim()).toEqual([])
    // Reserved for the payments, and not one of the deposits of 5.
    expect(await customer.available()).toBe(String(1_000_000 - customer.payments.length))
    await new Promise((resolve) => setTimeout(resolve, EVERY_MILLISECONDS))
  }
  const asked = await openScreenings('PENDING')
  expect(asked.length).toBe(customer.deposits.length - 1 + customer.payments.length)
  expect(await customer.waitingPayments()).toBe(customer.payments.length)
  const requests = asked.reduce((sum, { attempts }) => sum + attempts, 0)
  const { findings } = await service.operator.call<Json>('GET', '/doctor')
  expect(findings).toContainEqual(
    expect.objectContaining({ name: 'screening', verdict: MINUTES > 1 ? 'bad' : expect.any(String) }),
  )
  const begins = Date.now()
  stopHook = startHook(port)
  const paid: string[] = []
  const isDone = async () => {
    paid.push(...(await claim()))
    return paid.length === customer.payments.length && (await openScreenings('PENDING')).length === 0
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 500))
  await until('everything to continue', isDone, pause, CONTINUES_WITHIN_MILLISECONDS)
  const seconds = Math.round((Date.now() - begins) / 1_000)
  expect(paid.toSorted()).toEqual(customer.payments.toSorted())
  const received = 5 * (customer.deposits.length - 1)
  expect(await customer.available()).toBe(String(1_000_000 - customer.payments.length + received))
  note(
    `${MINUTES} min without the hook: ${customer.deposits.length - 1} deposits and ${customer.payments.length} payments ` +
      `waited, ${requests} requests failed, nothing was released. All continued within ${seconds} s`,
  )
})
