/**
 * Random valid and invalid requests, generated from the document that the service serves, to every operation: no
 * response is an internal error, and each conforms to the document in status, headers, content type and body.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '../../../src/contract/scopes.ts'
import { post } from '../../../src/money/ledger/ledger.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { insertTransfers } from '../../../src/money/transfers/store.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { nextCreationTime } from '../../../src/platform/store/creation-time.ts'
import type { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { storeCandles } from '../../streaming/candles/candle-market.ts'
import { LiveStream } from '../../streaming/gateway/live-stream.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { ApiDocument, closed, type Node } from '../../support/api-document.ts'
import { captureLog } from '../../support/captured-log.ts'
import { convertSettings } from '../../support/orchestrations.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'
import { type DescribedOperation, type FuzzRequest, RequestMaker } from './fuzz-requests.ts'
import { Known, ValueMaker } from './fuzz-values.ts'

const { seed = 0, numRuns = 0 } = propertySettings(250)
/** Records accumulate and lists grow: more requests would mostly read the same records again. */
const REQUESTS_PER_OPERATION = Math.min(Math.ceil(numRuns / 12), 250)
const { log, lines } = captureLog()

const stream = new LiveStream({ markets: ['BTCUSD'], depth: 0 })
let node: RestNode
let full: RestCustomer
let poor: RestCustomer
let document: ApiDocument
let operations: DescribedOperation[]

beforeAll(async () => {
  stream.snapshot(undefined, 'BTCUSD')
  stream.update([], [{ price: 150, amount: 1 }], 'BTCUSD')
  node = await RestNode.open({ hasTestSeed: true, log, hub: stream.hub })
  await storeCandles(node.db, stream.clock, stream.replicas.get('BTCUSD') as Replica)
  full = await node.newCustomer()
  await node.operator('PATCH', `/customers/${full.customerId}`, { streaming: true })
  poor = await node.newClient(full.customerId, ['exchange:read_aggregated_marketdata_stream'])
  document = new ApiDocument(closed((await node.send('GET', '/openapi.json')).body))
  operations = Object.entries<Node>(document.root.paths).flatMap(([path, methods]) =>
    Object.entries<Node>(methods).map(([method, operation]) => ({ path, method, operation })),
  )
})
afterAll(() => node?.close())

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const isError = (line: string) => line.includes('"level":50')

/** Returns how a response violates the document. */
function faultsOf({ operation }: DescribedOperation, method: string, { status, headers, text }: Answer): string[] {
  const described = document.resolve(operation.responses[status])
  if (described === undefined) return [`status ${status} is not described`]
  const faults: string[] = []
  for (const [name, header] of Object.entries<Node>(described.headers ?? {})) {
    const { required, schema } = document.resolve(header)
    const value = headers.get(name)
    if (value === null) {
      if (required === true) faults.push(`${name} is missing`)
    } else faults.push(...document.faults(schema, value).map((fault) => `${name}: ${fault}`))
  }
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  const media = described.content?.[type]
  if (described.content === undefined) faults.push(...(text === '' ? [] : ['a body is not described']))
  else if (media === undefined) faults.push(`${type} is not described`)
  else if (method !== 'HEAD') faults.push(...document.faults(media.schema, JSON.parse(text)))
  return faults
}

function send(request: FuzzRequest): Promise<Answer> {
  const tokens = {
    full: full.token,
    poor: poor.token,
    garbage: 'not-a-token',
    'no token': undefined,
    public: undefined,
  }
  const token = tokens[request.caller]
  const { contentType, body } = request
  return node.send(request.method, request.url, body, {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  })
}

/** A response that no generated request can cause. */
async function newTransfer(): Promise<string> {
  const { customerId } = full
  const { profileId } = await newAccount(full)
  return await node.db.transaction(async (transaction) => {
    const id = newId()
    const createdAt = await nextCreationTime(transaction, customerId)
    const what = { asset: 'USDC', amount: 1n, direction: 'CREDIT', type: 'WIRE_DEPOSIT', status: 'PENDING' } as const
    const transfer = { id, customerId, profileId, accountId: null, ...what, groupId: id, createdAt }
    await insertTransfers(transaction, [transfer])
    return id
  })
}

/** Transfers and converts funds as the document's example does: a random request hardly ever meets all conditions. */
async function moveFunds(profileId: string): Promise<string> {
  const credit = { bucket: 'available', profileId } as const
  const amount = { asset: 'USDC', amount: 10n ** 12n, debit: { bucket: 'external' }, credit, groupId: newId() } as const
  await node.db.transaction((transaction) => post(transaction, [amount]))
  const changes = { source_asset: 'USDC', source: { profile: { profile_id: profileId } } }
  const { id } = await createAsInExample('createOrchestration', changes)
  // As a worker does: it has a price then.
  const claims = await claimWork(node.db, { kinds: ['convert'], limit: 1, claimSeconds: 60 }, ALL_DUE)
  await node.db.transaction((transaction) => convertBatch(transaction, claims, convertSettings()))
  return id
}

/** Makes a record as the document shows it, but for these members: random ids seldom belong to each other. */
async function createAsInExample(operationId: string, changes: object): Promise<Node> {
  const described = operations.find(({ operation }) => operation.operationId === operationId)!
  const { example } = described.operation.requestBody.content['application/json']
  const answer = await full.call('POST', described.path, { ...example, ...changes })
  expect(answer.status, answer.text).toBe(200)
  expect(faultsOf(described, 'POST', answer)).toEqual([])
  return answer.body
}

/** Collects the ids and names of a response for later requests. */
function learn(known: Known, body: Node): void {
  const existing = body.meta?.existing
  const records: Node[] = body.items ?? [body.rule ?? existing ?? body]
  for (const record of records) {
    if (typeof record.id !== 'string') continue
    known.add('id', record.id)
    if (record.members !== undefined) known.add('account', record.id)
    if (record.specversion === undefined && record.source !== undefined) known.add('rule', record.id)
    if (record.compatible_crypto_networks !== undefined) known.add('deposit address', record.id)
    if (record.crypto_network !== undefined && record.usable_at !== undefined)
      known.add('destination address', record.id)
    if (record.memo_id !== undefined) known.add('fiat instructions', record.id)
    if (record.unverified !== undefined) known.add('fiat account', record.id)
    if (record.direction !== undefined) known.add('transfer', record.id)
    if (record.last_sequence !== undefined) known.add('webhook endpoint', record.id)
    if (record.specversion !== undefined) known.add('event', record.id)
    for (const [kind, name] of Object.entries({ profile: 'profile_id', ref: 'ref_id', address: 'address' })) {
      if (typeof record[name] === 'string') known.add(kind, record[name])
    }
  }
  if (typeof body.access_token === 'string') known.add('token', body.access_token)
  if (typeof body.next_page_cursor === 'string') known.add('cursor', body.next_page_cursor)
}

describe('random requests', () => {
  it('random requests are all answered as documented', async () => {
    const random = new Random(seed)
    const known = new Known()
    for (const asset of ['BTC', 'ETH', 'USD', 'USDC', 'SOL', 'NO_CONVERSION']) known.add('asset', asset)
    for (const scope of Object.keys(SCOPES)) known.add('scope', scope)
    const { body: client } = await node.operator('POST', `/customers/${full.customerId}/clients`, {
      name: 'asks for tokens',
      scopes: Object.keys(SCOPES),
    })
    known.add('client', client.client_id)
    known.add('secret', client.client_secret)
    known.add('market', 'BTCUSD')
    known.add('transfer', await newTransfer())
    const { profileId } = await newAccount(full)
    known.add('orchestration', await moveFunds(profileId))
    const { rule } = await createAsInExample('createRule', { profile_id: profileId })
    known.add('rule', rule.id)
    const endpoint = await createAsInExample('createWebhookEndpoint', {})
    learn(known, endpoint)
    // A random sequence is seldom one that exists.
    const replay = `/v2/webhooks/endpoints/${endpoint.id}/replay`
    expect((await full.call('POST', replay, { after: 0 })).status).toBe(200)
    for (const made of ['createCryptoDestinationAddress', 'createFiatAccount'])
      learn(known, await createAsInExample(made, {}))
    learn(known, await createAsInExample('createFiatDepositInstructions', { profile_id: profileId }))
    for (const identity of ['person-1', 'person-2']) known.add('identity', identity)
    const maker = new RequestMaker(document, random, known, new ValueMaker(document, random, known))
    const seen = new Map<string, Set<number>>([
      ['createOrchestration', new Set([200])],
      ['createRule', new Set([200])],
      ['createCryptoDestinationAddress', new Set([200])],
      ['createFiatAccount', new Set([200])],
      ['createWebhookEndpoint', new Set([200])],
      ['replayWebhookEndpoint', new Set([200])],
    ])
    for (let count = 0; count < REQUESTS_PER_OPERATION * operations.length; count++) {
      const described = operations[count % operations.length]!
      const request = maker.make(described)
      const answer = await send(request)
      const shown = () =>
        [`seed ${seed}, request ${count}`, JSON.stringify(request), answer.text, lines.findLast(isError) ?? '']
          .map((text) => text.slice(0, 3_000))
          .join('\n')
      expect(answer.status, shown()).toBeLessThan(500)
      if (request.expected !== undefined) expect(answer.status, shown()).toBe(request.expected)
      expect(faultsOf(described, request.method, answer), shown()).toEqual([])
      const { operationId } = described.operation
      seen.set(operationId, (seen.get(operationId) ?? new Set()).add(answer.status))
      if (answer.text !== '' && request.method !== 'HEAD') learn(known, JSON.parse(answer.text))
    }
    for (const { operation } of operations) {
      expect(seen.get(operation.operationId), `${operation.operationId}, seed ${seed}`).toContain(200)
    }
    expect([...seen.values()].flatMap((statuses) => [...statuses])).toEqual(
      expect.arrayContaining([400, 401, 403, 404, 409, 415]),
    )
    expect(lines.filter(isError)).toEqual([])
  })

  it('random requests are refused as documented beyond the rate limit', async () => {
    const slow = await RestNode.open({ db: node.db, ratePerSecond: 1, log })
    const [described] = operations.filter(({ operation }) => operation.operationId === 'listAccounts')
    const ask = () => slow.send('GET', '/v2/identity/accounts', undefined, { authorization: `Bearer ${full.token}` })
    const answers = [await ask(), await ask(), await ask()]
    await slow.close()
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    for (const answer of answers) expect(faultsOf(described!, 'GET', answer)).toEqual([])
  })
})
