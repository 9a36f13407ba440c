/** What tests of screening share: a node with a hook that a test scripts, a sender on a test's clock, and movements. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { createHookCounter } from '../../../src/money/screening/metrics.ts'
import { createScreeningSender } from '../../../src/money/screening/sender.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { screenedKinds } from '../../../src/service/parts/money/screening.ts'
import { gateSettings } from '../../../src/service/parts/money/settings.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { credit } from '../../support/ledger.ts'
import { convertSettings } from '../../support/orchestrations.ts'
import { ENCRYPTION_KEY, type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, type TestAccount } from '../../support/rules.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

export const KEY = Buffer.alloc(24, 9)
const SECRET = `whsec_${KEY.toString('base64')}`
export const ORCHESTRATIONS = '/v2/orchestration/orchestrations'

export interface Received {
  readonly id: string
  readonly timestamp: string
  readonly signatures: readonly string[]
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
  readonly data: any
}

/** What the hook does with a request. */
export type Behaviour = (question: Received, response: ServerResponse) => void

export const decide =
  (decision: string, reason?: string): Behaviour =>
  ({ data }, response) =>
    void response.end(JSON.stringify({ id: data.id, decision, ...(reason === undefined ? {} : { reason }) }))

export const allow = decide('ALLOW')

export class ScreeningStand {
  readonly received: Received[] = []
  /** What the hook does, one after another, then `otherwise`. */
  script: Behaviour[] = []
  otherwise: Behaviour = allow
  clock = new VirtualClock(Date.now())
  readonly logged = captureLog()
  node!: RestNode
  customer!: RestCustomer
  account!: TestAccount
  sender!: ReturnType<typeof createScreeningSender>
  #url = ''
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  async open(): Promise<void> {
    this.node = await RestNode.open({ hasTestSeed: true, log: this.logged.log })
    this.customer = await this.node.newCustomer()
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/screen`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.node?.close()
  }

  async begin(): Promise<void> {
    this.received.length = 0
    this.script = []
    this.otherwise = allow
    this.clock = new VirtualClock(Date.now())
    this.account = await newAccount(this.customer)
    this.set({ 'screening.url': this.#url, 'screening.secrets': SECRET, 'review_above.deposits': new Map() })
    this.sender = this.newSender()
    await this.sender.start()
    await this.sender.settled()
  }

  async end(): Promise<void> {
    await this.sender.stop()
    await sql`update screenings set next_attempt_at = next_attempt_at + interval '1 year'`.execute(
      this.node.db.tables(),
    )
  }

  newSender(): ReturnType<typeof createScreeningSender> {
    const { node, clock } = this
    return createScreeningSender({
      db: node.db,
      kinds: screenedKinds(node.live),
      clock,
      log: this.logged.log,
      random: () => 0.5,
      encryptionKey: ENCRYPTION_KEY,
      requests: createHookCounter(createMetricsRegistry()),
      settings: () => ({ url: node.live.config['screening.url'], secrets: [SECRET], allowPrivate: false }),
    })
  }

  /** As a reload of the configuration does. */
  set(changes: Readonly<Record<string, unknown>>): void {
    const { live } = this.node
    live.config = { ...live.config, ...changes }
  }

  /** Asks what is due, and everything that follows from it at this time. */
  async ask(): Promise<void> {
    this.clock.advance(5_000)
    await this.sender.settled()
  }

  /** Lets time pass for the store's questions and decisions, and asks again. */
  async letPass(seconds: number): Promise<void> {
    await sql`
      update screenings set next_attempt_at = next_attempt_at - ${seconds} * interval '1 second',
        decided_at = decided_at - ${seconds} * interval '1 second'
    `.execute(this.node.db.tables())
    this.clock.advance(10_000)
    await this.sender.settled()
  }

  /** A payment of 2.5 USDC to an address outside. Returns its orchestration's id. */
  async pay(changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
    await credit(this.node.db, this.account.profileId, 'USDC', 2_500_000n)
    const answer = await this.customer.call('POST', ORCHESTRATIONS, {
      ref_id: crypto.randomUUID(),
      source: { profile: { profile_id: this.account.profileId } },
      source_asset: 'USDC',
      source_amount: '2.5',
      destination_asset: 'USDC',
      destination: { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } },
      ...changes,
    })
    expect(answer.status, answer.text).toBe(200)
    await this.convert()
    return answer.body.id
  }

  /** Converts everything that waits, as the worker would. */
  async convert(): Promise<void> {
    const { db, live } = this.node
    await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(db.tables())
    const claims = await claimWork(db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
    const settings = { ...convertSettings(), gates: gateSettings(live.config) }
    await transactionWithRetries(db, (transaction) => convertBatch(transaction, claims, settings))
  }

  /** The orchestrations whose payments are handed out now. */
  async handOut(): Promise<readonly string[]> {
    await sql`
      update deliveries set next_attempt_at = clock_timestamp() where waiting_for is not null
    `.execute(this.node.db.tables())
    const body = { executor: 'treasury', limit: 100, lease_seconds: 60 }
    const answer = await this.node.operator('POST', '/deliveries/claim', body)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.items.map(({ orchestration_id }: { orchestration_id: string }) => orchestration_id)
  }

  async orchestration(id: string) {
    return (await this.customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body
  }

  /** The screening of a deposit or an orchestration. */
  async screeningOf(movementId: string) {
    const { body, text } = await this.node.operator('GET', `/screening?movement_id=${movementId}`)
    expect(body?.items, `${text}\n${this.logged.lines.slice(-3).join('\n')}`).toHaveLength(1)
    return body.items[0]
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const part of request) text += part
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers
    const common = { id: String(id), timestamp: String(timestamp), signatures: String(signatures).split(' ') }
    const question = { ...common, text, data: JSON.parse(text).data }
    this.received.push(question)
    const behaviour = this.script.shift() ?? this.otherwise
    behaviour(question, response)
  }
}

/** A stand of the test file: opened before its tests, with a new account and sender for each. */
export function useScreening(): ScreeningStand {
  const stand = new ScreeningStand()
  beforeAll(() => stand.open())
  afterAll(() => stand.close())
  beforeEach(() => stand.begin())
  afterEach(() => stand.end())
  return stand
}
