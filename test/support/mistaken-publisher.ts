/**
 * A publisher of one invented market over WebSocket, in both ways (docs/how-to/feeding-your-own-book.md), and the
 * mistakes it can make deliberately. Its messages come from `PublishingEngine`. Each mistake changes one message, or
 * one reaction.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { once } from './awaited.ts'
import { PublishingEngine, type WireMessage } from './publishing-engine.ts'
import { Random } from './random.ts'
import { VirtualClock } from './virtual-clock.ts'

export type Mistake =
  | 'skips-number'
  | 'reuses-number'
  | 'repeats-message'
  | 'reuses-epoch'
  | 'new-epoch-without-snapshot'
  | 'float-price'
  | 'too-many-decimals'
  | 'crossed'
  | 'level-twice'
  | 'removes-unknown-level'
  | 'unknown-order'
  | 'order-twice'
  | 'trade-too-large'
  | 'levels-of-orders'
  | 'execution-twice'
  | 'no-time'
  | 'time-backwards'
  | 'wrong-prev'
  | 'wrong-digest'
  | 'no-heartbeat'
  | 'ignores-heartbeat'
  | 'no-instrument'
  | 'incomplete-snapshot'
  | 'loses-executions-on-resume'
  | 'resumes-without-messages'
  | 'resumes-anything'
  | 'no-resumed'
  | 'no-snapshot'
  | 'sends-after-unsubscribe'
  | 'refuses-unsubscribe'
  | 'accepts-unknown-market'
  | 'accepts-any-token'
  | 'no-subprotocol'
  | 'no-pong'
  | 'ends-on-malformed'
  | 'keeps-epoch'
  | 'starts-slowly'
  | 'continues-early'
  | 'keeps-everything'
  | 'ignores-accepted'
  | 'ignores-request'
  | 'stays-away'
  | 'falls-silent'
  | 'reconnects-at-once'
  | 'other-market'

export interface MistakenPublisherOptions {
  readonly mistake?: Mistake
  readonly publishesOrders?: boolean
  readonly seed?: number
}

export const TEST_TOKEN = 'test-token'
const STEP_MILLISECONDS = 4
const HEARTBEAT_MILLISECONDS = 30
/** Longer than the check only observes, and shorter than it waits for an answer. */
const LOADING_MILLISECONDS = 500
/** Messages after the first subscription before the mistake is made. */
const RIGHT_MESSAGES = 8
const STEPS_OF_TWO = 4
const BYTES_AT_ONCE = 1_048_576

type Payload = Record<string, unknown>

export class MistakenPublisher {
  /** Advances with the engine's steps, so that a busy machine leaves as many steps to every wait as an idle one. */
  readonly clock = new VirtualClock()
  readonly engine: PublishingEngine
  /** Set while one of two connections is not read, when everything is kept for it. */
  isSlowlyRead = false
  readonly #mistake: Mistake | undefined
  readonly #publishesOrders: boolean
  #log: { readonly seq: number; readonly text: string }[] = []
  readonly #subscribed = new Set<WebSocket>()
  readonly #timer: NodeJS.Timeout
  #sent = 0
  #hasMadeMistake = false
  /** Steps in which two connections were subscribed. */
  #stepsOfTwo = 0
  #server: Server | undefined
  #client: WebSocket | undefined
  #sockets: WebSocketServer | undefined
  #isStopped = false
  #milliseconds = 0
  /** The last message before a restart. */
  #continues: string | undefined
  /** Whether the book is there after a restart, with the mistake `starts-slowly`. */
  #isLoaded = false

  constructor({ mistake, publishesOrders = false, seed = 7 }: MistakenPublisherOptions) {
    this.#mistake = mistake
    this.#publishesOrders = publishesOrders
    const random = new Random(seed)
    this.engine = new PublishingEngine({ symbol: 'BTCUSD', random, publishesOrders, keptMax: 100_000 })
    this.#timer = setInterval(() => {
      this.#step()
      this.clock.advance(STEP_MILLISECONDS)
    }, STEP_MILLISECONDS)
    if (mistake !== 'no-heartbeat' && mistake !== 'ignores-heartbeat') this.#heartbeatLater()
  }

  /** Listens for a pull. Returns the address. */
  async listen(): Promise<string> {
    const server = createServer()
    const sockets = new WebSocketServer({
      server,
      autoPong: this.#mistake !== 'no-pong',
      handleProtocols: () => (this.#mistake === 'no-subprotocol' ? false : 'tidegate.v1'),
      verifyClient: ({ req }: { req: IncomingMessage }) =>
        this.#mistake === 'accepts-any-token' || req.headers.authorization === `Bearer ${TEST_TOKEN}`,
    })
    sockets.on('connection', (socket) => {
      socket.on('error', () => socket.terminate())
      socket.on('close', () => this.#subscribed.delete(socket))
      socket.on('message', (data, isBinary) => this.#request(socket, isBinary ? '' : String(data)))
    })
    this.#server = server
    this.#sockets = sockets
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  /** Connects to an ingest listener, and again when the connection is lost. */
  connect(url: string, token: string): void {
    const subprotocol = this.#mistake === 'no-subprotocol' ? 'tidegate.v1' : 'tidegate.publish.v1'
    const socket = new WebSocket(url, subprotocol, {
      headers: { authorization: `Bearer ${token}` },
      autoPong: this.#mistake !== 'no-pong',
    })
    this.#client = socket
    let isFirst = true
    socket.on('error', () => socket.terminate())
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.type === 'accepted' && isFirst) {
        isFirst = false
        this.#continue(socket, message.markets[0])
      } else if (message.type === 'snapshot_request' && this.#mistake !== 'ignores-request') {
        this.#send(socket, JSON.stringify(this.#snapshot()))
      }
    })
    socket.on('close', () => {
      this.#subscribed.delete(socket)
      if (this.#isStopped || this.#mistake === 'stays-away') return
      const delay = this.#mistake === 'reconnects-at-once' ? 1 : 150
      this.clock.schedule(delay, () => {
        if (!this.#isStopped) this.connect(url, token)
      })
    })
  }

  /** A restart of the engine: every connection ends, and a new epoch begins. */
  restart(): void {
    if (this.#mistake !== 'keeps-epoch') {
      const { epoch, seq } = this.engine
      this.#continues = `${epoch}.${this.#mistake === 'continues-early' ? 0 : seq}`
      this.engine.restart()
      this.#log = []
    }
    for (const socket of this.#sockets?.clients ?? []) socket.terminate()
    this.#client?.terminate()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    this.#client?.terminate()
    for (const socket of this.#sockets?.clients ?? []) socket.terminate()
    const server = this.#server
    if (server === undefined) return
    const closed = once(server, 'close')
    server.close()
    await closed
  }

  get #isDue(): boolean {
    if (this.#mistake === 'keeps-everything') return this.isSlowlyRead && this.#stepsOfTwo === STEPS_OF_TWO
    if (this.#hasMadeMistake || this.#sent < RIGHT_MESSAGES) return false
    this.#hasMadeMistake = true
    return true
  }

  #step(): void {
    if (this.#subscribed.size > 0) this.#sent++
    this.#stepsOfTwo = this.#subscribed.size > 1 ? this.#stepsOfTwo + 1 : 0
    const message = this.#timed(this.engine.step())
    const isDue = this.#isMistakeOfMessage && this.#isDue
    const changed = isDue ? this.#changed(message) : [message]
    for (const one of changed) this.#publish(one)
    if (this.#mistake === 'reuses-epoch' && this.#isDue) {
      this.#publish(this.#withStream(this.#snapshot(), { epoch: 'other', seq: 0 }))
      this.#publish(this.#snapshot())
    }
    if (this.#mistake === 'new-epoch-without-snapshot' && this.#isDue) {
      this.engine.restart()
      this.#log = []
    }
  }

  get #isMistakeOfMessage(): boolean {
    const others: readonly unknown[] = ['reuses-epoch', 'new-epoch-without-snapshot', 'incomplete-snapshot']
    return !others.includes(this.#mistake)
  }

  /** The messages sent instead of one. */
  #changed(message: WireMessage): readonly WireMessage[] {
    const { stream, payload } = message
    const adding = (content: Payload): WireMessage => ({ ...message, payload: { ...payload, ...content } })
    const entries = (name: string): readonly unknown[] => (payload[name] ?? []) as unknown[]
    const order = { order_id: 'mistake', side: 'buy', price: '50.00', amount: '1' }
    const trade = { id: 'mistake', side: 'buy', price: '100.00', amount: '1' }
    switch (this.#mistake) {
      case 'skips-number':
        return []
      case 'reuses-number':
        return [message, adding({ executions: [...entries('executions'), trade] })]
      case 'repeats-message':
        return [message, message]
      case 'float-price':
        return [adding({ bids: [{ price: 50.5, amount: '1' }] })]
      case 'too-many-decimals':
        return [adding({ bids: [{ price: '50.123', amount: '0' }] })]
      case 'crossed': {
        const crossing = adding({ bids: [...entries('bids'), { price: '200.00', amount: '1' }] })
        const next = this.#timed(this.engine.step())
        const bids = [...((next.payload.bids ?? []) as unknown[]), { price: '200.00', amount: '0' }]
        return [crossing, { ...next, payload: { ...next.payload, bids } }]
      }
      case 'level-twice':
        return [
          adding({
            bids: [
              { price: '50.00', amount: '1' },
              { price: '50.0', amount: '1' },
            ],
          }),
        ]
      case 'removes-unknown-level':
        return [adding({ bids: [...entries('bids'), { price: '50.00', amount: '0' }] })]
      case 'unknown-order':
        return [adding({ orders: [...entries('orders'), { type: 'order_delete', order_id: 'mistake' }] })]
      case 'order-twice': {
        const add = { type: 'order_add', ...order }
        return [adding({ orders: [...entries('orders'), add, add] })]
      }
      case 'trade-too-large': {
        const changes = [
          { type: 'order_add', ...order },
          { type: 'trade', ...trade, order_id: 'mistake', amount: '2' },
        ]
        return [adding({ orders: [...entries('orders'), ...changes] })]
      }
      case 'levels-of-orders': {
        const { orders: _, ...rest } = payload
        return [{ ...message, payload: { ...rest, bids: [{ price: '50.00', amount: '1' }] } } as WireMessage]
      }
      case 'execution-twice': {
        const next = this.#timed(this.engine.step())
        const executions = [...((next.payload.executions ?? []) as unknown[]), trade]
        return [
          adding({ executions: [...entries('executions'), trade] }),
          { ...next, payload: { ...next.payload, executions } },
        ]
      }
      case 'no-time': {
        const { time: _, ...rest } = payload
        return [{ ...message, payload: rest } as WireMessage]
      }
      case 'time-backwards':
        return [adding({ time: '2020-01-01T00:00:00Z' })]
      case 'wrong-prev':
        return [this.#withStream(message, { ...stream, prev: stream.seq - 3 })]
      case 'other-market':
        return [message, adding({ market: 'OTHERS' })]
      case 'keeps-everything':
        return Array.from({ length: 16 }, (_, index) => {
          const one = index === 0 ? message : this.#timed(this.engine.step())
          return { ...one, payload: { ...one.payload, padding: 'x'.repeat(BYTES_AT_ONCE) } }
        })
      default:
        return [message]
    }
  }

  #publish(message: WireMessage): void {
    const text = JSON.stringify(message)
    if (message.payload.type === 'UPDATE' && message.payload.market === 'BTCUSD')
      this.#log.push({ seq: message.stream.seq, text })
    for (const socket of this.#subscribed) this.#send(socket, text)
  }

  #send(socket: WebSocket, text: string): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(text)
  }

  #snapshot(): WireMessage {
    const message = this.#timed(this.engine.snapshot())
    const { payload } = message
    if (this.#mistake === 'no-instrument') {
      const { instrument: _, ...rest } = payload
      return { ...message, payload: rest } as WireMessage
    }
    const name = this.#publishesOrders ? 'orders' : 'bids'
    const entries = (payload[name] ?? []) as readonly unknown[]
    // An empty list has nothing to omit.
    if (this.#mistake === 'incomplete-snapshot' && entries.length > 0 && this.#isDue) {
      return { ...message, payload: { ...payload, [name]: entries.slice(1) } }
    }
    return { ...message, stream: { ...message.stream, ...(this.#continues && { continues: this.#continues }) } }
  }

  #timed(message: WireMessage): WireMessage {
    this.#milliseconds = Math.max(this.#milliseconds, this.clock.wallInstant().milliseconds)
    return { ...message, payload: { ...message.payload, time: new Date(this.#milliseconds).toISOString() } }
  }

  #withStream(message: WireMessage, stream: WireMessage['stream']): WireMessage {
    return { ...message, stream }
  }

  #heartbeatLater(): void {
    this.clock.schedule(HEARTBEAT_MILLISECONDS, () => {
      this.#heartbeat()
      this.#heartbeatLater()
    })
  }

  #heartbeat(): void {
    const timestamp = new Date(this.clock.wallInstant().milliseconds).toISOString()
    const { epoch, seq, symbol: market } = this.engine
    const books = this.#mistake === 'wrong-digest' ? [{ market, epoch, seq, digest: '0123456789abcdef' }] : []
    const text = JSON.stringify({ channel: 'heartbeat', payload: { timestamp, books } })
    for (const socket of [...(this.#sockets?.clients ?? []), ...(this.#client ? [this.#client] : [])]) {
      this.#send(socket, text)
    }
  }

  #request(socket: WebSocket, text: string): void {
    try {
      const { type, channels } = JSON.parse(text)
      if (type !== 'subscribe' && type !== 'unsubscribe') throw new Error('no such request')
      const entries = (channels as Payload[]).filter((entry) => !this.#ignores(entry))
      const answers = entries.map((entry) => this.#answer(socket, type, entry))
      this.#send(socket, JSON.stringify({ type, channels: answers.map(({ entry }) => entry) }))
      for (const { follow } of answers) for (const message of follow) this.#send(socket, message)
    } catch (error) {
      if (this.#mistake !== 'ends-on-malformed')
        this.#send(socket, JSON.stringify({ type: 'error', message: `${error}` }))
      else for (const other of this.#sockets?.clients ?? []) other.terminate()
    }
  }

  #ignores({ type }: Payload): boolean {
    return type === 'heartbeat' && this.#mistake === 'ignores-heartbeat'
  }

  #answer(socket: WebSocket, action: string, { type, params }: Payload): { entry: object; follow: readonly string[] } {
    if (type === 'heartbeat') return { entry: { type, success: true }, follow: [] }
    const { market, resume } = params as Payload
    const acceptsUnknown = this.#mistake === 'accepts-unknown-market' && typeof market === 'string'
    if (market !== this.engine.symbol) {
      const refused = acceptsUnknown ? { success: true } : { success: false, message: 'unknown market' }
      return { entry: { type, params, ...refused }, follow: [] }
    }
    const isRefused = action === 'unsubscribe' && this.#mistake === 'refuses-unsubscribe'
    if (isRefused) return { entry: { type, params: { market }, success: false, message: 'not supported' }, follow: [] }
    if (action === 'subscribe') this.#subscribed.add(socket)
    else if (this.#mistake !== 'sends-after-unsubscribe') this.#subscribed.delete(socket)
    const entry = { type, params: { market }, success: true }
    if (action === 'unsubscribe') return { entry, follow: [] }
    const after = this.#after(resume)
    const isResumed = after !== undefined
    const resumed = this.#mistake === 'no-resumed' ? {} : { resumed: isResumed }
    const snapshots = this.#mistake === 'no-snapshot' ? [] : [JSON.stringify(this.#snapshot())]
    return { entry: { ...entry, ...resumed }, follow: after ?? snapshots }
  }

  /** The messages after a position. Undefined where a SNAPSHOT follows. */
  #after(resume: unknown): readonly string[] | undefined {
    if (typeof resume !== 'string') return undefined
    const [, epoch, number] = /^(.*)\.([0-9]+)$/.exec(resume) ?? []
    const seq = Number(number)
    const isKnown = epoch === this.engine.epoch && seq <= this.engine.seq
    const isLater = epoch === 'run-1' && this.engine.epoch !== epoch
    if (!isKnown && !isLater && this.#mistake === 'resumes-anything') return []
    if (!isKnown) return undefined
    const messages = this.#log.filter((one) => one.seq > seq).map(({ text }) => text)
    if (this.#mistake === 'resumes-without-messages') return []
    if (this.#mistake !== 'loses-executions-on-resume') return messages
    return messages.map((text) => {
      const message = JSON.parse(text)
      return JSON.stringify({ ...message, payload: { ...message.payload, executions: [] } })
    })
  }

  /** The start of a connection to an ingest listener. */
  #continue(socket: WebSocket, { epoch, seq }: { epoch?: string; seq?: number }): void {
    if (this.#mistake === 'falls-silent' && this.#sent > 0) return
    this.#subscribed.add(socket)
    if (this.#mistake === 'ignores-accepted' && this.#sent > 0) return
    if (this.#mistake === 'starts-slowly' && this.#continues !== undefined && !this.#isLoaded) {
      this.#subscribed.delete(socket)
      this.clock.schedule(LOADING_MILLISECONDS, () => {
        this.#isLoaded = true
        this.#continue(socket, {})
      })
      return
    }
    const after = epoch === undefined ? undefined : this.#after(`${epoch}.${seq}`)
    for (const text of after ?? [JSON.stringify(this.#snapshot())]) this.#send(socket, text)
  }
}
