/**
 * The built program as users run it: `serve` in its own process, on free ports of 127.0.0.1 and in a new data folder.
 * It is called over HTTP, with tokens, as JSON. However the measurement ends, the process ends too and the folder is
 * removed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { OperatorApi } from '../test/support/running-service.ts'
import { createSlowClock } from '../test/support/slow-clock.ts'

const PROGRAM = join(import.meta.dirname, '../dist/main.js')
/** One token's concurrent requests: an operator may have 63. */
export const REQUESTS_MAX = 60
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

export interface Program {
  readonly pid: number
  /** The folder of its embedded store. */
  readonly storeFolder: string
  readonly http: string
  readonly ws: string
  readonly ingest: string
  /** As an admin. */
  readonly operator: Api
  /** With another token: `http` has the customers' API, and `operator` the operator API. */
  api(listener: 'http' | 'operator', token: string): Api
  /** One value of `/metrics`, by its name with its labels. */
  metric(name: string): Promise<number>
  /** Ends it as a deployment does, and throws when the shutdown was not orderly. */
  stop(): Promise<void>
}

interface ReadyLine {
  readonly http: string
  readonly ws: string
  readonly operator: string
  readonly ingest?: string
  readonly pid: number
}

/** @param flags settings, besides ports and folder */
export async function withProgram<Result>(
  flags: Readonly<Record<string, string>>,
  measure: (program: Program) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const all = {
    'http.port': '0',
    'operator.port': '0',
    data_dir: folder,
    'log.level': 'error',
    'accounts.approval': 'auto',
    'destinations.required': 'false',
    ...flags,
  }
  const words = Object.entries(all).flatMap(([key, value]) => [`--${key}`, value])
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const abandon = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  const exit = () => process.exit(1)
  process.once('exit', abandon)
  for (const signal of STOP_SIGNALS) process.once(signal, exit)
  try {
    const line = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
    if (!Array.isArray(line)) throw new Error(`the program ended with ${line} before it was ready`)
    return await measure(
      programOf(JSON.parse(line[0] as string) as ReadyLine, all.data_dir, async () => {
        child.kill('SIGTERM')
        const code = await ended
        if (code !== 0) throw new Error(`the program ended with ${code}`)
      }),
    )
  } finally {
    child.kill('SIGKILL')
    await ended
    process.off('exit', abandon)
    for (const signal of STOP_SIGNALS) process.off(signal, exit)
    rmSync(folder, { recursive: true, force: true })
  }
}

function programOf(ready: ReadyLine, folder: string, stop: () => Promise<void>): Program {
  const addresses = { http: ready.http, operator: `${ready.operator}/admin/v1` }
  const api = (listener: 'http' | 'operator', token: string) => new Api(addresses[listener], token)
  return {
    pid: ready.pid,
    storeFolder: join(folder, 'store'),
    http: ready.http,
    ws: ready.ws,
    ingest: ready.ingest ?? '',
    operator: api('operator', readFileSync(join(folder, 'operator-token'), 'utf8').trim()),
    api,
    metric: (name) => new OperatorApi(ready.operator, folder).metric(name),
    stop,
  }
}

/** The answer to one request. Without a status, the service closed the kept connection as it was sent. */
interface Answered {
  readonly status: number | undefined
  readonly retryAfterSeconds: number
  readonly text: string
}

/** Calls with one token, over kept connections. */
export class Api {
  /** Calls that were repeated. */
  static repeated = 0
  readonly #agent = new Agent({ keepAlive: true, maxSockets: REQUESTS_MAX })
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /**
   * The answer. Throws when it is not 200. A call answered with 503 is repeated after `Retry-After`, as callers should:
   * all calls in these benchmarks are idempotent.
   */
  async call<Answer>(method: 'GET' | 'PATCH' | 'POST', path: string, body?: object): Promise<Answer> {
    for (;;) {
      const { status, retryAfterSeconds, text } = await this.#send(method, path, body)
      if (status === 200) return JSON.parse(text) as Answer
      if (status !== undefined && status !== 503)
        throw new Error(`${method} ${path} was answered ${status}: ${text.slice(0, 500)}`)
      Api.repeated++
      await new Promise((resolve) => setTimeout(resolve, retryAfterSeconds * 1_000))
    }
  }

  #send(method: string, path: string, body: object | undefined): Promise<Answered> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    }
    return new Promise((resolve, reject) => {
      const sent = request(this.#url + path, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const retryAfterSeconds = Number(response.headers['retry-after'] ?? 1)
          resolve({ status: response.statusCode, retryAfterSeconds, text: Buffer.concat(chunks).toString() })
        })
      })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (sent.reusedSocket && error.code === 'ECONNRESET')
          resolve({ status: undefined, retryAfterSeconds: 0, text: '' })
        else reject(error)
      })
      sent.end(text)
    })
  }
}

/** The embedded store of a stopped program, for statements about everything in it, which take their time. */
export function openStoreOf({ storeFolder }: Program): Promise<Db> {
  return openEmbedded({ folder: storeFolder, log: createLog('error'), clock: createSlowClock() })
}

/** The operator API with a token for a new operator with this role, which is also its name. */
export async function newMachine({ operator, api }: Program, role: 'deposit_reporter' | 'executor'): Promise<Api> {
  await operator.call('POST', '/operators', { name: role, role })
  const { token } = await operator.call<{ token: string }>('POST', `/operators/${role}/tokens`, { name: role })
  return api('operator', token)
}

/** A token for a new customer's new client. */
export async function newCustomerToken(
  { operator, http }: Program,
  scopes: readonly string[],
  members: object = {},
): Promise<{ readonly token: string; readonly clientId: string; readonly clientSecret: string }> {
  const name = `customer ${process.hrtime.bigint()}`
  const { id } = await operator.call<{ id: string }>('POST', '/customers', { name, streaming: true })
  const body = { name: 'client', scopes, ...members }
  const client = await operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${id}/clients`,
    body,
  )
  const credentials = { clientId: client.client_id, clientSecret: client.client_secret }
  return { token: await nextToken(http, credentials, scopes), ...credentials }
}

/** Another token for a client. */
export async function nextToken(
  http: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  scopes: readonly string[],
): Promise<string> {
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: scopes.join(' '),
  }
  const answer = await fetch(`${http}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`a token request was answered ${answer.status}: ${text}`)
  return (JSON.parse(text) as { access_token: string }).access_token
}
