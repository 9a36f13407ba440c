/**
 * The customers' load while the nodes behind one address are replaced: streams that reconnect as soon as they are
 * closed, and accounts that are created, read and listed, with new tokens, each request on its own connection. Records
 * every unexpected answer.
 */
import { type OperatorApi, STREAM_SCOPE } from './running-service.ts'
import { fetchToken, SampleClient } from './sample-client.ts'
import { Waiters } from './waiters.ts'

const ACCOUNT_SCOPES = ['identity:read_account', 'identity:write_account']
const REQUEST_EVERY_MILLISECONDS = 25
/** At once. The store rejects what it cannot do within 2 s, so a slower machine must get fewer requests. */
const REQUESTS_MAX = 4
const ACCOUNTS = '/v2/identity/accounts'

interface RollingLoadOptions {
  /** The balancer's address. */
  readonly url: string
  readonly operator: OperatorApi
  readonly market: string
  readonly streams: number
  /** Whether streams subscribe to executions too. Executions between two feeds are unknown, and end a subscription. */
  readonly hasExecutions: boolean
}

interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

export class RollingLoad {
  /** Requests and handshakes with an unexpected answer. */
  readonly failures: string[] = []
  /** The problems found by the stream's clients. */
  readonly problems: string[] = []
  /** For each connection closed by the service. */
  readonly closeCodes: number[] = []
  readonly #options: RollingLoadOptions
  readonly #client: Client
  readonly #created: string[] = []
  readonly #open = new Set<SampleClient>()
  readonly #running: Promise<void>[] = []
  readonly #waiters = new Waiters()
  #answers = 0
  #token = ''
  #isStopping = false

  private constructor(options: RollingLoadOptions, client: Client) {
    this.#options = options
    this.#client = client
  }

  static async start(options: RollingLoadOptions): Promise<RollingLoad> {
    const { operator, streams } = options
    const { id } = await operator.call<{ id: string }>('POST', '/customers', { name: 'rolling', streaming: true })
    const answer = await operator.call<{ client_id: string; client_secret: string }>(
      'POST',
      `/customers/${id}/clients`,
      { name: 'load', scopes: [STREAM_SCOPE, ...ACCOUNT_SCOPES] },
    )
    const load = new RollingLoad(options, { clientId: answer.client_id, clientSecret: answer.client_secret })
    load.#token = await load.#newToken(ACCOUNT_SCOPES.join(' '))
    for (let number = 0; number < streams; number++) load.#running.push(load.#stream())
    load.#running.push(load.#requests())
    await load.#waiters.until('all streams', () => load.#open.size === streams)
    return load
  }

  /** Resolves when that many more requests were answered, and every stream is open and has had more updates. */
  async more(requests: number): Promise<void> {
    const { streams } = this.#options
    const answers = this.#answers + requests
    await this.#waiters.until('more answers', () => this.#answers >= answers)
    await this.#waiters.until('all streams', () => this.#open.size === streams)
    const before = [...this.#open].map((client) => [client, client.counts.updates] as const)
    await Promise.all(
      before.map(([client, updates]) =>
        client.until('updates', () => client.closed !== undefined || client.counts.updates > updates),
      ),
    )
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const client of this.#open) client.terminate()
    await Promise.all(this.#running)
  }

  /** The acknowledged accounts that the service does not have. */
  async missingAccounts(): Promise<string[]> {
    const present = new Set<string>()
    for (let page: string | undefined = ''; page !== undefined; ) {
      const answer: { items: { id: string }[]; next_page_cursor?: string } = await this.#expect(
        200,
        'GET',
        `${ACCOUNTS}?limit=1000&page_cursor=${encodeURIComponent(page)}`,
      )
      for (const { id } of answer.items) present.add(id)
      page = answer.next_page_cursor
    }
    return this.#created.filter((id) => !present.has(id))
  }

  async #stream(): Promise<void> {
    const { url, market, hasExecutions } = this.#options
    while (!this.#isStopping) {
      try {
        const client = await SampleClient.connect({
          wsUrl: url.replace('http', 'ws'),
          token: await this.#newToken(STREAM_SCOPE),
        })
        if (hasExecutions) await client.subscribeAll(market)
        else await client.subscribe({ type: 'market_data', params: { market } }, { type: 'heartbeat' })
        this.#open.add(client)
        this.#waiters.notify()
        await client.untilClosed(3_600_000)
        this.#open.delete(client)
        this.problems.push(...client.problems)
        if (!this.#isStopping) this.closeCodes.push(client.closed?.code ?? 0)
      } catch (error) {
        if (!this.#isStopping) this.failures.push(`stream: ${String(error)}`)
        await new Promise((resolve) => setTimeout(resolve, REQUEST_EVERY_MILLISECONDS))
      }
    }
  }

  async #requests(): Promise<void> {
    const running = new Set<Promise<void>>()
    for (let number = 0; !this.#isStopping; number++) {
      const request = this.#request(number).finally(() => running.delete(request))
      running.add(request)
      if (running.size === REQUESTS_MAX) await Promise.race(running)
      await new Promise((resolve) => setTimeout(resolve, REQUEST_EVERY_MILLISECONDS))
    }
    await Promise.all(running)
  }

  async #request(number: number): Promise<void> {
    try {
      if (number % 4 === 0) this.#token = await this.#newToken(ACCOUNT_SCOPES.join(' '))
      else if (number % 4 === 1) await this.#expect(200, 'GET', `${ACCOUNTS}?limit=5`)
      else {
        const body = { account: { identity_id: `rolling ${number}` } }
        const { id } = await this.#expect<{ id: string }>(200, 'POST', ACCOUNTS, body)
        this.#created.push(id)
      }
      this.#answers++
    } catch (error) {
      this.failures.push(`request ${number}: ${String(error)} ${String((error as Error).cause ?? '')}`)
    }
    this.#waiters.notify()
  }

  async #expect<Answer>(status: number, method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.#call(method, path, body)
    if (answer.status !== status) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
    return JSON.parse(answer.text) as Answer
  }

  async #call(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#options.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }

  #newToken(scope: string): Promise<string> {
    return fetchToken({ authUrl: this.#options.url, ...this.#client, scope })
  }
}
