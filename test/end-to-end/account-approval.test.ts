/** The setting `accounts.approval`: what a PENDING account does not get, and what waits until it is approved. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { servedScopes } from '../../src/contract/scopes.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { ETHEREUM_ADDRESS, ruleBody } from '../support/rules.ts'
import { type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const folder = temporaryFolder()
let service: ServiceInside
let token: string
let payments = 0
beforeAll(async () => {
  service = await startServiceInside(folder.path, [], ALL_KEYS)
  const { id } = await service.operator.call<Json>('POST', '/customers', { name: 'Northwind' })
  const scopes = servedScopes(false)
  const client = await service.operator.call<Json>('POST', `/customers/${id}/clients`, { name: 'all', scopes })
  const { client_id: clientId, client_secret: clientSecret } = client
  token = await fetchToken({ authUrl: service.http, clientId, clientSecret, scope: scopes.join(' ') })
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

async function call(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${service.http}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

async function newAccount(identity: string): Promise<{ accountId: string; profileId: string }> {
  const { body } = await call('POST', '/v2/identity/accounts', {
    account: { identity_id: identity },
    create_profile: true,
  })
  return { accountId: body.id, profileId: body.profile_id }
}

function newAddress(profileId: string) {
  return call('POST', '/v2/transfer/deposit-addresses', { profile_id: profileId, crypto_network: 'ETHEREUM' })
}

function deposit(address: string, amount: string): Promise<Json> {
  return service.operator.call('POST', '/deposits', {
    source: 'custody',
    external_id: `payment ${++payments}`,
    asset: 'USDC',
    amount,
    crypto: { network: 'ETHEREUM', address, tx_hash: payments.toString(16).padStart(64, '0'), tx_index: 0 },
    occurred_at: '2026-11-28T12:00:00Z',
  })
}

function decide(accountId: string, summary_status: string) {
  return service.operator.call('PATCH', `/accounts/${accountId}`, { summary_status })
}

async function orchestrationsOf(profileId: string): Promise<Json[]> {
  return (await call('GET', `/v2/orchestration/orchestrations?profile_id=${profileId}`)).body.items
}

describe('while accounts need approval', () => {
  it('while accounts need approval a PENDING account gets no address, memo, rule or orchestration, and its deposits are credited', async () => {
    const { accountId, profileId } = await newAccount('ada')
    const address = (await newAddress(profileId)).body.address
    service.reload({ 'accounts.approval': 'required' })
    const requests = [
      newAddress(profileId),
      call('POST', '/v2/transfer/fiat-deposit-instructions', {
        profile_id: profileId,
        fiat_network: 'WIRE',
        account_type: 'ABA',
      }),
      call('POST', '/v2/orchestration/rules', ruleBody(profileId)),
      call('POST', '/v2/orchestration/orchestrations', {
        ref_id: 'out',
        source: { profile: { profile_id: profileId } },
        source_asset: 'USDC',
        destination_asset: 'USDC',
        source_amount: '1',
        destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
      }),
    ]
    const refused = await Promise.all(requests)
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      Array(requests.length).fill([403, 'account_not_approved']),
    )
    await deposit(address, '7')
    const { body } = await call('GET', `/v2/profiles/${profileId}/balances`)
    expect(body.items).toEqual([{ asset: 'USDC', available: '7', in_transit: '0', held: '0' }])
    await decide(accountId, 'APPROVED')
    expect((await newAddress(profileId)).status).toBe(200)
  })

  it('while accounts need approval what a rule starts waits, can be cancelled, and continues when the account is approved', async () => {
    service.reload({ 'accounts.approval': 'auto' })
    const { accountId, profileId } = await newAccount('birch')
    const place = (await call('POST', '/v2/orchestration/rules', ruleBody(profileId))).body.rule.source.crypto.address
    service.reload({ 'accounts.approval': 'required' })
    const waiting = await Promise.all(['5', '6'].map((amount) => deposit(place, amount)))
    // The worker that finds the closed gate may come after the answer.
    const waits = async () =>
      (await orchestrationsOf(profileId)).map(({ status, waiting_for }) => [status, waiting_for])
    await expect.poll(waits).toEqual(Array(waiting.length).fill(['PROCESSING', 'APPROVAL']))
    const [{ id } = { id: '' }] = await orchestrationsOf(profileId)
    const { body } = await call('POST', `/v2/orchestration/orchestrations/${id}/cancel`, {})
    expect(body.fail_reason?.code).toBe('CANCELLED')
    await decide(accountId, 'APPROVED')
    const statuses = async () => (await orchestrationsOf(profileId)).map(({ status }) => status).sort()
    await expect.poll(statuses, { timeout: 4_000 }).toEqual(['COMPLETED', 'FAILED'])
  })

  it('while accounts need approval a profile without an account, made by the operator, counts as approved', async () => {
    const { items } = await service.operator.call<Json>('GET', '/customers')
    const profile = await service.operator.call<Json>('POST', `/customers/${items[0].id}/profiles`, { nickname: 'own' })
    expect((await newAddress(profile.id)).status).toBe(200)
  })
})
