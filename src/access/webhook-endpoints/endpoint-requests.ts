/**
 * The signed requests of one round to one endpoint, with their log. They share the resolved name and the connections.
 * The answers' bodies are discarded.
 */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Clock } from '../../platform/base/clock.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import { type Resolve, resolveByMachine } from '../../platform/webhooks/request.ts'
import { postSigned } from '../../platform/webhooks/signed-request.ts'
import type { Claim } from './claims.ts'
import { type Failure, PARALLEL_MAX, type SentEvent, type SentRequest } from './round.ts'

export interface RequestOptions {
  readonly clock: Clock
  /** The setting `webhooks.allow_private`. */
  readonly allowPrivate: () => boolean
  readonly requests: Counter<'outcome'>
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** Connections end with the round. Without the limit, a request would not wait for one that is about to be free. */
const KEPT = { keepAlive: true, maxSockets: PARALLEL_MAX } as const

export class EndpointRequests {
  readonly #options: RequestOptions
  readonly #url: string
  readonly #secrets: readonly string[]
  readonly #sent: (Omit<SentRequest, 'milliseconds_ago'> & { readonly begin: number })[] = []
  readonly #agent: HttpAgent
  #addresses: Promise<readonly string[]> | undefined

  constructor(options: RequestOptions, { url }: Pick<Claim, 'url'>, secrets: readonly string[]) {
    this.#options = options
    this.#url = url
    this.#secrets = secrets
    this.#agent = new URL(url).protocol === 'http:' ? new HttpAgent(KEPT) : new HttpsAgent(KEPT)
  }

  /** The log so far. */
  get sent(): readonly SentRequest[] {
    const now = this.#options.clock.monotonicMilliseconds()
    return this.#sent.map(({ begin, ...request }) => ({ ...request, milliseconds_ago: Math.round(now - begin) }))
  }

  async send({ id, sequence, text }: Pick<SentEvent, 'id' | 'sequence' | 'text'>, attempt: number): Promise<Failure> {
    const { clock, allowPrivate, requests, resolve = resolveByMachine } = this.#options
    const begin = clock.monotonicMilliseconds()
    const endpoint = {
      url: this.#url,
      secrets: this.#secrets,
      allowPrivate: allowPrivate(),
      isCustomers: true,
      agent: this.#agent,
    } as const
    const reply = await postSigned(
      endpoint,
      { id, body: text },
      {
        clock,
        resolve: (hostname) => {
          this.#addresses ??= resolve(hostname)
          return this.#addresses
        },
      },
    )
    const status = reply.kind === 'answered' ? reply.status : null
    const failure = reply.kind === 'failed' ? reply.reason : failureOf(reply.status)
    const milliseconds = Math.round(clock.monotonicMilliseconds() - begin)
    const outcome = { status, error: failure ?? null, milliseconds }
    this.#sent.push({ event_id: id, sequence: sequence === 0 ? null : sequence, attempt, ...outcome, begin })
    requests.inc({ outcome: failure === undefined ? 'accepted' : status === null ? 'no_answer' : 'refused' })
    return failure
  }

  /** Ends the connections. */
  close(): void {
    this.#agent.destroy()
  }

  /** Logs that earlier events are no longer kept. */
  noteExpired(oldest: number): void {
    const error = `the events before ${oldest} that were not sent yet are no longer kept`
    const begin = this.#options.clock.monotonicMilliseconds()
    this.#sent.push({ event_id: null, sequence: oldest, attempt: 0, status: null, error, milliseconds: 0, begin })
  }
}

function failureOf(status: number): Failure {
  return status >= 200 && status < 300 ? undefined : `answered with status ${status}`
}
