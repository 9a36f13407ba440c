/**
 * Rules applied to deposits, through the public and the operator API alone, with the live book of a venue and an
 * executor behind a webhook: balances are checked to the last digit after every step.
 */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { servedScopes } from '../../src/contract/scopes.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { once } from '../support/awaited.ts'
import { releaseOf } from '../support/release.ts'
import { ETHEREUM_ADDRESS } from '../support/rules.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const folder = temporaryFolder()
let venue: WebSocketServer
let executor: Server
let service: ServiceInside
let stopService: (() => Promise<void>) | undefined
let token: string
let profileId: string
let accountId: string
let payments = 0
let refs = 0
/** The response of the executor to requests; undefined: it closes the connection. */
let answer: object | undefined = { status: 'ACCEPTED' }
const requests: Json[] = []
/** The best bid of USDC at the venue, and the connection that subscribed to it. */
let pegPrice = '0.9999'
let pegSocket: WebSocket | undefined

/** Lists two pairs and sends their books: 1.0 BTC at the best bid of 100,000.0, and USDC at its peg. */
function startVenue(): WebSocketServer {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const { method, params, req_id } = JSON.parse(String(data))
      if (method !== 'subscribe') return
      if (params.channel === 'instrument') {
        const pairs = [pairOf('BTC/USD', 1), pairOf('USDC/USD', 4)].join()
        socket.send(`{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[${pairs}]}}`)
      }
      if (params.channel !== 'book') return
      for (const symbol of params.symbol) {
        const result = { channel: 'book', symbol, depth: params.depth }
        socket.send(JSON.stringify({ method, success: true, result, req_id }))
        if (symbol === 'USDC/USD') {
          pegSocket = socket
          socket.send(bookMessage('snapshot', symbol, [[pegPrice, '5.0']], [[nextPrice(pegPrice), '5.0']]))
        } else {
          const bids = [
            ['100000.0', '1.0'],
            ['99999.0', '2.0'],
          ] as const
          socket.send(bookMessage('snapshot', symbol, bids, [['100001.0', '1.5']]))
        }
      }
    }),
  )
  return server
}

type Level = readonly [price: string, amount: string]

function pairOf(symbol: string, precision: number): string {
  return `{"symbol":"${symbol}","status":"online","price_precision":${precision},"qty_precision":1}`
}

/** @param gone levels that are removed; the checksum covers the others */
function bookMessage(
  type: 'snapshot' | 'update',
  symbol: string,
  bids: readonly Level[],
  asks: readonly Level[],
  gone: { readonly bids: readonly Level[]; readonly asks: readonly Level[] } = { bids: [], asks: [] },
): string {
  const digits = (text: string) => text.replace('.', '').replace(/^0+/, '')
  const checksum = crc32([...asks, ...bids].map(([price, amount]) => digits(price) + digits(amount)).join(''))
  const side = (levels: readonly Level[]) =>
    `[${levels.map(([price, amount]) => `{"price":${price},"qty":${amount}}`).join()}]`
  const levels = `"bids":${side([...gone.bids, ...bids])},"asks":${side([...gone.asks, ...asks])}`
  const time = type === 'update' ? `,"timestamp":"${new Date().toISOString()}"` : ''
  return `{"channel":"book","type":"${type}","data":[{"symbol":"${symbol}",${levels},"checksum":${checksum}${time}}]}`
}

function nextPrice(price: string): string {
  return (Number(price) + 0.0001).toFixed(4)
}

/** Sets the price of USDC at the venue; resolves when the service has applied it. */
async function movePeg(price: string, isInside: boolean): Promise<void> {
  const gone = { bids: [[pegPrice, '0.0']], asks: [[nextPrice(pegPrice), '0.0']] } as const
  pegPrice = price
  pegSocket?.send(bookMessage('update', 'USDC/USD', [[price, '5.0']], [[nextPrice(price), '5.0']], gone))
  const holds = () => service.operator.metric('tidegate_peg_holds{market="USDCUSD"}')
  await expect.poll(holds).toBe(isInside ? 1 : 0)
}

function startExecutor(): Server {
  return createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      requests.push(JSON.parse(Buffer.concat(parts).toString()))
      if (answer === undefined) request.socket.destroy()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
}

async function addressOf(server: { address(): AddressInfo | string | null }): Promise<string> {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function call(method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(`${service.http}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  expect(response.status, `${method} ${path}: ${text}`).toBe(200)
  return JSON.parse(text)
}

/** Available, in-transit and held balances of every asset of the profile. */
async function balances(): Promise<Readonly<Record<string, string>>> {
  const { items } = await call('GET', `/v2/profiles/${profileId}/balances`)
  return Object.fromEntries(
    items.map(({ asset, available, in_transit, held }: Json) => [asset, `${available} ${in_transit} ${held}`]),
  )
}

async function newRule(changes: object): Promise<Json> {
  const body = { ref_id: `rule ${++refs}`, profile_id: profileId, source: { crypto: { network: 'ETHEREUM' } } }
  return (await call('POST', '/v2/orchestration/rules', { ...body, ...changes })).rule
}

function approve(rule: Json): Promise<Json> {
  return service.operator.call('POST', `/rules/${rule.id}/approve`, {})
}

/** Reports a payment to an address, as a custodian does. */
async function deposit({ network, address }: Json, asset: string, amount: string): Promise<Json> {
  const hash = (++payments).toString(16).padStart(64, '0')
  const made = await service.operator.call<Json>('POST', '/deposits', {
    source: 'custody',
    external_id: `payment ${payments}`,
    asset,
    amount,
    crypto: { network, address, tx_hash: hash, tx_index: 0 },
    occurred_at: '2026-11-22T12:00:00Z',
  })
  return await call('GET', `/v2/transfer/transfers/${made.id}`)
}

/** Resolves to the orchestration of a deposit, or with a `ref_id`, as soon as the condition holds. */
async function orchestration(matches: (found: Json) => boolean, isSo: (found: Json) => boolean): Promise<Json> {
  let found: Json
  await expect
    .poll(async () => {
      const { items } = await call('GET', '/v2/orchestration/orchestrations')
      found = items.find(matches)
      return found !== undefined && isSo(found)
    })
    .toBe(true)
  return found
}

const ofDeposit =
  ({ id }: Json) =>
  (found: Json) =>
    found.deposit_id === id

const isFinal = ({ status }: Json) => status !== 'PROCESSING'

beforeAll(async () => {
  venue = startVenue()
  executor = startExecutor().listen(0, '127.0.0.1')
  await Promise.all([once(venue, 'listening'), once(executor, 'listening')])
  service = await startServiceInside(
    folder.path,
    [market('BTC', 1, 10, 'kraken:BTC/USD', 1), market('USDC', 4, 10, 'kraken:USDC/USD', 1)],
    {
      ...ALL_KEYS,
      'feeds.kraken.url': `ws://${await addressOf(venue)}`,
      'rules.approval': 'required',
      // The books of the test hardly ever change.
      'conversion.book_age_seconds_max': 3_600,
      'deliveries.webhook_url': `http://${await addressOf(executor)}/pay`,
      'deliveries.webhook_secrets': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    },
  )
  stopService = service.stop
  const { id: customerId } = await service.operator.call<Json>('POST', '/customers', { name: 'story' })
  const scopes = servedScopes(false)
  const client = await service.operator.call<Json>('POST', `/customers/${customerId}/clients`, {
    name: 'story',
    scopes,
  })
  const { client_id: clientId, client_secret: clientSecret } = client
  token = await fetchToken({ authUrl: service.http, clientId, clientSecret, scope: scopes.join(' ') })
  const account = await call('POST', '/v2/identity/accounts', {
    account: { identity_id: 'alice' },
    create_profile: true,
  })
  profileId = account.profile_id
  accountId = account.id
})

afterAll(async () => {
  await stopService?.()
  executor?.closeAllConnections()
  executor?.close()
  for (const socket of venue?.clients ?? []) socket.terminate()
  venue?.close()
  folder.remove()
})

describe('a rule with a conversion at par', () => {
  let rule: Json
  let place: Json

  it('a rule with a conversion at par has no effect while it is PENDING: a deposit is only credited', async () => {
    const wanted = { profile_id: profileId, crypto_network: 'ETHEREUM' }
    const { address } = await call('POST', '/v2/transfer/deposit-addresses', wanted)
    place = { network: 'ETHEREUM', address }
    rule = await newRule({
      source_asset: 'USDC',
      destination_asset: 'USDG',
      source: { profile: { profile_id: profileId } },
      destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    })
    expect(rule).toMatchObject({ status: 'PENDING' })
    const credited = await deposit(place, 'USDC', '40.000001')
    expect(credited).toMatchObject({
      status: 'COMPLETED',
      amount: '40.000001',
      disposition: { code: 'RULE_NOT_ACTIVE' },
    })
    expect(await balances()).toEqual({ USDC: '40.000001 0 0' })
  })

  it('a rule with a conversion at par converts and delivers once it is ACTIVE', async () => {
    rule = await approve(rule)
    answer = { status: 'ACCEPTED' }
    const arrived = await deposit(place, 'USDC', '100')
    expect(arrived).toMatchObject({ status: 'COMPLETED', disposition: { code: 'ORCHESTRATED' } })
    await expect.poll(() => requests.length).toBe(1)
    expect(await balances()).toEqual({ USDC: '40.000001 0 0', USDG: '0 100 0' })
    const sent = async () => (await service.operator.call<Json>('GET', '/deliveries?status=SENT')).items
    await expect.poll(sent).toHaveLength(1)
    const [delivery] = await sent()
    await service.operator.call('POST', `/deliveries/${delivery.id}/settle`, {
      reference: 'payment order 1',
      attempt: delivery.attempt,
    })
    const done = await orchestration(ofDeposit(arrived), isFinal)
    expect(done).toMatchObject({
      status: 'COMPLETED',
      orchestration_rule_id: rule.id,
      source_amount: '100',
      destination_amount: '100',
      price: '1',
      receipt: { initial_amount: '100', fee_amount: '0', converted_amount: '100', rate: '1', outgoing_amount: '100' },
      source_transfer: { transfer_id: arrived.id, status: 'COMPLETED' },
      destination_transfer: { transfer_id: delivery.id, status: 'COMPLETED' },
    })
    expect(await balances()).toEqual({ USDC: '40.000001 0 0', USDG: '0 0 0' })
  })

  it('a rule with a conversion at par returns the funds when the executor refuses the payment', async () => {
    answer = { status: 'REFUSED', code: 'CLOSED', detail: 'the account is closed' }
    const done = await orchestration(ofDeposit(await deposit(place, 'USDC', '25.5')), isFinal)
    expect(done).toMatchObject({ status: 'FAILED', fail_reason: { code: 'REFUSED' } })
    expect(await balances()).toEqual({ USDC: '40.000001 0 0', USDG: '25.5 0 0' })
  })

  it('a rule with a conversion at par waits while the outcome of a payment is unknown, until the operator resolves it', async () => {
    answer = undefined
    const count = requests.length
    const arrived = await deposit(place, 'USDC', '10')
    await expect.poll(() => requests.length).toBeGreaterThan(count)
    const { items } = await service.operator.call<Json>('GET', '/deliveries')
    const delivery = items.find(({ amount, status }: Json) => amount === '10' && status !== 'SETTLED')
    expect(await balances()).toMatchObject({ USDG: '25.5 10 0' })
    const shown = await service.operator.call<Json>('GET', `/deliveries/${delivery.id}`)
    await service.operator.call('POST', `/deliveries/${delivery.id}/settle`, {
      reference: 'payment order 2',
      attempt: shown.attempt,
    })
    expect(await orchestration(ofDeposit(arrived), isFinal)).toMatchObject({ status: 'COMPLETED' })
    expect(await balances()).toMatchObject({ USDG: '25.5 0 0' })
  })

  it('a rule with a conversion at par only credits deposits after it is deleted', async () => {
    await call('DELETE', `/v2/orchestration/rules/${rule.id}`)
    expect(await deposit(place, 'USDC', '5')).toMatchObject({ disposition: { code: 'RULE_NOT_ACTIVE' } })
    expect(await balances()).toEqual({ USDC: '45.000001 0 0', USDG: '25.5 0 0' })
  })
})

describe('a rule with a market conversion', () => {
  it('a rule with a market conversion converts at the depth of the live book', async () => {
    const source = { crypto: { network: 'BITCOIN' } }
    const rule = await approve(await newRule({ source_asset: 'BTC', destination_asset: 'USD', source }))
    const done = await orchestration(ofDeposit(await deposit(rule.source.crypto, 'BTC', '1.5')), isFinal)
    expect(done).toMatchObject({ status: 'COMPLETED', destination_amount: '149999.5', price_source: 'BTCUSD' })
    expect(await balances()).toEqual({ BTC: '0 0 0', USD: '149999.5 0 0', USDC: '45.000001 0 0', USDG: '25.5 0 0' })
    const { explanation } = await service.operator.call<Json>('GET', `/orchestrations/${done.id}/price`)
    expect(explanation.adds_up).toBe(true)
  })
})

describe('an orchestration requested by the customer', () => {
  it('an orchestration requested by the customer transfers funds out of a balance', async () => {
    answer = { status: 'SETTLED', reference: 'payment order 3' }
    await call('POST', '/v2/orchestration/orchestrations', {
      ref_id: 'out 1',
      source: { profile: { profile_id: profileId } },
      source_asset: 'USDC',
      destination_asset: 'USDG',
      source_amount: '45.000001',
      destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    })
    const done = await orchestration(({ ref_id }) => ref_id === 'out 1', isFinal)
    expect(done).toMatchObject({ status: 'COMPLETED', destination_amount: '45.000001' })
    expect(await balances()).toMatchObject({ USDC: '0 0 0', USDG: '25.5 0 0' })
  })
})

describe('a rule at par within a monitored peg', () => {
  let place: Json
  const waits = (reason: string) => (found: Json) => found.waiting_for === reason
  const control = (assets: readonly string[]) => service.operator.call('PATCH', '/controls', { paused: { assets } })
  const review = (admin_disabled: boolean) =>
    service.operator.call('PATCH', `/accounts/${accountId}`, { admin_disabled })

  beforeAll(async () => {
    const rule = await approve(await newRule({ source_asset: 'USDC', destination_asset: 'USD' }))
    place = rule.source.crypto
  })

  it('a rule at par within a monitored peg waits while the price is at 0.97, and continues when it is back at 0.999', async () => {
    await movePeg('0.9700', false)
    const arrived = await deposit(place, 'USDC', '7')
    const waiting = await orchestration(ofDeposit(arrived), waits('PEG'))
    expect(waiting).toMatchObject({ status: 'PROCESSING' })
    expect(await balances()).toMatchObject({ USDC: '0 7 0', USD: '149999.5 0 0' })
    await movePeg('0.9990', true)
    const done = await orchestration(ofDeposit(arrived), isFinal)
    expect(done).toMatchObject({ status: 'COMPLETED', destination_amount: '7', price: '1' })
    expect(await balances()).toMatchObject({ USDC: '0 0 0', USD: '150006.5 0 0' })
  })

  it('a rule within a monitored peg only credits deposits while paused; earlier orchestrations wait, and then continue', async () => {
    await movePeg('0.9700', false)
    const before = await deposit(place, 'USDC', '3')
    await orchestration(ofDeposit(before), waits('PEG'))
    await control(['USDC'])
    expect(await deposit(place, 'USDC', '2')).toMatchObject({ disposition: { code: 'PAUSED' } })
    expect(await balances()).toMatchObject({ USDC: '2 3 0' })
    await orchestration(ofDeposit(before), waits('PAUSED'))
    await movePeg('0.9990', true)
    await control([])
    expect(await orchestration(ofDeposit(before), isFinal)).toMatchObject({ status: 'COMPLETED' })
    expect(await balances()).toMatchObject({ USDC: '2 0 0', USD: '150009.5 0 0' })
  })

  it('a rule within a monitored peg only credits deposits of a blocked account; earlier orchestrations are held until release', async () => {
    await movePeg('0.9700', false)
    const before = await deposit(place, 'USDC', '4')
    const { id } = await orchestration(ofDeposit(before), waits('PEG'))
    await review(true)
    expect(await deposit(place, 'USDC', '1')).toMatchObject({ disposition: { code: 'ACCOUNT_BLOCKED' } })
    await orchestration(ofDeposit(before), waits('HOLD'))
    await movePeg('0.9990', true)
    expect(await orchestration(ofDeposit(before), () => true)).toMatchObject({ waiting_for: 'HOLD' })
    const held = await service.operator.call('GET', `/orchestrations/${id}`)
    await service.operator.call('POST', `/orchestrations/${id}/release`, releaseOf(held))
    await review(false)
    expect(await orchestration(ofDeposit(before), isFinal)).toMatchObject({ status: 'COMPLETED' })
    expect(await balances()).toMatchObject({ USDC: '3 0 0', USD: '150013.5 0 0' })
  })
})

it('the ledger balances in the end', async () => {
  expect(await service.operator.metric('tidegate_ledger_imbalance')).toBe(0)
})

// A store on a server is asked before the start: see test/service/doctor/decimals-check.
it.runIf(inject('engine') === 'embedded')(
  'the service does not start with other decimals of an asset that it has counted',
  async () => {
    await stopService?.()
    stopService = undefined
    const changed = {
      assets: '[{symbol: USDC, decimals: 2, networks: [ETHEREUM]}]',
      'conversion.par_assets': '[USDC]',
    }
    const fault = 'assets: USDC has 2 decimals, but its amounts in the ledger have 6. Decimals cannot change'
    await expect(startServiceInside(folder.path, [], { ...ALL_KEYS, ...changed })).rejects.toThrow(fault)
  },
)
