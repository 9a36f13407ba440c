/**
 * How long the service's event loop is blocked while it answers a list's longest pages: large accounts up to the page's
 * byte limit (2 MiB), and 1,000 small ones. The client is its own thread. Every request is for another page, so that no
 * cache helps. The longest delay during each response counts, sampled every millisecond. The reference requests pages
 * with one record.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { sql } from '../src/platform/store/sql.ts'
import { fillAccounts } from '../test/support/many-records.ts'
import { RestNode } from '../test/support/rest.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const FIRST_MILLISECONDS = Date.parse('2026-01-01T00:00:00Z')
const ACCOUNTS = 6_000

export function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  return measureStores((engine, db) => measure(engine, db, quick ? 10 : 60))
}

async function measure(engine: string, db: Db, rounds: number): Promise<BenchResult[]> {
  await migrate(db, createLog('error'))
  const node = await RestNode.open({ db, ratePerSecond: 1_000_000 })
  const [small, large] = [await node.newCustomer(), await node.newCustomer()]
  for (const { customerId } of [small, large]) {
    await fillAccounts(db, { customerId, count: ACCOUNTS, firstMilliseconds: FIRST_MILLISECONDS })
  }
  // 16 KiB of metadata, an account's maximum.
  await sql`update accounts set metadata = ${`{"text":"${'x'.repeat(16_000)}"}`}::text
    where customer_id = ${large.customerId}`.execute(db.tables())
  const client = new Client(node.url)
  const works = [
    { name: 'pages of one account', token: small.token, limit: 1 },
    { name: 'pages of 1,000 small accounts', token: small.token, limit: 1_000 },
    { name: 'pages of 2 MiB of large accounts', token: large.token, limit: 1_000 },
  ]
  const results: BenchResult[] = works.map(({ name }) => ({ name: `${engine}: ${name}`, unit: 'ms', runs: [] }))
  const cursors: (string | undefined)[] = works.map(() => undefined)
  for (let round = -5; round < rounds; round++) {
    for (const [index, { token, limit }] of works.entries()) {
      const cursor = cursors[index]
      const path = `/v2/identity/accounts?limit=${limit}${cursor === undefined ? '' : `&page_cursor=${cursor}`}`
      const delays = monitorEventLoopDelay({ resolution: 1 })
      delays.enable()
      cursors[index] = await client.get(path, token)
      delays.disable()
      if (round >= 0) results[index]?.runs.push(delays.max / 1e6)
    }
  }
  await client.end()
  await node.close()
  return results
}

/** Requests pages from its own thread. Returns only the next page's cursor. */
class Client {
  readonly #thread: Worker
  #pending: { resolve: (cursor: string | undefined) => void; reject: (error: Error) => void } | undefined

  constructor(url: string) {
    const code = `
      const { parentPort } = require('node:worker_threads')
      parentPort.on('message', async ({ path, token }) => {
        const answer = await fetch(${JSON.stringify(url)} + path, { headers: { authorization: 'Bearer ' + token } })
        const text = await answer.text()
        if (answer.status !== 200) throw new Error(text)
        parentPort.postMessage(JSON.parse(text).next_page_cursor)
      })`
    this.#thread = new Worker(code, { eval: true, execArgv: [] })
    this.#thread.on('message', (cursor: string | undefined) => this.#pending?.resolve(cursor))
    this.#thread.on('error', (error) => this.#pending?.reject(error))
  }

  get(path: string, token: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#thread.postMessage({ path, token })
    })
  }

  async end(): Promise<void> {
    await this.#thread.terminate()
  }
}
