/**
 * The operator's payment endpoint of a simulated world, as the documentation asks for it: it pays an id once however often
 * it is asked, and never what it has refused. Between it and the service everything goes wrong: answers are lost, come too
 * late, or are made by a proxy. It knows what was really paid, which is what the service is held to.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from '../../../support/awaited.ts'
import type { Random } from '../../../support/random.ts'
import type { VirtualClock } from '../../../support/virtual-clock.ts'

/** What it does with a request that it has neither paid nor refused before. */
const BEHAVIOURS = [
  'settle',
  'settle',
  'accept',
  'refuse',
  'lose',
  'fail',
  'stall',
  'proxy',
  'gone',
  'fail after',
] as const
/** More than a request may take. */
const STALL_MILLISECONDS = 11_000

export class Executor {
  readonly url: string
  /** What it has paid, by delivery: its own name for the payment. */
  readonly paid = new Map<string, string>()
  /** What it will never pay. */
  readonly refused = new Set<string>()
  /** What it was asked wrongly. */
  readonly faults: string[] = []
  /** Of the senders that are at work: a request that is not answered ends when they have waited for it. */
  readonly clocks = new Set<VirtualClock>()
  /** Whether it answers every request, as it should. */
  isWell = false
  readonly #random: Random
  readonly #server: Server
  readonly #bodies = new Map<string, string>()

  private constructor(random: Random, server: Server) {
    this.#random = random
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  static async open(random: Random): Promise<Executor> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Executor(random, server)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Pays, unless it has refused to; the name of the payment. */
  pay(id: string): string | undefined {
    if (this.refused.has(id)) return undefined
    const reference = this.paid.get(id) ?? `payment ${this.paid.size} for ${id}`
    this.paid.set(id, reference)
    return reference
  }

  /** Whether it has not paid, and never will from now on. */
  refuse(id: string): boolean {
    if (!this.paid.has(id)) this.refused.add(id)
    return this.refused.has(id)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const part of request) body += part
    const id = String(request.headers['webhook-id'])
    if ((this.#bodies.get(id) ?? body) !== body) this.faults.push(`the request for ${id} changed`)
    this.#bodies.set(id, body)
    const answer = (status: number, document: object = {}) =>
      void response.writeHead(status).end(JSON.stringify(document))
    const settled = () => {
      const reference = this.pay(id)
      answer(200, reference === undefined ? { status: 'REFUSED', code: 'closed' } : { status: 'SETTLED', reference })
    }
    switch (this.isWell ? 'settle' : this.#random.pick(BEHAVIOURS)) {
      case 'settle':
        return settled()
      case 'accept':
        return this.refused.has(id) ? settled() : answer(200, { status: 'ACCEPTED' })
      case 'refuse':
        this.refuse(id)
        return settled()
      case 'lose':
        this.pay(id)
        return void response.socket?.destroy()
      case 'fail':
        return answer(500)
      case 'fail after':
        this.pay(id)
        return answer(500)
      case 'stall':
        this.pay(id)
        for (const clock of this.clocks) clock.advance(STALL_MILLISECONDS)
        return
      // A status decides nothing, not even with a body that says so.
      case 'proxy':
        this.pay(id)
        return answer(403, { status: 'REFUSED' })
      case 'gone':
        return answer(410, { status: 'REFUSED' })
    }
  }
}
