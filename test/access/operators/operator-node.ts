/** The operator listener on a store of its own, with a handler that answers `{}` for every call of the table. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { EncryptionKey } from '../../../src/access/clients/encryption-key.ts'
import { operatorActor } from '../../../src/access/clients/operator-calls.ts'
import { Access } from '../../../src/access/operators/access.ts'
import { LoginAttempts } from '../../../src/access/operators/login-attempts.ts'
import { OpenidIssuer } from '../../../src/access/operators/openid-issuer.ts'
import { OpenidLogin } from '../../../src/access/operators/openid-login.ts'
import { registerOperatorRoutes } from '../../../src/access/operators/operator-routes.ts'
import { Passwords } from '../../../src/access/operators/passwords.ts'
import { OPERATOR_CALLS } from '../../../src/contract/operator-calls.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createProxyTrust } from '../../../src/platform/http/client-address.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { ConsoleSetup } from '../../../src/service/keys/console-setup.ts'
import { createOperatorListener } from '../../../src/service/listeners/operator-listener.ts'
import { OperatorGuesses } from '../../../src/service/parts/access/operator-guesses.ts'
import type { Hub } from '../../../src/streaming/gateway/hub.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { acceptInventedAnswers } from '../../support/validated-answers.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

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
  readonly failedLogins: string[]
  /** What was logged. */
  readonly lines: readonly string[]
  readonly setup: ConsoleSetup
  readonly setupFile: string
  metricsText(): Promise<string>
  /** Sends a request below `/admin/v1`, with the single token unless `headers` has other credentials. */
  ask(method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The audit rows of a subject, newest first. */
  auditOf(subject: string): Promise<Body[]>
  close(): Promise<void>
}

interface CallAnswer {
  readonly status: number
  readonly body: object
}

export interface OperatorNodeOptions {
  readonly fourEyes?: () => readonly string[]
  /** Answers the calls that have no routes of their own here. */
  readonly onCall?: (call: string, body: unknown, actor: string) => CallAnswer | Promise<CallAnswer>
  readonly hub?: Hub
  readonly publicUrl?: string
  readonly trustedProxies?: readonly string[]
  /** The store of another node, which it shares. */
  readonly db?: Db
  /** An issuer at which operators can sign in. */
  readonly openid?: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string }
}

export async function openOperatorNode({
  publicUrl = '',
  trustedProxies = [],
  fourEyes = () => [],
  onCall = () => ({ status: 200, body: {} }),
  hub,
  openid: outside,
  db: sharedDb,
}: OperatorNodeOptions = {}): Promise<OperatorNode> {
  const { log, lines } = captureLog()
  const clock = new NodeClock()
  const db = sharedDb ?? (await openTestStore({ log }))
  const guesses: string[] = []
  const failedLogins: string[] = []
  const metrics = createMetricsRegistry()
  const channel = { publicUrl, isTrustedProxy: createProxyTrust(trustedProxies) }
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-operators-'))
  const linkAddress = (token: string) => `http://console.test/console/#setup=${token}`
  const setup = new ConsoleSetup({ db, clock, log, folder, linkAddress })
  const failures = new OperatorGuesses({ db, clock, log, kind: 'login' })
  const attempts = new LoginAttempts({
    clock,
    metrics,
    onFailedLogin(address, operator) {
      failedLogins.push(address)
      failures.record(address, operator)
    },
    recordFailures: () => failures.write(),
  })
  const openid = outside === undefined ? undefined : createOpenid(outside)
  function createOpenid({ issuer: issuerUrl, clientId, clientSecret }: NonNullable<typeof outside>): OpenidLogin {
    const clientSecretFile = join(folder, 'client-secret')
    writeFileSync(clientSecretFile, `${clientSecret}\n`)
    const redirectUrl = `${publicUrl}/admin/v1/login/openid/callback`
    const issuer = new OpenidIssuer({ issuer: issuerUrl, clientId, clientSecretFile, redirectUrl, clock, log })
    return new OpenidLogin({ issuer, issuerUrl, publicUrl, db, clock, attempts, log })
  }
  const access = new Access({
    db,
    clock,
    attempts,
    encryptionKey: EncryptionKey.parse('ab'.repeat(32)),
    channel,
    // A fraction of the real cost, which is for attackers.
    passwords: new Passwords({ N: 1_024, r: 8, p: 1 }),
    onFirstAdmin: () => setup.remove(),
  })
  const listener = await createOperatorListener({
    host: '127.0.0.1',
    port: 0,
    token: OPERATOR_TOKEN,
    db,
    channel,
    access,
    ...(openid === undefined ? {} : { openid }),
    trustedProxies,
    fourEyes,
    linkAddress,
    ...(hub === undefined ? {} : { stream: { hub, clock, log, inboundBytesMax: 65_536 } }),
    allowedHosts: () => [],
    onGuess: (address) => guesses.push(address),
    log,
    metrics,
    clock,
    readiness: () => ({ ready: true, checks: [] }),
    modules: [
      (app) =>
        registerOperatorRoutes(app, {
          db,
          clock,
          ...(openid === undefined ? {} : { openid }),
          linkAddress,
          renewFirstLink: (changer) => setup.renew(changer),
        }),
      (app) => registerOthers(app, onCall),
    ],
  })
  return {
    db,
    clock,
    url: listener.url,
    guesses,
    failedLogins,
    lines,
    setup,
    setupFile: join(folder, 'console-setup'),
    metricsText: () => metrics.metrics(),
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
      await failures.stop()
      if (sharedDb === undefined) await db.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Every call of the table that the operator routes do not have. */
function registerOthers(app: FastifyInstance, onCall: NonNullable<OperatorNodeOptions['onCall']>): void {
  for (const call of Object.keys(OPERATOR_CALLS)) {
    const [method = '', url = ''] = call.split(' ')
    if (!app.hasRoute({ method: method as 'GET', url: `/admin/v1${url}` })) {
      app.route({
        method,
        url,
        async handler(request, reply) {
          acceptInventedAnswers()
          const { status, body } = await onCall(call, request.body, operatorActor(request))
          return reply.status(status).send(body)
        },
      })
    }
  }
}

/** A person who has set up a password and one-time codes. */
export class Person {
  readonly #node: OperatorNode
  readonly name: string
  readonly password: string
  readonly secret: Buffer

  private constructor(node: OperatorNode, name: string, password: string, secret: Buffer) {
    this.#node = node
    this.name = name
    this.password = password
    this.secret = secret
  }

  static async create(node: OperatorNode, name: string, role: string): Promise<Person> {
    const { body } = await node.ask('POST', '/operators', { name, role })
    const { person } = await Person.setUp(node, body.setup_link.split('#setup=')[1])
    return person
  }

  /** Uses a setup link up; returns the answer to its last step too. */
  static async setUp(
    node: OperatorNode,
    token: string,
    name?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ person: Person; answer: Answer }> {
    const password = `correct horse ${token.slice(-8)}`
    const named = name === undefined ? {} : { name }
    const entered = await node.ask('POST', '/setup', { token, password, ...named }, headers)
    if (entered.status !== 200) throw new Error(JSON.stringify(entered.body))
    const secret = fromBase32(entered.body.totp.secret)
    const person = new Person(node, entered.body.name, password, secret)
    const answer = await node.ask('POST', '/setup/confirm', { token, totp: person.code() }, headers)
    return { person, answer }
  }

  /** The same person with another authenticator. */
  withSecret(base32: string): Person {
    return new Person(this.#node, this.name, this.password, fromBase32(base32))
  }

  /** The current one-time code, or that of a later step. */
  code(later = 0): string {
    return codeOfStep(this.secret, Math.floor(this.#node.clock.wallInstant().milliseconds / 30_000) + later)
  }

  /** Signs in with a code that was not used before. */
  async logIn(): Promise<Session> {
    this.#node.clock.advance(60_000)
    const { name, password } = this
    const answer = await this.#node.ask('POST', '/session', { name, password, totp: this.code() }, {})
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    return sessionOf(this.#node, answer)
  }
}

/** A browser with a session. */
export interface Session {
  readonly cookie: string
  readonly csrf: string
  /** The header fields of a page of the listener. */
  readonly headers: Readonly<Record<string, string>>
}

export function sessionOf({ url }: Pick<OperatorNode, 'url'>, { headers, body }: Answer): Session {
  const cookie = headers.getSetCookie()[0]?.split(';')[0] as string
  return { cookie, csrf: body.csrf_token, headers: { cookie, 'x-csrf-token': body.csrf_token, origin: url } }
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((character) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(character).toString(2).padStart(5, '0'),
  )
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)))
}

/** RFC 6238 once more, as an authenticator app computes it. */
export function codeOfStep(secret: Uint8Array, step: number): string {
  const counter = Buffer.from(step.toString(16).padStart(16, '0'), 'hex')
  const hash = createHmac('sha1', secret).update(counter).digest()
  const bytes = [...hash.subarray((hash[19] as number) & 15)].slice(0, 4)
  const number = bytes.reduce((sum, byte, index) => sum * 256 + (index === 0 ? byte % 128 : byte), 0)
  return String(number).slice(-6).padStart(6, '0')
}
