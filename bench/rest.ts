/**
 * The REST API over HTTP on both store engines. A page with 100 accounts out of a million, at the front of the list and
 * deep in it, is compared with the statement alone through the same driver in the same run. Also creating an account,
 * and a token. Service and client are one process, so every figure includes the client's share.
 */
import { Agent, request } from 'node:http'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { sql } from '../src/platform/store/sql.ts'
import { analyze, fillAccounts } from '../test/support/many-records.ts'
import { RestNode } from '../test/support/rest.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const FIRST_MILLISECONDS = Date.parse('2026-01-01T00:00:00Z')
const PAGE = 100
const CALLERS = 16

export function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { count: 20_000, rounds: 100 } : { count: 1_000_000, rounds: 500 }
  return measureStores((engine, db) => measure(engine, db, size))
}

interface Size {
  readonly count: number
  readonly rounds: number
}

/** Sends one request and returns its response's text, which must be successful. */
type Send = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: string) => Promise<string>

async function measure(engine: string, db: Db, { count, rounds }: Size): Promise<BenchResult[]> {
  await migrate(db, createLog('error'))
  const node = await RestNode.open({ db, ratePerSecond: 1_000_000 })
  const customer = await node.newCustomer()
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
  const send = sender(node.url, agent)
  const authorization = `Bearer ${customer.token}`
  await fillAccounts(db, { customerId: customer.customerId, count, firstMilliseconds: FIRST_MILLISECONDS })
  await analyze(db)
  const list = (cursor?: string) => () =>
    send('GET', `/v2/identity/accounts${cursor === undefined ? '' : `?page_cursor=${cursor}`}`, { authorization })
  // The oldest records come last: a hundredth of them follows this position.
  const deepTime = new Date(FIRST_MILLISECONDS + count / 300).toISOString()
  const { next_page_cursor } = JSON.parse(await list()()) as { next_page_cursor: string }
  const works = {
    'bare statement, first page': () => bare(db, customer.customerId),
    'list, first page': list(),
    'bare statement, deep page': () => bare(db, customer.customerId, deepTime),
    'list, deep page': list(cursorAt(next_page_cursor, deepTime)),
    'create an account with a profile': () =>
      send('POST', '/v2/identity/accounts', { authorization, 'content-type': 'application/json' }, NEW_ACCOUNT),
  }
  const results = await interleaved(engine, works, rounds)
  results.push(...(await tokens(engine, node, send, rounds)))
  agent.destroy()
  await node.close()
  return results
}

const NEW_ACCOUNT = JSON.stringify({ account: { identity_id: 'person-1' }, create_profile: true })

/** One call each in alternation, so that the machine's load affects all alike. */
async function interleaved(
  engine: string,
  works: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<BenchResult[]> {
  const results = Object.keys(works).map((what) => ({ name: `${engine}: ${what}`, unit: 'ms', runs: [] as number[] }))
  const warmUp = Math.ceil(rounds / 5)
  for (let round = -warmUp; round < rounds; round++) {
    for (const [index, work] of Object.values(works).entries()) {
      const start = performance.now()
      await work()
      if (round >= 0) results[index]?.runs.push(performance.now() - start)
    }
  }
  return results
}

async function tokens(engine: string, node: RestNode, send: Send, rounds: number): Promise<BenchResult[]> {
  const { body: customer } = await node.operator('POST', '/customers', { name: 'asks for tokens' })
  const asked = { name: 'client', scopes: ['identity:read_account'] }
  const { body: client } = await node.operator('POST', `/customers/${customer.id}/clients`, asked)
  const { client_id, client_secret } = client
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id,
    client_secret,
    scope: 'identity:read_account',
  }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const grant = () => send('POST', '/oauth2/token', headers, form)
  const results = await interleaved(engine, { 'token, one after the other': grant }, rounds)
  const runs: number[] = []
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        for (let call = 0; call < rounds / 5; call++) await grant()
      }),
    )
    runs.push((CALLERS * Math.ceil(rounds / 5) * 1_000) / (performance.now() - start))
  }
  return [...results, { name: `${engine}: tokens, ${CALLERS} at once`, unit: '/s', runs }]
}

/** A page's statement alone. */
async function bare(db: Db, customerId: string, before = '9999-01-01T00:00:00Z'): Promise<void> {
  await sql`
    select id, customer_id, identity_id, ref_id, description, metadata, members, type, review_status, admin_disabled,
      user_disabled, profile_id, created_at, updated_at
    from accounts where customer_id = ${customerId} and created_at < ${before}::timestamptz
    order by created_at desc, id desc limit ${PAGE + 1}
  `.execute(db.tables())
}

/** The cursor of a page far down the same list. */
function cursorAt(cursor: string, time: string): string {
  const [digest, , id] = Buffer.from(cursor, 'base64url').toString().split('|')
  return Buffer.from([digest, time, id].join('|')).toString('base64url')
}

function sender(url: string, agent: Agent): Send {
  return (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const sent = request(url + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) resolve(text)
          else reject(new Error(`${method} ${path} gave ${response.statusCode}: ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
}
