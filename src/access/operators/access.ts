/**
 * How people sign in: with name, password and a one-time code, or with a setup link. Also how they change their
 * password and replace their authenticator. A failed attempt reports neither the reason nor whether the name exists,
 * and takes as long for an unknown name. Passwords are accepted only from this machine or encrypted.
 */
import type { FastifyRequest } from 'fastify'
import { type Clock, millisecondText } from '../../platform/base/clock.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db } from '../../platform/store/db.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import { readKnownBrowserCookie } from './cookies.ts'
import { knownBrowserId, knownBrowserValue } from './known-browsers.ts'
import type { LoginAttempt, LoginAttempts } from './login-attempts.ts'
import {
  type CheckedOperator,
  checkPassword,
  type Entered,
  findOperator,
  loginFailed,
  useCode,
} from './password-check.ts'
import type { Passwords } from './passwords.ts'
import { hashRandomSecret } from './random-secrets.ts'
import { endSessions, type NewSession, openSession } from './sessions.ts'
import { confirmLink, createAuthenticatorLink, enterPassword, type LinkPurpose, purposeOf } from './setup-links.ts'
import { deleteLink } from './store.ts'
import type { OperatorTables } from './tables.ts'

export interface AccessOptions {
  readonly db: Db
  readonly clock: Clock
  readonly attempts: LoginAttempts
  readonly encryptionKey: EncryptionKey | undefined
  readonly channel: ChannelOptions
  readonly passwords: Passwords
  /** Called when the first admin's link has been used. */
  readonly onFirstAdmin: () => void
}

/** A person's login in a browser, which is known from now on. */
export interface PasswordLogin {
  readonly session: NewSession
  /** The cookie value by which the browser is known. */
  readonly knownBrowser: string
}

export interface PasswordChange {
  /** The number of other sessions, which have ended. */
  readonly endedSessions: number
  readonly knownBrowser: string
}

/** What a person who is signed in enters again. */
export interface OwnLogin extends Entered {
  /** For the session in use. */
  readonly sessionSecret: string
}

type NewAuthenticator = Awaited<ReturnType<typeof createAuthenticatorLink>>

export class Access {
  readonly #options: AccessOptions

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /** @throws {Problem} 401 `login_failed`, 403 `login_unavailable`, 429 */
  async logIn(request: FastifyRequest, entered: Entered): Promise<PasswordLogin> {
    const { db, attempts } = this.#options
    this.#requireSafeChannel(request)
    const origin = { clientAddress: request.clientAddress, way: 'password' } as const
    const ownKey = await this.#knownBrowser(request, entered.name)
    return await attempts.run(request, { kind: 'password', name: entered.name, ownKey }, async (attempt) => {
      const checked = await checkPassword(this.#options, entered, attempt)
      await attempts.recordFailures()
      const now = this.#now()
      const session = await db.transaction<OperatorTables, NewSession | undefined>(async (transaction) => {
        const operator = await useCode(transaction, checked, { last_login_at: millisecondText(now) })
        return operator === undefined ? undefined : await openSession(transaction, operator, origin, now)
      })
      if (session === undefined) throw attempt.failed(loginFailed(), entered.name)
      attempt.succeeded(true)
      return { session, knownBrowser: knownBrowserValue(checked, now) }
    })
  }

  /** Replaces a signed-in person's password, and ends the other sessions and an open setup link. */
  async changePassword(request: FastifyRequest, own: OwnLogin, newPassword: string): Promise<PasswordChange> {
    const { db, passwords } = this.#options
    return await this.#asOwn(request, own, async (checked, { caller }) => {
      const password = await passwords.queued(caller, () => passwords.hash(newPassword))
      return await db.transaction<OperatorTables, PasswordChange | undefined>(async (transaction) => {
        const operator = await useCode(transaction, checked, { password })
        if (operator === undefined) return undefined
        const { id, name } = operator
        await deleteLink(transaction, id)
        const endedSessions = await endSessions(transaction, id, own.sessionSecret)
        const detail = { client_address: request.clientAddress }
        await writeAudit(transaction, { actor: `operator:${name}`, action: 'operator.password', subject: name, detail })
        return { endedSessions, knownBrowser: knownBrowserValue({ id, password }, this.#now()) }
      })
    })
  }

  /** Begins to replace a signed-in person's authenticator: a setup link finishes it with the first new code. */
  async beginAuthenticator(request: FastifyRequest, own: OwnLogin): Promise<NewAuthenticator> {
    const { db, encryptionKey } = this.#options
    return await this.#asOwn(request, own, (checked) =>
      db.transaction<OperatorTables, NewAuthenticator | undefined>(async (transaction) => {
        const operator = await useCode(transaction, checked, {})
        if (operator === undefined) return undefined
        const { password } = checked
        return await createAuthenticatorLink(transaction, { ...operator, password }, encryptionKey, this.#now())
      }),
    )
  }

  /** Runs work for the person who enters password and code again. The session has its own budget. */
  async #asOwn<Result>(
    request: FastifyRequest,
    own: OwnLogin,
    work: (checked: CheckedOperator, attempt: LoginAttempt) => Promise<Result | undefined>,
  ): Promise<Result> {
    this.#requireSafeChannel(request)
    const { name } = own
    const ownKey = `session ${hashRandomSecret(own.sessionSecret).toString('base64url')}`
    return await this.#options.attempts.run(request, { kind: 'password', name, ownKey }, async (attempt) => {
      const checked = await checkPassword(this.#options, own, attempt)
      const result = await work(checked, attempt)
      if (result === undefined) throw attempt.failed(loginFailed(), name)
      attempt.succeeded(false)
      return result
    })
  }

  /** What a setup link is for. */
  async readLink(request: FastifyRequest, token: string): Promise<LinkPurpose> {
    return await this.#withLink(request, async (attempt) => {
      const purpose = await purposeOf(this.#options.db.tables(), token, this.#now())
      attempt.succeeded(false)
      return purpose
    })
  }

  /** Chooses a password with a setup link. Returns the secret for the one-time codes. */
  async enterPassword(
    request: FastifyRequest,
    { token, name, password }: { readonly token: string; readonly name?: string; readonly password: string },
  ): Promise<Awaited<ReturnType<typeof enterPassword>>> {
    const { db, encryptionKey, passwords } = this.#options
    return await this.#withLink(request, async (attempt) => {
      await purposeOf(db.tables(), token, this.#now())
      // The link is valid: its holder guesses nothing.
      const hashed = await passwords.queued({ ...attempt.caller, isPreferred: true }, () => passwords.hash(password))
      const entered = await db.transaction<OperatorTables, Awaited<ReturnType<typeof enterPassword>>>((transaction) =>
        enterPassword(transaction, token, { name, password: hashed }, encryptionKey, this.#now()),
      )
      attempt.succeeded(false)
      return entered
    })
  }

  /** Uses a setup link up with the first code, and signs in. */
  async confirmLink(request: FastifyRequest, token: string, code: string): Promise<PasswordLogin> {
    const { db, attempts, encryptionKey, onFirstAdmin } = this.#options
    const origin = { clientAddress: request.clientAddress, way: 'setup_link' } as const
    return await this.#withLink(request, async (attempt) => {
      await attempts.recordFailures()
      const now = this.#now()
      const done = await db.transaction<OperatorTables, (PasswordLogin & { isFirst: boolean }) | undefined>(
        async (transaction) => {
          const operator = await confirmLink(transaction, token, code, encryptionKey, now)
          if (operator === undefined) return undefined
          const session = await openSession(transaction, operator, origin, now)
          return { session, knownBrowser: knownBrowserValue(operator, now), isFirst: operator.isFirst }
        },
      )
      if (done === undefined) throw attempt.failed(loginFailed())
      if (done.isFirst) onFirstAdmin()
      attempt.succeeded(true)
      return done
    })
  }

  /** Runs an attempt with a setup link, whose failures have their own limits. */
  async #withLink<Result>(request: FastifyRequest, work: (attempt: LoginAttempt) => Promise<Result>): Promise<Result> {
    this.#requireSafeChannel(request)
    return await this.#options.attempts.run(request, { kind: 'setup_link' }, async (attempt) => {
      try {
        return await work(attempt)
      } catch (error) {
        throw error instanceof Problem && error.code === 'setup_link_invalid' ? attempt.failed(error) : error
      }
    })
  }

  /** The key for the browser's budget, if the operator has signed in with it. */
  async #knownBrowser({ raw }: FastifyRequest, name: string): Promise<string | undefined> {
    const { db, channel } = this.#options
    const value = readKnownBrowserCookie(raw.headers.cookie, channelOf(raw, channel), name)
    if (value === undefined) return undefined
    const row = await findOperator(db, name)
    if (row === undefined || row.password === null) return undefined
    const id = knownBrowserId({ id: row.id, password: row.password }, value, this.#now())
    return id === undefined ? undefined : `browser ${id}`
  }

  #requireSafeChannel({ raw }: FastifyRequest): void {
    const reason = unavailableReason(raw, this.#options.channel)
    if (reason !== undefined) throw new Problem('login_unavailable', reason)
  }

  #now(): number {
    return this.#options.clock.wallInstant().milliseconds
  }
}

/** Why passwords are not accepted over this connection, or undefined when they are. */
export function unavailableReason(request: FastifyRequest['raw'], channel: ChannelOptions): string | undefined {
  if (channelOf(request, channel) !== 'open') return undefined
  return (
    'passwords are accepted only encrypted or from this machine: set operator.tls.*, ' +
    'or operator.public_url (https) with the proxy in http.trusted_proxies'
  )
}
