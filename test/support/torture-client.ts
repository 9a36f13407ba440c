/**
 * A small extended protocol client that reacts as documented, or in one wrong way. Its delays are milliseconds instead
 * of seconds, and it closes silent connections only if a limit is given. After a restart it has no token and no
 * cursors.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** Its misbehaviour. Undefined: none. */
export type Misbehaviour =
  | 'stays away'
  | 'comes back always'
  | 'never waits'
  | 'keeps its token'
  | 'keeps a refused token'
  | 'subscribes less'
  | 'closes an empty book'
  | 'subscribes an empty book again'
  | 'ignores notices'
  | 'never gives a market up'
  | 'keeps its first cursor'

interface Credentials {
  readonly client_id: string
  readonly client_secret: string
  readonly auth_url: string
  readonly ws_url: string
}

const MARKET = 'BTCUSD'
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data']
const FINAL_CODES = [1002, 1007, 1009, 4003]

export class TortureClient {
  readonly #path: string
  readonly #misbehaviour: Misbehaviour | undefined
  readonly #silenceMilliseconds: number | undefined
  #token: string | undefined
  readonly #cursors = new Map<string, string>()
  #socket: WebSocket | undefined
  #isEnded = false

  constructor(path: string, misbehaviour?: Misbehaviour, silenceMilliseconds?: number) {
    this.#path = path
    this.#misbehaviour = misbehaviour
    this.#silenceMilliseconds = silenceMilliseconds
  }

  /** Resolves when the client has stopped. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.#isEnded; attempt++) {
      const { isFinal, retryAfterSeconds } = await this.#connect(attempt)
      if (isFinal && !this.#is('comes back always')) return
      if (this.#is('stays away')) return
      if (!this.#is('never waits')) await sleep(retryAfterSeconds * 1000 + 40 + 40 * Math.random())
    }
  }

  end(): void {
    this.#isEnded = true
    this.#socket?.terminate()
  }

  #is(misbehaviour: Misbehaviour): boolean {
    return this.#misbehaviour === misbehaviour
  }

  async #connect(attempt: number): Promise<{ isFinal: boolean; retryAfterSeconds: number }> {
    const credentials = JSON.parse(readFileSync(this.#path, 'utf8')) as Credentials
    if (this.#token === undefined) {
      const refused = await this.#fetchToken(credentials)
      if (refused !== undefined) return refused
    }
    const headers = { authorization: `Bearer ${this.#token}` }
    const socket = new WebSocket(`${credentials.ws_url}/`, ['tidegate.v1'], { headers })
    this.#socket = socket
    return new Promise((resolve) => {
      let silence: NodeJS.Timeout | undefined
      socket.on('open', () => this.#subscribe(socket, this.#is('subscribes less') && attempt > 0 ? 1 : CHANNELS.length))
      socket.on('message', (text) => {
        clearTimeout(silence)
        const limit = this.#silenceMilliseconds
        if (limit !== undefined) silence = setTimeout(() => socket.terminate(), limit)
        this.#take(socket, JSON.parse(String(text)))
      })
      socket.on('unexpected-response', (request, response) => {
        request.destroy()
        const { statusCode: status = 0, headers: answered } = response
        if (status === 401 && !this.#is('keeps a refused token')) this.#token = undefined
        resolve({ isFinal: status === 403, retryAfterSeconds: Number(answered['retry-after'] ?? 0) })
      })
      socket.on('error', () => undefined)
      socket.on('close', (code) => {
        clearTimeout(silence)
        if (code === 4001 && !this.#is('keeps its token')) this.#token = undefined
        resolve({ isFinal: FINAL_CODES.includes(code), retryAfterSeconds: 0 })
      })
    })
  }

  async #fetchToken({ auth_url, client_id, client_secret }: Credentials) {
    const scope = 'exchange:read_aggregated_marketdata_stream'
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
    try {
      const response = await fetch(`${auth_url}/oauth2/token`, { method: 'POST', body })
      const answer = (await response.json()) as { access_token?: string }
      this.#token = answer.access_token
      if (response.ok) return undefined
      const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0)
      return { isFinal: response.status === 401, retryAfterSeconds }
    } catch {
      return { isFinal: false, retryAfterSeconds: 0 }
    }
  }

  #subscribe(socket: WebSocket, count: number): void {
    const channels = CHANNELS.slice(0, count).map((type) => {
      const resume = this.#cursors.get(type)
      return { type, params: { market: MARKET, ...(resume === undefined ? {} : { resume }) } }
    })
    socket.send(JSON.stringify({ type: 'subscribe', channels: [...channels, { type: 'heartbeat' }] }))
  }

  // biome-ignore lint/suspicious/noExplicitAny: messages as they come.
  #take(socket: WebSocket, message: any): void {
    const { type, channel, payload, stream, channels } = message
    if (stream !== undefined && !(this.#is('keeps its first cursor') && this.#cursors.has(channel))) {
      this.#cursors.set(channel, stream.cursor)
    }
    const isEmpty = channel === 'market_data.top_of_book' && payload.bids.length + payload.asks.length === 0
    if (isEmpty && this.#is('closes an empty book')) socket.close()
    if (isEmpty && this.#is('subscribes an empty book again')) this.#subscribe(socket, CHANNELS.length)
    if (type === 'unsubscribe' && !this.#is('ignores notices')) {
      this.#cursors.clear()
      this.#subscribe(socket, CHANNELS.length)
    }
    const error = channels?.find((entry: { error?: string }) => entry.error !== undefined)?.error
    if (error === 'INTERNAL_SERVER_ERROR') socket.close()
    if (error === 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION') {
      if (this.#is('never gives a market up')) setTimeout(() => this.#subscribe(socket, CHANNELS.length), 1)
      else this.end()
    }
  }
}
