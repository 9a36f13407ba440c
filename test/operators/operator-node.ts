/** The operator listener on a store of its own, with a handler that answers `{}` for every call of the table. */
import type { FastifyInstance } from 'fastify'
import { createOperatorListener } from '../../src/app/operator-listener.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { OPERATOR_CALLS } from '../../src/contract/operator-calls.ts'
import { operatorWithApiToken } from '../../src/operators/api-tokens.ts'
import { registerOperatorRoutes } from '../../src/operators/operator-routes.ts'
import { listAudit } from '../../src/store/audit.ts'
import type { Db } from '../../src/store/db.ts'
import { captureLog } from '../support/captured-log.ts'
import { openTestStore } from '../support/test-store.ts'
import { itemsOf } from '../support/text-page.ts'
import { NodeClock } from '../support/virtual-clock.ts'

export const OPERATOR_TOKEN = 'the-token-of-the-operator-for-scripts'

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many documents
type Body = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

export interface OperatorNode {
  readonly db: Db
  readonly clock: NodeClock
  readonly url: string
  readonly guesses: string[]
  /** Sends a request below `/admin/v1`, with the single token unless `headers` has other credentials. */
  ask(method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The audit rows of a subject, newest first. */
  auditOf(subject: string): Promise<Body[]>
  close(): Promise<void>
}

export async function openOperatorNode(): Promise<OperatorNode> {
  const { log } = captureLog()
  const clock = new NodeClock()
  const db = await openTestStore({ log })
  const guesses: string[] = []
  const listener = await createOperatorListener({
    host: '127.0.0.1',
    port: 0,
    token: OPERATOR_TOKEN,
    operatorWithToken: (token) => operatorWithApiToken(db, clock, token),
    allowedHosts: () => [],
    onGuess: (address) => guesses.push(address),
    log,
    metrics: createMetricsRegistry(),
    clock,
    readiness: () => ({ ready: true, checks: [] }),
    modules: [(app) => registerOperatorRoutes(app, { db }), registerOthers],
  })
  return {
    db,
    clock,
    url: listener.url,
    guesses,
    async ask(method, path, body, headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }) {
      const hasBody = body !== undefined
      const response = await fetch(`${listener.url}/admin/v1${path}`, {
        method,
        headers: { ...headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
        ...(hasBody ? { body: JSON.stringify(body) } : {}),
        redirect: 'manual',
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: text.startsWith('{') ? JSON.parse(text) : text,
      }
    },
    auditOf: async (subject) => itemsOf(await listAudit(db, { order: 'DESC' }, { subject })),
    async close() {
      await listener.close()
      await db.close()
    },
  }
}

/** Every call of the table that the operator routes do not have. */
function registerOthers(app: FastifyInstance): void {
  for (const call of Object.keys(OPERATOR_CALLS)) {
    const [method = '', url = ''] = call.split(' ')
    if (!app.hasRoute({ method: method as 'GET', url: `/admin/v1${url}` })) {
      app.route({ method, url, handler: async () => ({}) })
    }
  }
}
