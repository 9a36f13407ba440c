/**
 * Customers' events in a gateway process, which has no store: it asks the main process to read, and to be woken. Both
 * ends, and their messages.
 */
import type { EventFollower } from '../../access/events/event-feed.ts'
import { type EventBatch, EventsExpired } from '../../access/events/read.ts'
import { Turns } from '../../platform/base/turns.ts'
import { StoreUnavailable } from '../../platform/store/db.ts'
import type { EventSource } from './event-subscription.ts'

/** Calls from one process at a time, each with at most one batch as its answer. */
const CALLS_MAX = 8

interface EventCalls {
  readonly start: { readonly asked: bigint | undefined; readonly answer: bigint }
  readonly read: { readonly asked: bigint; readonly answer: EventBatch }
}

type EventAnswer =
  | { readonly answer: unknown }
  | { readonly oldestSequence: bigint; readonly last: bigint | undefined }
  | { readonly unavailable: string }
  | { readonly failure: string }

/** From the gateway process. */
export type EventRequest =
  | {
      readonly type: 'event-call'
      readonly number: number
      readonly name: keyof EventCalls
      readonly customerId: string
      readonly after: bigint | undefined
    }
  /** Whether the process wants to be woken for the customer. */
  | { readonly type: 'event-wanted'; readonly customerId: string; readonly isWanted: boolean }

/** From the main process. */
export type EventReply =
  | { readonly type: 'event-answer'; readonly number: number; readonly answer: EventAnswer }
  | { readonly type: 'event-wake'; readonly customerId: string; readonly last: bigint | undefined }

/** The gateway process's end. */
export class LinkedEvents implements EventSource {
  readonly #send: (request: EventRequest) => void
  readonly #turns = new Turns(CALLS_MAX)
  readonly #calls = new Map<number, (answer: EventAnswer) => void>()
  readonly #followers = new Map<string, Set<EventFollower>>()
  #number = 0

  constructor(send: (request: EventRequest) => void) {
    this.#send = send
  }

  start(customerId: string, after: bigint | undefined): Promise<bigint> {
    return this.#call('start', customerId, after)
  }

  read(customerId: string, after: bigint): Promise<EventBatch> {
    return this.#call('read', customerId, after)
  }

  follow(customerId: string, follower: EventFollower): () => void {
    const followers = this.#followers.get(customerId) ?? new Set()
    if (followers.size === 0) {
      this.#followers.set(customerId, followers)
      this.#send({ type: 'event-wanted', customerId, isWanted: true })
    }
    followers.add(follower)
    return () => {
      if (!followers.delete(follower) || followers.size > 0) return
      this.#followers.delete(customerId)
      this.#send({ type: 'event-wanted', customerId, isWanted: false })
    }
  }

  receive(reply: EventReply): void {
    if (reply.type === 'event-answer') this.#calls.get(reply.number)?.(reply.answer)
    else for (const follower of [...(this.#followers.get(reply.customerId) ?? [])]) follower.wake(reply.last)
  }

  #call<Name extends keyof EventCalls>(
    name: Name,
    customerId: string,
    after: EventCalls[Name]['asked'],
  ): Promise<EventCalls[Name]['answer']> {
    return this.#turns.run(async () => {
      const number = ++this.#number
      const answer = await new Promise<EventAnswer>((resolve) => {
        this.#calls.set(number, resolve)
        this.#send({ type: 'event-call', number, name, customerId, after })
      })
      this.#calls.delete(number)
      if ('answer' in answer) return answer.answer as EventCalls[Name]['answer']
      if ('oldestSequence' in answer) throw new EventsExpired(answer.oldestSequence, answer.last)
      if ('unavailable' in answer) throw new StoreUnavailable(answer.unavailable)
      throw new Error(answer.failure)
    })
  }
}

/** The main process's end, for one gateway process. */
export class EventsForProcess {
  readonly #source: EventSource
  readonly #send: (reply: EventReply) => void
  readonly #ends = new Map<string, () => void>()

  constructor(source: EventSource, send: (reply: EventReply) => void) {
    this.#source = source
    this.#send = send
  }

  receive(request: EventRequest): void {
    if (request.type === 'event-wanted') this.#follow(request.customerId, request.isWanted)
    else
      void this.#answer(request).then((answer) => this.#send({ type: 'event-answer', number: request.number, answer }))
  }

  /** The process has ended. */
  end(): void {
    for (const end of this.#ends.values()) end()
    this.#ends.clear()
  }

  #follow(customerId: string, isWanted: boolean): void {
    this.#ends.get(customerId)?.()
    this.#ends.delete(customerId)
    if (!isWanted) return
    const wake = (last?: bigint) => this.#send({ type: 'event-wake', customerId, last })
    this.#ends.set(customerId, this.#source.follow(customerId, { wake }))
  }

  async #answer({ name, customerId, after }: Extract<EventRequest, { type: 'event-call' }>): Promise<EventAnswer> {
    try {
      const call = name === 'start' ? this.#source.start(customerId, after) : this.#source.read(customerId, after ?? 0n)
      return { answer: await call }
    } catch (error) {
      if (error instanceof EventsExpired) return { oldestSequence: error.oldestSequence, last: error.last }
      if (error instanceof StoreUnavailable) return { unavailable: error.message }
      return { failure: String(error) }
    }
  }
}
