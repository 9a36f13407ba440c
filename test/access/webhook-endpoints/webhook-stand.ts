/**
 * A node with its sender, and receivers of webhooks on this machine. The sender's clock is virtual, and jittered delays
 * are far longer than a test: only `letPass` makes repetitions due.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createWebhookMetrics } from '../../../src/access/webhook-endpoints/metrics.ts'
import { WebhookSender, type WebhookSenderOptions } from '../../../src/access/webhook-endpoints/sender.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { ENCRYPTION_KEY, type RestCustomer, RestNode } from '../../support/rest.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** A request as a receiver got it. */
export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of the document
  readonly event: any
}

/** How a receiver answers: a status, or a function that answers itself. */
export type Answer = number | ((request: Received, response: ServerResponse) => void)

export class WebhookStand {
  node!: RestNode
  sender!: WebhookSender
  clock!: VirtualClock
  registry!: ReturnType<typeof createMetricsRegistry>
  readonly logged = captureLog()
  readonly received: Received[] = []
  /** Called for each request. Default: 200. */
  answer: (request: Received) => Answer = () => 200
  url = ''
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  /** Registers the hooks of a test file. */
  static open(options: Partial<WebhookSenderOptions> = {}): WebhookStand {
    const stand = new WebhookStand()
    beforeAll(async () => {
      stand.node = await RestNode.open({ flags: { 'webhooks.allow_private': 'true' }, log: stand.logged.log })
      await new Promise<void>((resolve) => stand.#server.listen(0, '127.0.0.1', resolve))
      stand.url = `http://127.0.0.1:${(stand.#server.address() as AddressInfo).port}`
    })
    beforeEach(() => {
      stand.received.splice(0)
      stand.logged.lines.splice(0)
      stand.answer = () => 200
      stand.sender = stand.newSender(options)
    })
    afterEach(async () => {
      stand.#server.closeAllConnections()
      await stand.sender.stop()
      const tables = stand.node.db.tables()
      await sql`update webhook_endpoints set status = 'DELETED', disabled_reason = null`.execute(tables)
    })
    afterAll(async () => {
      stand.#server.closeAllConnections()
      stand.#server.close()
      await stand.node?.close()
    })
    return stand
  }

  newSender(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
    const { db, live } = this.node
    this.clock = new VirtualClock(Date.now())
    this.registry = createMetricsRegistry()
    return new WebhookSender({
      db,
      clock: this.clock,
      log: this.logged.log,
      encryptionKey: ENCRYPTION_KEY,
      allowPrivate: () => live.config['webhooks.allow_private'],
      requests: createWebhookMetrics(this.registry, db),
      random: () => 1_000,
      ...options,
    })
  }

  async newEndpoint(customer: RestCustomer, path = '/', types?: readonly string[]) {
    const body = { url: this.url + path, ...(types === undefined ? {} : { types }) }
    const { status, body: endpoint } = await customer.call('POST', '/v2/webhooks/endpoints', body)
    if (status !== 200) throw new Error(JSON.stringify(endpoint))
    return endpoint
  }

  /** Writes a customer's events about objects with these names, in this order, in one transaction. Returns the objects. */
  async addEvents(customerId: string, names: readonly string[], objects = new Map<string, string>()) {
    await this.node.db.transaction(async (transaction: Transaction<object>) => {
      for (const name of names) {
        if (!objects.has(name)) objects.set(name, newId())
      }
      await sql`
        with counted as (
          insert into event_counters as counter (customer_id, last_sequence, last_created_at)
          values (${customerId}, ${names.length}, date_trunc('milliseconds', clock_timestamp()))
          on conflict (customer_id) do update set last_sequence = counter.last_sequence + excluded.last_sequence,
            last_created_at = greatest(counter.last_created_at, excluded.last_created_at)
          returning last_sequence, last_created_at
        )
        insert into events (customer_id, sequence, type, object_type, object_id, ref_id, status, changed_at, created_at)
        select ${customerId}::uuid, last_sequence - ${names.length} + place, 'transfer.transfer.completed', 'transfer',
          object_id, name, 'COMPLETED', last_created_at, last_created_at
        from counted, unnest(${[...names]}::text[], ${names.map((name) => objects.get(name) as string)}::uuid[])
          with ordinality as event (name, object_id, place)
      `.execute(transaction)
      await sql`select pg_notify('tidegate_events', ${customerId})`.execute(transaction)
    })
    return objects
  }

  /** Runs the sender until the condition holds and no request is under way. */
  async until(what: string, isMet: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, isMet, () => this.step())
    await this.sender.settled()
  }

  /** One step of the sender's clock, and the requests that follow from it. */
  async step(): Promise<void> {
    this.clock.advance(100)
    await this.sender.settled()
    await new Promise(setImmediate)
  }

  /** Runs the sender until nothing is due. */
  async idle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      this.clock.advance(5_100)
      await this.sender.settled()
    }
  }

  /** Makes whatever waits due now, and failures this much older. */
  async letPass(hours = 0): Promise<void> {
    const tables = this.node.db.tables()
    await sql`
      update webhook_backlogs set next_attempt_at = clock_timestamp(),
        first_failed_at = first_failed_at - ${hours} * interval '1 hour'
    `.execute(tables)
    await sql`
      update webhook_endpoints set next_attempt_at = clock_timestamp()
      where next_attempt_at is not null and status = 'ACTIVE' and leased_until <= clock_timestamp()
    `.execute(tables)
    await sql`select pg_notify('tidegate_webhooks', '')`.execute(tables)
  }

  /** The names of the objects whose events arrived at the path, in order. */
  names(path = '/'): readonly string[] {
    return this.received.filter((each) => each.path === path).map(({ event }) => event.data.ref_id)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const headers = request.headers as Record<string, string>
    const received = { path: request.url ?? '', headers, body, event: JSON.parse(body) }
    this.received.push(received)
    const answer = this.answer(received)
    if (typeof answer === 'number') response.writeHead(answer).end()
    else answer(received, response)
  }
}
