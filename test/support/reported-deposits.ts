/** A cluster's money under faults: continuously reported deposits, and the executor for the resulting payments. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, vi } from 'vitest'
import type { ClusterProcess } from './cluster.ts'
import { CLUSTER_POLL } from './cluster-watch.ts'
import { ETHEREUM_ADDRESS } from './rules.ts'

const DEPOSIT_MILLISECONDS = 200
/** After this time, a request to a suspended process is given up. */
const REQUEST_MILLISECONDS_MAX = 5_000

type Json = Record<string, unknown>

/**
 * Reports deposits through both APIs continuously, each until it is acknowledged. A rule converts and delivers them.
 */
export class ReportedDeposits {
  acknowledged = 0
  #attempts = 0
  readonly #apis: () => readonly ClusterProcess[]
  readonly #token: string
  #address = ''
  #isStopped = false
  /** False: the last one may have been taken although it was not acknowledged. */
  #isLastKnown = true
  #done: Promise<void> = Promise.resolve()

  constructor(apis: () => readonly ClusterProcess[], token: string) {
    this.#apis = apis
    this.#token = token
  }

  async start(): Promise<void> {
    const account = { account: { identity_id: 'alice' }, create_profile: true }
    const { profile_id } = await this.#call('POST', '/v2/identity/accounts', account)
    const instruction = { profile_id, crypto_network: 'ETHEREUM' }
    const { address } = await this.#call('POST', '/v2/transfer/deposit-addresses', instruction)
    this.#address = address as string
    await this.#call('POST', '/v2/orchestration/rules', {
      ref_id: 'rule',
      profile_id,
      source_asset: 'USDC',
      destination_asset: 'USDG',
      source: { profile: { profile_id } },
      destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    })
    this.#done = this.#run()
  }

  /** Reports no more. */
  end(): void {
    this.#isStopped = true
    this.#isLastKnown = true
  }

  /**
   * Stops reporting when the last deposit is acknowledged. Resolves with each deposit's orchestration status when all
   * are final.
   */
  async stop(): Promise<readonly unknown[]> {
    this.#isStopped = true
    await this.#done
    return await vi.waitFor(async () => {
      const statuses = await this.#statuses()
      const counts = {
        orchestrations: statuses.length,
        open: statuses.filter((status) => status === 'PROCESSING').length,
      }
      expect(counts).toEqual({ orchestrations: this.acknowledged, open: 0 })
      return statuses
    }, CLUSTER_POLL)
  }

  async #statuses(): Promise<readonly unknown[]> {
    const statuses: unknown[] = []
    for (let page = '/v2/orchestration/orchestrations?limit=500'; ; ) {
      const { items, next_page_cursor: next } = await this.#call('GET', page)
      statuses.push(...(items as Json[]).map(({ status }) => status))
      if (typeof next !== 'string' || next === '') return statuses
      page = `/v2/orchestration/orchestrations?limit=500&page_cursor=${encodeURIComponent(next)}`
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped || !this.#isLastKnown) {
      const apis = this.#apis()
      const isAcknowledged = await this.#report(apis[this.#attempts++ % apis.length]).catch(() => false)
      if (isAcknowledged) this.acknowledged++
      this.#isLastKnown = isAcknowledged
      await new Promise((resolve) => setTimeout(resolve, DEPOSIT_MILLISECONDS))
    }
  }

  async #report(api: ClusterProcess | undefined): Promise<boolean> {
    if (api === undefined) return false
    const number = this.acknowledged + 1
    const response = await fetch(`${api.operator.url}/admin/v1/deposits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.operator.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        source: 'custody',
        external_id: `payment ${number}`,
        asset: 'USDC',
        amount: '1.5',
        crypto: {
          network: 'ETHEREUM',
          address: this.#address,
          tx_hash: number.toString(16).padStart(64, '0'),
          tx_index: 0,
        },
        occurred_at: '2026-11-22T12:00:00Z',
      }),
      signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX),
    })
    await response.arrayBuffer()
    return response.ok
  }

  async #call(method: string, path: string, body?: object): Promise<Json> {
    const [api] = this.#apis()
    const response = await fetch(`${api?.http}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).toBe(200)
    return JSON.parse(text)
  }
}

/** Pays every delivery at once. Two with one reference would be refused. */
export function startExecutor(): Server {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ status: 'SETTLED', reference: request.headers['webhook-id'] }))
    })
  })
  return server.listen(0, '127.0.0.1')
}

/** The settings that send deliveries there. */
export function executorFlags(executor: Server) {
  return {
    'deliveries.webhook_url': `http://127.0.0.1:${(executor.address() as AddressInfo).port}/pay`,
    'deliveries.webhook_secrets': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  }
}
