/**
 * Operator API calls that the service itself makes in an operator's name, through the listener's own routes: the
 * confirmed call, and the one that shows a request's record. Each passes every check of the call itself.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  OPERATOR_CALLS,
  type OperatorCallId,
  type OperatorCallRow,
  recordCallOf,
  recordIdIn,
} from '../../contract/operator-calls.ts'
import { Problem, type ProblemCode } from '../../platform/http/problem.ts'
import type { CallingOperator } from '../clients/operator-calls.ts'
import type { SeenRecord } from './seen-records.ts'

/** Names this process's call. */
const HEADER = 'tidegate-confirmation'
const KEY_BYTES = 32

export interface OwnCall {
  readonly call: OperatorCallId
  readonly params: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
}

export class OwnCalls {
  readonly #operators = new Map<string, CallingOperator>()

  /** The operator in whose name this process makes the call. Undefined for a client's call. Found once. */
  take({ headers }: Pick<FastifyRequest, 'headers'>): CallingOperator | undefined {
    const key = headers[HEADER]
    if (typeof key !== 'string') return undefined
    const operator = this.#operators.get(key)
    this.#operators.delete(key)
    return operator
  }

  /** Sends the call to the routes in `app`. */
  async send(app: FastifyInstance, operator: CallingOperator, { call, params, query, body }: OwnCall) {
    const [method = '', pattern = ''] = call.split(' ')
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    // A client cannot guess it, and it is valid for one call.
    const key = randomBytes(KEY_BYTES).toString('base64url')
    this.#operators.set(key, operator)
    const sent = body === undefined ? {} : { payload: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      return await app.inject({
        method: method as 'GET' | 'POST' | 'PATCH' | 'PUT',
        url: `${app.prefix}${path}`,
        ...(query === undefined ? {} : { query: { ...query } }),
        headers: { host: 'localhost', [HEADER]: key, ...type },
        ...sent,
      })
    } finally {
      this.#operators.delete(key)
    }
  }

  /**
   * The record that a call changes, as the operator may read it. Undefined when the call creates one.
   * @throws {Problem} why it cannot be read
   */
  async readRecord(
    app: FastifyInstance,
    operator: CallingOperator,
    { call, params, body = {} }: OwnCall,
  ): Promise<SeenRecord | undefined> {
    const shown = recordCallOf(call)
    if (shown === undefined) return undefined
    const { recordBy }: OperatorCallRow = OPERATOR_CALLS[shown]
    const id = recordIdIn(call, body)
    const query = recordBy === undefined || id === undefined ? {} : { query: { [recordBy]: id } }
    const answer = await this.send(app, { ...operator, keepsRecord: true }, { call: shown, params, ...query })
    const document = answer.json() as SeenRecord
    if (answer.statusCode === 200) return document
    const { code, detail } = document as { readonly code: ProblemCode; readonly detail: string }
    throw new Problem(code, detail)
  }
}
