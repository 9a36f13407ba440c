/**
 * Events over the stream's channel `events`, on a connection of their own. A lost connection is opened again, and the
 * subscription resumes after the last event. While the loop is slow the connection is closed, and the service keeps the
 * events.
 */
import type { TokenSource } from '../credentials.ts'
import { TidegateError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { Connection } from '../stream/connection.ts'
import { Wakeup } from '../stream/reader.ts'
import { type CustomerEvent, checkAfter, type EventOptions, EventsExpired } from './event.ts'

/** Events that wait for the loop. Beyond this many, the connection is closed until it has taken half. */
const QUEUED_MAX = 10_000

export interface Events extends AsyncIterable<CustomerEvent> {
  /** Ends the loop. */
  close(): void
}

export interface StreamedEventsOptions extends EventOptions {
  readonly url: string
  readonly tokens: TokenSource | undefined
  readonly platform: Platform
  readonly onClose: () => void
}

interface Message {
  readonly channel?: string
  readonly type?: string
  readonly payload?: unknown
  readonly channels?: readonly Entry[]
}

interface Entry {
  readonly type?: string
  readonly success?: boolean
  readonly error?: string
  readonly message?: string
  readonly oldest_sequence?: number
  readonly last_sequence?: number
}

export class StreamedEvents implements Events {
  readonly #options: StreamedEventsOptions
  readonly #connection: Connection
  readonly #queue: CustomerEvent[] = []
  readonly #news = new Wakeup()
  /** The last queued sequence, or the one to begin after. */
  #last: number | undefined
  #lastHeartbeat: number | undefined
  #isPaused = false
  #isEnded = false
  #error: unknown
  readonly #abort = () => this.#end(this.#options.signal?.reason)

  constructor(options: StreamedEventsOptions) {
    checkAfter(options.after)
    options.signal?.throwIfAborted()
    this.#options = options
    this.#last = options.after
    const { url, tokens, platform } = options
    this.#connection = new Connection({
      url,
      tokens,
      platform,
      onOpen: () => this.#subscribe(),
      onText: (text) => this.#receive(text),
      onLost: () => undefined,
      onFailed: (error) => this.#end(error),
    })
    options.signal?.addEventListener('abort', this.#abort)
    this.#connection.open()
  }

  /** One loop: several would share the events. */
  async *[Symbol.asyncIterator](): AsyncGenerator<CustomerEvent> {
    try {
      while (true) {
        const next = this.#queue.shift()
        if (next !== undefined) yield next
        else if (this.#isEnded) break
        else await this.#news.wait()
        if (this.#isPaused && !this.#isEnded && this.#queue.length < QUEUED_MAX / 2) {
          this.#isPaused = false
          this.#connection.open()
        }
      }
      if (this.#error !== undefined) throw this.#error
    } finally {
      this.#end(undefined)
    }
  }

  close(): void {
    this.#queue.length = 0
    this.#end(undefined)
  }

  #subscribe(): void {
    this.#lastHeartbeat = undefined
    if (!this.#connection.isExtended) {
      this.#end(new TidegateError('SUBSCRIPTION_REFUSED', 'the service does not speak tidegate.v1: it has no events'))
      return
    }
    const events = { type: 'events', params: this.#last === undefined ? {} : { after: this.#last } }
    this.#connection.send({ type: 'subscribe', channels: [{ type: 'heartbeat' }, events] })
  }

  #receive(text: unknown): void {
    let message: Message
    try {
      message = JSON.parse(text as string)
    } catch {
      this.#connection.restart('a message is not JSON')
      return
    }
    const { channel, payload, type, channels = [] } = message
    if (channel === 'events') this.#take(payload as CustomerEvent)
    else if (channel === 'heartbeat') this.#noteHeartbeat(payload as { readonly timestamp: string })
    else if (type === 'error') this.#connection.restart('a request was rejected')
    else for (const entry of channels) if (entry.type === 'events') this.#receiveEntry(entry, type === 'subscribe')
  }

  #take(event: CustomerEvent): void {
    this.#connection.confirm()
    if (this.#last !== undefined && event.sequence <= this.#last) return
    this.#last = event.sequence
    this.#queue.push(event)
    this.#news.wake()
    if (this.#queue.length < QUEUED_MAX) return
    this.#isPaused = true
    this.#connection.close()
  }

  #receiveEntry({ success, error, message, oldest_sequence, last_sequence }: Entry, isSubscribe: boolean): void {
    if (error === undefined && success === true && isSubscribe) {
      this.#connection.confirm()
      this.#last ??= last_sequence
    } else if (error === 'events_expired') {
      this.#end(new EventsExpired(Number(oldest_sequence)))
    } else if (error === 'unavailable' || error === 'INTERNAL_SERVER_ERROR') {
      this.#connection.restart(String(message))
    } else {
      this.#end(
        new TidegateError('SUBSCRIPTION_REFUSED', `events: ${message} (${error}). Ask the operator for the scope`),
      )
    }
  }

  #noteHeartbeat({ timestamp }: { readonly timestamp: string }): void {
    const milliseconds = Date.parse(`${timestamp.slice(0, 23)}Z`)
    if (this.#lastHeartbeat !== undefined) this.#connection.noteHeartbeats(milliseconds - this.#lastHeartbeat)
    this.#lastHeartbeat = milliseconds
  }

  #end(error: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#error = error
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#connection.close()
    this.#news.wake()
    this.#options.onClose()
  }
}
