/**
 * The outside world of payments that leave: what was really paid, per delivery, however the service is informed of it. One
 * delivery is paid at most once, because every executor passes its id on, and one that was refused is never paid. It also
 * serves the webhook, which loses answers, fails, refuses, accepts and lies, each with some deliveries.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from '../../support/awaited.ts'
import type { Random } from '../../support/random.ts'

/** What the webhook does with a delivery each time that it is asked, with weights. */
const MANNERS = {
  settles: 9,
  /** Pays, and loses the first answers. */
  'loses answers': 4,
  /** Fails before it pays, at first. */
  fails: 3,
  /** Pays, and a proxy answers 403 at first. */
  'has a proxy': 2,
  refuses: 4,
  /** Answers that it will pay. */
  accepts: 3,
  /** Pays, and does not report it until it is well. */
  'is silent': 2,
  /** Pays, and reports that it has refused. */
  lies: 1,
} as const

type Manner = keyof typeof MANNERS

const WHEEL = Object.entries(MANNERS).flatMap(([manner, weight]) => Array<Manner>(weight).fill(manner as Manner))
/** Requests for one delivery that are misbehaved on. */
const FAULTS_MAX = 2

interface Requested {
  readonly manner: Manner
  readonly body: string
  readonly faults: number
  requests: number
}

/** What is paid for a delivery. */
export interface Terms {
  readonly asset: string
  readonly amount: string
}

export interface Payout extends Terms {
  readonly reference: string
  readonly payer: string
}

export class Bank {
  readonly paid = new Map<string, Payout>()
  /** Deliveries that will never be paid. */
  readonly refused = new Set<string>()
  /** Deliveries that were reported as not paid, untruly. */
  readonly deniedUntruly = new Set<string>()
  /** Deliveries that were reported as paid, untruly: the invented references. */
  readonly invented = new Map<string, string>()
  readonly violations: string[] = []
  requests = 0
  /** Whether the webhook answers every request, truly. */
  isWell = false
  /** Called before a request is answered, with the name in its address; false: the process that sent it is gone. */
  onRequest: (node: string) => boolean = () => true
  readonly #random: Random
  readonly #server: Server
  readonly #requested = new Map<string, Requested>()

  constructor(random: Random) {
    this.#random = random
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  urlFor(node: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${node}`
  }

  /** Pays, if it was neither paid nor refused before; the reference of the payment, undefined for a refused one. */
  pay(id: string, payer: string, { asset, amount }: Terms): string | undefined {
    const before = this.paid.get(id)
    if (before !== undefined) {
      if (before.asset !== asset || before.amount !== amount) {
        this.violations.push(`a delivery changed from ${before.amount} ${before.asset} to ${amount} ${asset}: ${id}`)
      }
      return before.reference
    }
    if (this.refused.has(id)) return undefined
    const reference = `payment ${this.paid.size} of ${id}`
    this.paid.set(id, { asset, amount, reference, payer })
    return reference
  }

  /** Whether it was not paid, and never will be from now on. */
  refuse(id: string): boolean {
    if (!this.paid.has(id)) this.refused.add(id)
    return this.refused.has(id)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    try {
      for await (const part of request) body += part
    } catch {
      // Killed while it was sending.
      return
    }
    this.requests++
    const id = String(request.headers['webhook-id'])
    const requested = this.#note(id, body)
    requested.requests++
    const { asset, amount } = JSON.parse(body).data
    const answer = this.#answerTo(id, requested, { asset, amount })
    if (!this.onRequest(request.url?.slice(1) ?? '') || answer === undefined) return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  }

  #note(id: string, body: string): Requested {
    const before = this.#requested.get(id)
    if (before !== undefined) {
      if (before.body !== body) this.violations.push(`another body in a repeated request: ${id}`)
      return before
    }
    const faults = 1 + this.#random.integer(FAULTS_MAX)
    const requested: Requested = { manner: this.#random.pick(WHEEL), body, faults, requests: 0 }
    this.#requested.set(id, requested)
    return requested
  }

  /** Undefined: the connection breaks. */
  #answerTo(id: string, { manner, requests, faults }: Requested, terms: Terms) {
    const settled = () => {
      const reference = this.pay(id, 'webhook', terms)
      const body =
        reference === undefined ? { status: 'REFUSED', code: 'closed_account' } : { status: 'SETTLED', reference }
      return { status: 200, body }
    }
    if (this.isWell) return settled()
    const isFaulty = requests <= faults
    switch (manner) {
      case 'settles':
        return settled()
      case 'refuses':
        this.refuse(id)
        return settled()
      case 'accepts':
        return { status: 200, body: { status: 'ACCEPTED' } }
      case 'fails':
        return isFaulty ? { status: 500, body: {} } : settled()
      case 'lies':
        this.pay(id, 'webhook', terms)
        this.deniedUntruly.add(id)
        return { status: 200, body: { status: 'REFUSED', code: 'closed_account' } }
      case 'is silent':
        this.pay(id, 'webhook', terms)
        return { status: 500, body: {} }
      case 'has a proxy':
        this.pay(id, 'webhook', terms)
        return isFaulty ? { status: 403, body: { status: 'REFUSED' } } : settled()
      case 'loses answers':
        this.pay(id, 'webhook', terms)
        return isFaulty ? undefined : settled()
    }
  }
}
