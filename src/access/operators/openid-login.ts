/**
 * Operators' logins at an outside issuer. A login is bound to its browser by a cookie with a random secret, from which
 * state, nonce and code verifier are derived: nothing is stored, and any node can finish another's login. The issuer
 * identifies the person. The subject's binding, which an admin made, identifies the operator here: no operator is
 * created, and none is found by a name or an address.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Clock, millisecondText } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { SHARED_POOLS } from '../../platform/base/shared-pool.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db } from '../../platform/store/db.ts'
import { readLoginCookie } from './cookies.ts'
import { FairQueue } from './fair-queue.ts'
import type { LoginAttempt, LoginAttempts } from './login-attempts.ts'
import {
  IssuerProblem,
  issuerAddress,
  type LoginChecks,
  type OpenidIssuer,
  SUBJECT_CHARACTERS_MAX,
} from './openid-issuer.ts'
import { newRandomSecret } from './random-secrets.ts'
import { type NewSession, openSession } from './sessions.ts'
import type { OperatorTables } from './tables.ts'

export interface OpenidLoginOptions {
  readonly issuer: OpenidIssuer
  /** The setting `operator.oidc.issuer`. */
  readonly issuerUrl: string
  /** The setting `operator.public_url`: where logins begin and end. */
  readonly publicUrl: string
  readonly db: Db
  readonly clock: Clock
  readonly attempts: LoginAttempts
  readonly log: Log
}

/**
 * Why a login did not succeed. `expired`: it was begun too long ago, or in another browser. `unknown_operator`, `disabled`: the
 * issuer knows the person, and this service does not, or no longer.
 */
export const LOGIN_REFUSALS = [
  'denied',
  'disabled',
  'expired',
  'failed',
  'rate_limited',
  'unavailable',
  'unknown_operator',
] as const

export interface LoginRefusal {
  readonly reason: (typeof LOGIN_REFUSALS)[number]
  /** The person's own id at the issuer, where the issuer confirmed it. */
  readonly subject?: string
}

interface FinishedLogin {
  readonly session: NewSession
  readonly returnPath: string
}

/** A login under way, as its cookie has it. */
interface BegunLogin {
  readonly atMilliseconds: number
  readonly secret: string
  /** The console page to show afterwards. */
  readonly returnPath: string
}

/** Long enough for a second factor. */
export const LOGIN_SECONDS_MAX = 600

const CLOCKS_MILLISECONDS_MAX = 60_000

/** A console page, without anything that browsers read as another host or folder. */
export const RETURN_PATH = '^/console/(?!.*\\.\\.)[A-Za-z0-9_.~@%:/-]{0,500}$'

const BEGUN = /^begun\.(\d{1,15})\.(tgi_[\w-]{43})\.([\w-]{1,700})$/
const REFUSED = /^refused\.(\w{1,40})\.([\w-]{0,400})$/

/** Stands for each refusal in the failure count. */
const REFUSED_LOGIN = new Problem('login_failed', 'the login at the issuer was refused')
/** Concurrent logins that ask the issuer. */
const AT_ONCE_MAX = 4

export class OpenidLogin {
  readonly #options: OpenidLoginOptions
  readonly #queue = new FairQueue(AT_ONCE_MAX, SHARED_POOLS.issuer_logins.size)

  constructor(options: OpenidLoginOptions) {
    this.#options = options
  }

  /** The issuer in the form in which operators are bound to it. */
  get issuer(): string {
    return issuerAddress(this.#options.issuerUrl)
  }

  get publicUrl(): string {
    return this.#options.publicUrl
  }

  /** The address for the browser, and its cookie's value until it comes back. */
  async begin(returnPath: string): Promise<{ readonly address: string; readonly cookie: string } | LoginRefusal> {
    const atMilliseconds = this.#now()
    const begun = { atMilliseconds, secret: newRandomSecret('tgi_'), returnPath }
    try {
      const address = await this.#options.issuer.loginAddress(checksOf(begun))
      return { address, cookie: `begun.${atMilliseconds}.${begun.secret}.${encoded(returnPath)}` }
    } catch (error) {
      if (!(error instanceof IssuerProblem)) throw error
      return { reason: error.fault }
    }
  }

  /** Opens a session for the person whom the issuer has confirmed. */
  async finish(request: FastifyRequest): Promise<FinishedLogin | LoginRefusal> {
    const begun = readBegun(readLoginCookie(request.headers.cookie))
    const query = (request.raw.url ?? '').split('?')[1] ?? ''
    if (begun === undefined || !this.#isCurrent(begun) || !hasState(query, checksOf(begun).state)) {
      return { reason: 'expired' }
    }
    try {
      return await this.#options.attempts.run(request, { kind: 'openid' }, (attempt) =>
        this.#queue.take(attempt.caller, () => this.#finish(request, begun, query, attempt)),
      )
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { reason: 'rate_limited' }
    }
  }

  /** @throws {Problem} 429 instead of a refusal, after too many */
  async #finish(
    { clientAddress }: FastifyRequest,
    begun: BegunLogin,
    query: string,
    attempt: LoginAttempt,
  ): Promise<FinishedLogin | LoginRefusal> {
    const { log, issuer } = this.#options
    const outcome = await issuer.subjectOf(query, checksOf(begun)).then(
      (subject) => this.#signIn(subject, clientAddress),
      (error: unknown): LoginRefusal => {
        if (!(error instanceof IssuerProblem)) throw error
        log.warn({ reason: error.message, client_address: clientAddress }, 'a login at the OpenID issuer failed')
        return { reason: error.fault }
      },
    )
    if ('reason' in outcome) {
      const answer = attempt.failed(REFUSED_LOGIN)
      if (answer !== REFUSED_LOGIN) throw answer
      return outcome
    }
    attempt.succeeded(true)
    return { session: outcome, returnPath: begun.returnPath }
  }

  /** Where a person who has signed out here can sign out at the issuer too. Undefined when it is unknown. */
  async logoutAddress(): Promise<string | undefined> {
    try {
      return await this.#options.issuer.logoutAddress()
    } catch (error) {
      if (!(error instanceof IssuerProblem)) throw error
      return undefined
    }
  }

  async #signIn(subject: string, clientAddress: string): Promise<NewSession | LoginRefusal> {
    await this.#options.attempts.recordFailures()
    const now = this.#now()
    const { issuer } = this
    return await this.#options.db.transaction<OperatorTables, NewSession | LoginRefusal>(async (transaction) => {
      const operator = await transaction
        .selectFrom('operators')
        .select(['id', 'name', 'role', 'enabled'])
        .where('issuer', '=', issuer)
        .where('issuer_subject', '=', subject)
        .forUpdate()
        .executeTakeFirst()
      if (operator?.enabled) {
        const change = transaction.updateTable('operators').set({ last_login_at: millisecondText(now) })
        await change.where('id', '=', operator.id).execute()
        return await openSession(transaction, operator, { clientAddress, way: 'openid' }, now)
      }
      const reason = operator === undefined ? 'unknown_operator' : 'disabled'
      const detail = { reason, openid: { issuer, subject }, client_address: clientAddress }
      const actor = operator === undefined ? 'unknown' : `operator:${operator.name}`
      const about = operator?.name ?? 'operator'
      await writeAudit(transaction, { actor, action: 'operator.login_refused', subject: about, detail })
      return { reason, subject }
    })
  }

  #isCurrent({ atMilliseconds }: BegunLogin): boolean {
    const age = this.#now() - atMilliseconds
    // The clock on the node that began it may be ahead of this one's.
    return age > -CLOCKS_MILLISECONDS_MAX && age < LOGIN_SECONDS_MAX * 1000
  }

  #now(): number {
    return this.#options.clock.wallInstant().milliseconds
  }
}

/** The cookie value that shows the refusal to the person. A link to the page cannot forge it. */
export function refusalCookie({ reason, subject = '' }: LoginRefusal): string {
  return `refused.${reason}.${encoded(subject)}`
}

/** The refusal in the header field `Cookie`. */
export function readRefusal(header: string | undefined): LoginRefusal | undefined {
  const [, reason, text = ''] = REFUSED.exec(readLoginCookie(header) ?? '') ?? []
  const known = LOGIN_REFUSALS.find((name) => name === reason)
  if (known === undefined) return undefined
  const subject = decoded(text)
  return { reason: known, ...(subject === '' || subject.length > SUBJECT_CHARACTERS_MAX ? {} : { subject }) }
}

function readBegun(cookie: string | undefined): BegunLogin | undefined {
  const [, at, secret, path] = BEGUN.exec(cookie ?? '') ?? []
  if (at === undefined || secret === undefined || path === undefined) return undefined
  const returnPath = decoded(path)
  return new RegExp(RETURN_PATH).test(returnPath) ? { atMilliseconds: Number(at), secret, returnPath } : undefined
}

/** Derived from everything in the cookie, so a changed one does not fit the state. */
function checksOf({ atMilliseconds, secret, returnPath }: BegunLogin): LoginChecks {
  const derive = (purpose: string) =>
    createHmac('sha256', secret).update(`${purpose} ${atMilliseconds} ${returnPath}`).digest('base64url')
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') }
}

function hasState(query: string, state: string): boolean {
  const sent = Buffer.from(new URLSearchParams(query).get('state') ?? '')
  const expected = Buffer.from(state)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function decoded(text: string): string {
  return Buffer.from(text, 'base64url').toString()
}
