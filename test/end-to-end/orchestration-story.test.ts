/**
 * What rules do with deposits, through the public and the operator API alone, with a live book of a venue and an
 * executor at a webhook: every balance is checked to the last digit after every step.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { servedScopes } from '../../src/contract/scopes.ts'
import { fetchToken } from '../support/sample-client.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'

const OUTSIDE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const XPUB =
  'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const folder = temporaryFolder()
let venue: WebSocketServer
let executor: Server
let service: ServiceInside
let token: string
let profileId: string
let accountId: string

/** What the executor does with the next request. */
let executorAnswer: () => { status: number; body?: object } | 'cut' = () => ({ status: 200, body: { status: 'ACCEPTED' } })
const executorRequests: { readonly id: string; readonly body: Json }[] = []

async function call(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${service.http}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

async function ok(method: string, path: string, body?: object): Promise<Json> {
  const answer = await call(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

async function balances(id = profileId): Promise<Record<string, string>> {
  const { items } = await ok('GET', `/v2/profiles/${id}/balances`)
  const shown = items.map((item: Json) => [
    item.asset,
    [item.available, item.in_transit, item.held].map((amount: string) => amount || '0').join('/'),
  ])
  return Object.fromEntries(shown)
}

let payments = 0

function deposit(asset: string, amount: string, network: string, address: string) {
  const tx_hash = `0x${(++payments).toString(16).padStart(64, '0')}`
  const hash = network === 'BITCOIN' ? tx_hash.slice(2) : tx_hash
  return service.operator.call<Json>('POST', '/deposits', {
    source: 'custody',
    external_id: `payment ${payments}`,
    asset,
    amount,
    crypto: { network, address, tx_hash: hash, tx_index: 0 },
    occurred_at: '2026-11-22T12:00:00Z',
  })
}

async function orchestrationOf(depositId: string, until: (found: Json) => boolean): Promise<Json> {
  return await expect.poll(async () => {
    const { items } = await ok('GET', '/v2/orchestration/orchestrations?limit=1000')
    const found = items.find((item: Json) => item.deposit_id === depositId)
    return found !== undefined && until(found) ? found : undefined
  }).toBeDefined().then(async () => {
    const { items } = await ok('GET', '/v2/orchestration/orchestrations?limit=1000')
    return items.find((item: Json) => item.deposit_id === depositId)
  })
}

const isFinal = ({ status }: Json) => status !== 'PROCESSING'

let refs = 0

async function newRule(changes: object): Promise<Json> {
  const { rule } = await ok('POST', '/v2/orchestration/rules', {
    ref_id: `rule ${++refs}`,
    profile_id: profileId,
    source: { crypto: { network: 'ETHEREUM' } },
    ...changes,
  })
  return rule
}

async function approved(rule: Json): Promise<Json> {
  return await service.operator.call<Json>('POST', `/rules/${rule.id}/approve`, {})
}
