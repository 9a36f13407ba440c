/**
 * A connection from the client under test: the product's session, a transport with disturbances, and a record of
 * requests, subscriptions and the close code. The `driver` checks reactions.
 */
import type { RawData, WebSocket } from 'ws'
import { EXTENDED_SUBPROTOCOL } from '../../../contract/channels.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import type { Session } from '../../../streaming/gateway/session.ts'
import type { ScriptedTransport } from './scripted-transport.ts'

/** One entry in a client's request. */
export interface RequestedChannel {
  readonly key: string
  readonly market: string | undefined
  readonly resume: string | undefined
}

export interface ClientRequest {
  readonly type: string
  readonly channels: readonly RequestedChannel[]
}

/** Requests kept. The first ones suffice to detect a client in a loop. */
const REQUESTS_KEPT = 1_000

export class ScriptedConnection {
  /** Current subscriptions: channel and market. */
  readonly subscribed = new Set<string>()
  readonly requests: ClientRequest[] = []
  /** Subscriptions requested while they existed. */
  readonly repeated: string[] = []
  /** The last cursor sent for each subscription. */
  readonly cursors = new Map<string, string>()
  readonly token: string
  /** Whether the token came in the Authorization header: such a client can read the response to a refused handshake. */
  readonly hasHeader: boolean
  /** How many market messages were sent. */
  dataCount = 0
  pongCount = 0
  closed: { readonly code: number } | undefined
  session: Session | undefined
  transport: ScriptedTransport | undefined
  #failsNextSubscribe = false

  constructor(token: string, hasHeader: boolean) {
    this.token = token
    this.hasHeader = hasHeader
  }

  get isOpen(): boolean {
    return this.session !== undefined && this.closed === undefined
  }

  get isExtended(): boolean {
    return this.transport?.subprotocol === EXTENDED_SUBPROTOCOL
  }

  /** Markets with a subscription. */
  get markets(): readonly string[] {
    return [...new Set([...this.subscribed].flatMap((key) => key.split(' ').slice(1)))]
  }

  /** Whether it has subscribed to a market and was sent data. */
  get isSettled(): boolean {
    return this.isOpen && this.markets.length > 0 && this.dataCount > 0
  }

  /** Answers every entry in the next subscribe request with INTERNAL_SERVER_ERROR. */
  failNextSubscribe(): void {
    this.#failsNextSubscribe = true
  }

  /** Records a client's message and passes it to the session, unless the scenario lets the request fail. */
  receive(data: RawData, isBinary: boolean, webSocket: WebSocket): void {
    const request = readRequest(String(data))
    if (request !== undefined && this.requests.length < REQUESTS_KEPT) this.#note(request)
    if (this.#failsNextSubscribe && request?.type === 'subscribe') {
      this.#failsNextSubscribe = false
      webSocket.send(failureOf(String(data)))
    } else {
      this.session?.receive({ data: data as Buffer, isBinary })
    }
  }

  #note(request: ClientRequest): void {
    this.requests.push(request)
    if (request.type !== 'subscribe') return
    for (const { key } of request.channels) if (this.subscribed.has(key)) this.repeated.push(key)
  }

  /** Records a message to the client. */
  sent(text: string): void {
    const message: unknown = JSON.parse(text)
    if (!isObject(message)) return
    if (typeof message.channel === 'string') this.#noteData(message.channel, message)
    else if (message.type === 'subscribe' || message.type === 'unsubscribe') this.#noteReply(message)
  }

  #noteData(channel: string, { payload, stream }: Record<string, unknown>): void {
    if (channel === 'heartbeat' || !isObject(payload)) return
    this.dataCount++
    if (isObject(stream)) this.cursors.set(`${channel} ${payload.market}`, String(stream.cursor))
  }

  #noteReply({ type, channels }: Record<string, unknown>): void {
    for (const entry of Array.isArray(channels) ? channels.filter(isObject) : []) {
      if (entry.success === true) this.subscribed[type === 'subscribe' ? 'add' : 'delete'](keyOf(entry))
    }
  }
}

function readRequest(text: string): ClientRequest | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value) || typeof value.type !== 'string') return undefined
  const entries = Array.isArray(value.channels) ? value.channels.filter(isObject) : []
  const channels = entries.map((entry) => {
    const params = isObject(entry.params) ? entry.params : {}
    const { market, resume } = params
    return {
      key: keyOf(entry),
      market: typeof market === 'string' ? market : undefined,
      resume: typeof resume === 'string' ? resume : undefined,
    }
  })
  return { type: value.type, channels }
}

function keyOf({ type, params }: Record<string, unknown>): string {
  const market = isObject(params) ? params.market : undefined
  return typeof market === 'string' ? `${type} ${market}` : String(type)
}

function failureOf(text: string): string {
  const request = JSON.parse(text) as { channels?: Record<string, unknown>[] }
  const failure = { success: false, error: 'INTERNAL_SERVER_ERROR', message: 'the scenario lets this attempt fail' }
  return JSON.stringify({ type: 'subscribe', channels: request.channels?.map((entry) => ({ ...entry, ...failure })) })
}
