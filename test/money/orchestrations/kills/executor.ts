/**
 * Pays deliveries as an operator's endpoint does: a real HTTP server that pays each `webhook-id` once, however often it is
 * asked, and then misbehaves in what it answers. It counts what it paid, and names what no service may do to it.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from '../../../support/awaited.ts'
import type { Random } from '../../../support/random.ts'

/** What it does with a delivery, each time that it is asked. */
const MANNERS = {
  settles: 8,
  /** Pays, and loses the first answers. */
  'loses answers': 3,
  /** Fails before it pays, at first. */
  fails: 2,
  /** Pays, and a proxy answers 403 at first. */
  'has a proxy': 2,
  refuses: 3,
  /** Says that it will pay, and reports it later by itself. */
  accepts: 2,
  /** Pays, and never says so. */
  'is silent': 1,
} as const

export type Manner = keyof typeof MANNERS

const WHEEL = Object.entries(MANNERS).flatMap(([manner, weight]) => Array<Manner>(weight).fill(manner as Manner))
/** Requests that a delivery is misbehaved on. */
const FAULTS_MAX = 2

interface Known {
  readonly manner: Manner
  readonly body: string
  readonly orchestrationId: string
  readonly faults: number
  requests: number
  reference: string | undefined
}

export class Executor {
  readonly deliveries = new Map<string, Known>()
  readonly violations: string[] = []
  /** Called with the name in the address before a request is answered; false: the process that sent it is gone. */
  onRequest: (worker: string) => boolean = () => true
  readonly #random: Random
  readonly #server: Server
  #port = 0

  constructor(random: Random) {
    this.#random = random
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Where a worker of this name sends deliveries to. */
  urlFor(worker: string): string {
    return `http://127.0.0.1:${this.#port}/${worker}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** The reference of the payment, which is made now if it was not before. */
  pay(id: string): string {
    const known = this.deliveries.get(id) as Known
    if (known.manner === 'refuses') this.violations.push(`a refused delivery was paid: ${id}`)
    known.reference ??= `payment of ${id}`
    return known.reference
  }

  /** Orchestrations for which it paid more than once: under several ids. */
  get paidTwice(): readonly string[] {
    const paid = [...this.deliveries.values()].filter(({ reference }) => reference !== undefined)
    const seen = new Set<string>()
    return paid.flatMap(({ orchestrationId }) =>
      seen.size === seen.add(orchestrationId).size ? [orchestrationId] : [],
    )
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    try {
      for await (const part of request) body += part
    } catch {
      // Killed while it was sending.
      return
    }
    const id = String(request.headers['webhook-id'])
    const known = this.#known(id, body)
    known.requests++
    const isPaidFirst = this.#random.chance(0.5)
    if (isPaidFirst && known.manner !== 'refuses' && known.manner !== 'accepts') this.pay(id)
    if (!this.onRequest(request.url?.slice(1) ?? '')) {
      response.destroy()
      return
    }
    this.#answer(id, known, response)
  }

  #known(id: string, body: string): Known {
    const known = this.deliveries.get(id)
    if (known !== undefined) {
      if (known.body !== body) this.violations.push(`other bytes in a repeated request: ${id}`)
      return known
    }
    const first: Known = {
      manner: this.#random.pick(WHEEL),
      body,
      orchestrationId: JSON.parse(body).data.orchestration_id,
      faults: 1 + this.#random.integer(FAULTS_MAX),
      requests: 0,
      reference: undefined,
    }
    this.deliveries.set(id, first)
    return first
  }

  #answer(id: string, { manner, requests, faults }: Known, response: ServerResponse): void {
    const isFaulty = requests <= faults
    const settled = () => response.end(JSON.stringify({ status: 'SETTLED', reference: this.pay(id) }))
    if (manner === 'refuses') response.end('{"status":"REFUSED","code":"closed_account"}')
    else if (manner === 'accepts') response.end('{"status":"ACCEPTED"}')
    else if (manner === 'is silent') {
      this.pay(id)
      response.writeHead(500).end()
    } else if (!isFaulty || manner === 'settles') settled()
    else if (manner === 'fails') response.writeHead(500).end()
    else if (manner === 'has a proxy') {
      this.pay(id)
      response.writeHead(403).end()
    } else {
      this.pay(id)
      response.destroy()
    }
  }
}
