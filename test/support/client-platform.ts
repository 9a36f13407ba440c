/**
 * The client's runtime in tests: a virtual clock, sockets on which a test plays the service, and answers chosen by the
 * test.
 */
import type { Platform, Socket } from '../../packages/client/src/platform.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface SentRequest {
  readonly type: string
  readonly channels: readonly {
    readonly type: string
    readonly params?: { readonly market?: string; readonly resume?: string; readonly depth?: number }
  }[]
}

export class FakeSocket implements Socket {
  protocol = ''
  onopen: (() => void) | null = null
  onmessage: ((event: { readonly data: unknown }) => void) | null = null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null
  onerror: ((event: unknown) => void) | null = null
  readonly url: string
  readonly offered: readonly string[]
  readonly requests: SentRequest[] = []
  /** Called with every request from the client. */
  onRequest: (request: SentRequest) => void = () => undefined
  isClosed = false

  constructor(url: string, offered: readonly string[]) {
    this.url = url
    this.offered = offered
  }

  get token(): string | undefined {
    return this.offered.find((name) => name.startsWith('bearer.'))?.slice('bearer.'.length)
  }

  send(text: string): void {
    const request = JSON.parse(text) as SentRequest
    this.requests.push(request)
    this.onRequest(request)
  }

  close(): void {
    this.isClosed = true
  }

  /** The service accepts the handshake. */
  open(protocol = 'tidegate.v1'): void {
    this.protocol = protocol
    this.onopen?.()
  }

  /** The service rejects the handshake. */
  refuse(): void {
    this.onerror?.({})
  }

  receive(message: object | string): void {
    this.onmessage?.({ data: typeof message === 'string' ? message : JSON.stringify(message) })
  }

  /** The service acknowledges its last subscribe request. */
  acknowledge(members: object = {}): void {
    const request = this.requests.findLast(({ type }) => type === 'subscribe')
    const channels = request?.channels.map((entry) => ({ ...entry, success: true, ...members }))
    this.receive({ type: 'subscribe', channels })
  }

  /** The connection ends. */
  end(code: number, reason = ''): void {
    this.onclose?.({ code, reason })
  }
}

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }

export class FakePlatform implements Platform {
  readonly clock: VirtualClock
  readonly sockets: FakeSocket[] = []
  readonly fetched: { readonly url: string; readonly init: RequestInit }[] = []
  /** In [0, 1). */
  chance = 0.5
  /** The answer to a request. An error means that there was no answer. */
  answer: (url: string) => Answer | Error = (url) => {
    if (!url.endsWith('/oauth2/token')) return { status: 426 }
    return { status: 200, body: { access_token: `token-${this.tokenRequests}`, expires_in: 3_600 } }
  }

  /** Creates a handshake's socket. */
  open: (url: string, offered: readonly string[]) => FakeSocket = (url, offered) => new FakeSocket(url, offered)

  constructor(clock = new VirtualClock()) {
    this.clock = clock
  }

  get tokenRequests(): number {
    return this.fetched.filter(({ url }) => url.endsWith('/oauth2/token')).length
  }

  /** The socket opened last. */
  get socketNow(): FakeSocket {
    return this.sockets.at(-1) as FakeSocket
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    init.signal?.throwIfAborted()
    this.fetched.push({ url, init })
    const answer = this.answer(url)
    if (answer instanceof Error) throw answer
    const { status, headers, body = {} } = answer
    return new Response(JSON.stringify(body), { status, ...(headers === undefined ? {} : { headers }) })
  }

  async socket(url: string, protocols: string[]): Promise<FakeSocket> {
    const socket = this.open(url, protocols)
    this.sockets.push(socket)
    return socket
  }

  now(): number {
    return this.clock.monotonicMilliseconds()
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = this.clock.schedule(milliseconds, callback)
    return () => timer.cancel()
  }

  random(): number {
    return this.chance
  }

  /** Time passes, and everything waiting for it happens. */
  async pass(milliseconds: number): Promise<void> {
    await settled()
    this.clock.advance(milliseconds)
    await settled()
  }
}

/** Everything that promises were waiting for has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const CREDENTIALS = {
  client_id: 'a-client',
  client_secret: 'a-secret-that-no-error-may-contain',
  auth_url: 'https://api.example.com',
  base_url: 'https://api.example.com',
  ws_url: 'wss://api.example.com',
}
