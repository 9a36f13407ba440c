/**
 * One connection to a publisher, as Tidegate opens it: subprotocol, token, requests and their answers. Messages are
 * checked as they arrive, and a subscription expects them from its acknowledgement on. An error never contains the
 * token.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { EXTENDED_SUBPROTOCOL } from '../../../contract/channels.ts'
import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import { isObject, type JsonObject, membersOf, parseJson } from '../../../platform/base/json-value.ts'
import type { CheckRun } from './check-run.ts'
import { ConnectionChecker } from './connection-checker.ts'
import type { PublicationLine } from './publication-line.ts'
import type { Position } from './published-market.ts'

export interface PullAddress {
  readonly url: string
  /** Absent: no header is sent. */
  readonly token: string | undefined
}

/** What the publisher was asked for a market, and how it answered. */
interface Subscription {
  readonly resume: Position | undefined
  /** Whether the publisher has sent the message at `resume`. */
  readonly isPast: boolean
  state: 'subscribing' | 'subscribed' | 'refused' | 'unsubscribing' | 'unsubscribed'
  isResumed: boolean
  /** The refusal's text. Empty without one. */
  message: string
}

/** A message with as many levels as the service reads, at 256 bytes each. */
const MESSAGE_BYTES_MAX = PUBLISHED_ENTRIES_MAX * 256

/** How much of the answer to a refused handshake is shown. */
const ANSWER_CHARACTERS_MAX = 300

export class PullConnection {
  readonly checker: ConnectionChecker
  readonly #run: CheckRun
  readonly #webSocket: WebSocket
  readonly #token: string | undefined
  readonly #subscriptions = new Map<string, Subscription>()
  #state: 'connecting' | 'open' | 'closed' = 'connecting'
  #pongs = 0
  #isHeartbeatAnswered = false
  /** How it ended. Empty while it is open. */
  endText = ''
  /** While true, malformed requests are sent, whose answers may have any form. */
  isMalformed = false

  /** @param isMain whether it stays open and sees every message */
  constructor(run: CheckRun, { url, token }: PullAddress, isMain = false) {
    this.#run = run
    this.#token = token
    const { markets, report, options } = run
    this.checker = new ConnectionChecker({
      markets,
      report,
      heartbeatMilliseconds: options.times.heartbeat,
      isMain,
      unexpected: 'message-unrequested',
    })
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#webSocket = new WebSocket(url, EXTENDED_SUBPROTOCOL, {
      headers,
      handshakeTimeout: options.times.answer,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
    })
    this.#listen()
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Waits for the handshake. Resolves to whether it was accepted. */
  async opened(): Promise<boolean> {
    await this.#run.until(() => this.#state !== 'connecting', this.#run.options.times.answer + 1_000)
    return this.isOpen
  }

  subscription(market: string): Subscription | undefined {
    return this.#subscriptions.get(market)
  }

  line(market: string): PublicationLine | undefined {
    return this.checker.line(market)
  }

  /**
   * Subscribes a market, and the heartbeat with it. Returns when it is acknowledged, refused, or not answered in time.
   */
  async subscribe(market: string, resume?: Position, isPast = true): Promise<Subscription> {
    const subscription: Subscription = { resume, isPast, state: 'subscribing', isResumed: false, message: '' }
    const isFirst = this.#subscriptions.size === 0
    this.#subscriptions.set(market, subscription)
    const params = resume === undefined ? { market } : { market, resume: `${resume.epoch}.${resume.seq}` }
    const channels = [{ type: 'publication', params }, ...(isFirst ? [{ type: 'heartbeat' }] : [])]
    this.send(JSON.stringify({ type: 'subscribe', channels }))
    await this.#answered(market, () => subscription.state !== 'subscribing')
    // Heartbeats are due on every connection, also where the publisher ignores the request for them.
    if (isFirst && !this.#isHeartbeatAnswered) this.checker.expectHeartbeats(this.#run.now)
    return subscription
  }

  /** Reports an overdue heartbeat, and a request for them that is unanswered although messages have followed. */
  checkHeartbeat(): void {
    this.checker.checkHeartbeat(this.#run.now)
    if (this.#isHeartbeatAnswered || !this.isOpen || this.checker.messages === 0) return
    this.#isHeartbeatAnswered = true
    this.#run.report('acknowledgement-wrong', undefined, 'there is none for the heartbeat')
  }

  async unsubscribe(market: string): Promise<void> {
    const subscription = this.#subscriptions.get(market)
    if (subscription === undefined) return
    subscription.state = 'unsubscribing'
    this.send(JSON.stringify({ type: 'unsubscribe', channels: [{ type: 'publication', params: { market } }] }))
    await this.#answered(market, () => subscription.state !== 'unsubscribing')
  }

  send(text: string): void {
    if (this.isOpen) this.#webSocket.send(text)
  }

  sendBinary(data: Buffer): void {
    if (this.isOpen) this.#webSocket.send(data)
  }

  /** Whether a ping is answered in time. */
  async ping(): Promise<boolean> {
    const before = this.#pongs
    if (this.isOpen) this.#webSocket.ping()
    await this.#run.until(() => this.#pongs > before || !this.isOpen, this.#run.options.times.answer)
    return this.#pongs > before
  }

  /** Stops reading the socket. */
  pause(): void {
    this.checker.expectHeartbeats(undefined)
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
    this.checker.expectHeartbeats(this.#run.now)
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.#webSocket.terminate()
    this.#end('')
  }

  /** Closes the connection. */
  close(): void {
    if (this.#state === 'closed') return
    if (this.isOpen) this.#webSocket.close(1000)
    else this.#webSocket.terminate()
    const { clock, times } = this.#run.options
    const timer = clock.schedule(times.answer, () => this.#webSocket.terminate())
    this.#webSocket.once('close', () => timer.cancel())
    this.#end('')
  }

  #listen(): void {
    const webSocket = this.#webSocket
    webSocket.on('open', () => {
      if (this.#state === 'connecting') this.#state = 'open'
      this.#run.notify()
    })
    webSocket.on('message', (data, isBinary) => {
      if (this.isOpen) this.#take(String(data), isBinary)
    })
    webSocket.on('pong', () => {
      this.#pongs++
      this.#run.notify()
    })
    webSocket.on('unexpected-response', (request, response) => this.#refused(request, response))
    // Without a message where several addresses of one name have failed.
    webSocket.on('error', (error: NodeJS.ErrnoException) => this.#end(error.message || (error.code ?? error.name)))
    webSocket.on('close', (code, reason) => this.#end(`closed with ${code} ${reason}`.trimEnd()))
  }

  /** The handshake was answered without an upgrade: the answer usually says why. */
  #refused(request: ClientRequest, response: IncomingMessage): void {
    let body = ''
    const end = (): void => {
      request.destroy()
      // The answer may name the token that it refuses.
      const shown = (this.#token === undefined ? body : body.replaceAll(this.#token, 'TOKEN')).slice(
        0,
        ANSWER_CHARACTERS_MAX,
      )
      this.#end(`the handshake was answered with ${response.statusCode} ${shown}`.trimEnd())
    }
    response.on('data', (chunk) => {
      body += chunk
      if (body.length > ANSWER_CHARACTERS_MAX) end()
    })
    response.on('end', end)
    response.on('error', end)
  }

  #end(text: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.endText = text
    this.checker.expectHeartbeats(undefined)
    this.#run.notify()
  }

  #take(text: string, isBinary: boolean): void {
    const value = isBinary ? undefined : parseJson(text)
    if (isBinary) this.#run.report('message-malformed', undefined, 'a message is a binary frame')
    else if (isObject(value) && value.channel === undefined && typeof value.type === 'string')
      this.#takeAnswer(value, text)
    else this.checker.take(text, this.#run.now)
    this.#run.notify()
  }

  #takeAnswer({ type, channels }: JsonObject, text: string): void {
    // An error answers a malformed request.
    if (type === 'error') return
    if ((type !== 'subscribe' && type !== 'unsubscribe') || !Array.isArray(channels)) {
      if (this.isMalformed) return
      this.#run.report('acknowledgement-wrong', undefined, 'it is not an acknowledgement with a channel list', text)
      return
    }
    for (const entry of channels) this.#acknowledge(type, membersOf(entry), text)
  }

  #acknowledge(type: 'subscribe' | 'unsubscribe', entry: JsonObject, text: string): void {
    const { type: channel, params, success, resumed, message } = entry
    const { market } = membersOf(params)
    const say = (detail: string): void =>
      this.#run.report('acknowledgement-wrong', typeof market === 'string' ? market : undefined, detail, text)
    if (typeof success !== 'boolean') {
      if (!this.isMalformed) say('success is neither true nor false')
      return
    }
    if (channel === 'heartbeat') {
      this.#isHeartbeatAnswered = true
      if (success) this.checker.expectHeartbeats(this.#run.now)
      else say('the heartbeat is refused')
      return
    }
    const subscription = typeof market === 'string' ? this.#subscriptions.get(market) : undefined
    const isExpected = subscription?.state === (type === 'subscribe' ? 'subscribing' : 'unsubscribing')
    if (channel !== 'publication' || subscription === undefined || !isExpected) {
      // A malformed request may be refused in any form.
      if (success && !this.isMalformed) say('nothing like it was requested')
      return
    }
    subscription.message = typeof message === 'string' ? message : ''
    if (!success && type === 'unsubscribe') say(`the end of a subscription is refused: ${subscription.message}`)
    if (!success) subscription.state = 'refused'
    else if (type === 'unsubscribe') {
      subscription.state = 'unsubscribed'
      this.checker.close(market as string)
    } else this.#subscribed(market as string, subscription, resumed, say)
  }

  #subscribed(symbol: string, subscription: Subscription, resumed: unknown, say: (detail: string) => void): void {
    const { resume, isPast } = subscription
    subscription.state = 'subscribed'
    subscription.isResumed = resumed === true && resume !== undefined
    const market = this.#run.markets.get(symbol)
    if (market === undefined) return
    const isAnswer = resume === undefined || typeof resumed === 'boolean'
    if (!isAnswer) say('resumed is neither true nor false')
    else if (subscription.isResumed && !isPast) {
      const detail = `resume ${resume?.epoch}.${resume?.seq} was answered with resumed true`
      this.#run.report('resumed-without-past', symbol, detail)
    }
    if (!isAnswer || (subscription.isResumed && !isPast)) {
      this.checker.ignore(symbol)
      return
    }
    const line = this.checker.open(market)
    line.begin(subscription.isResumed ? resume : undefined, 'resume-skips')
  }

  async #answered(market: string, isAnswered: () => boolean): Promise<void> {
    const { answer } = this.#run.options.times
    const isInTime = await this.#run.until(() => isAnswered() || !this.isOpen, answer)
    if (isAnswered()) return
    if (isInTime) this.#run.fail('connection-closed', market, `instead of an acknowledgement: ${this.endText}`)
    this.#run.fail('acknowledgement-wrong', market, `none within ${answer / 1000} s`)
  }
}
