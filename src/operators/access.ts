/**
 * How people sign in: with name, password and a one-time code, or with a setup link; and how they change their password and
 * replace their authenticator. Attempts are limited by address and by
 * name; a failed one reports neither what was wrong nor whether the name exists, and takes as long for an unknown name.
 * Passwords are accepted only from this machine or encrypted.
 */
import type { FastifyRequest } from 'fastify'
import type { EncryptionKey } from '../auth/encryption-key.ts'
import { type Clock, millisecondText } from '../base/clock.ts'
import { Problem } from '../http/problem.ts'
import { writeAudit } from '../store/audit.ts'
import type { Db } from '../store/db.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import type { LoginAttempts } from './login-attempts.ts'
import { type CheckedOperator, checkPassword, type Entered, useCode } from './password-check.ts'
import type { Passwords } from './passwords.ts'
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
  /** Called when the link of the first admin has been used. */
  readonly onFirstAdmin: () => void
}

/** What a person who is signed in enters again. */
export interface OwnLogin extends Entered {
  /** Of the session that is in use. */
  readonly sessionSecret: string
}

export class Access {
  readonly #options: AccessOptions

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /** @throws {Problem} 401 `login_failed`, 403 `login_unavailable`, 429 */
  async logIn(request: FastifyRequest, entered: Entered): Promise<NewSession> {
    const { db, clock } = this.#options
    this.#requireSafeChannel(request)
    const origin = { clientAddress: request.clientAddress, way: 'password' } as const
    return await this.#limited(request, entered.name, async () => {
      const checked = await checkPassword(this.#options, entered, request.holder)
      if (checked === undefined) return undefined
      const now = clock.wallInstant().milliseconds
      return await db.transaction<OperatorTables, NewSession | undefined>(async (transaction) => {
        const operator = await useCode(transaction, checked, { last_login_at: millisecondText(now) })
        return operator === undefined ? undefined : await openSession(transaction, operator, origin, now)
      })
    })
  }

  /**
   * Replaces the password of a person who is signed in, and ends the other sessions and an open setup link; returns the number
   * of those sessions.
   */
  async changePassword(request: FastifyRequest, own: OwnLogin, newPassword: string): Promise<number> {
    const { db, passwords } = this.#options
    return await this.#asOwn(request, own, async (checked) => {
      const password = await passwords.hash(newPassword, request.holder)
      return await db.transaction<OperatorTables, number | undefined>(async (transaction) => {
        const operator = await useCode(transaction, checked, { password })
        if (operator === undefined) return undefined
        const { id, name } = operator
        await deleteLink(transaction, id)
        const ended = await endSessions(transaction, id, own.sessionSecret)
        const detail = { client_address: request.clientAddress }
        await writeAudit(transaction, { actor: `operator:${name}`, action: 'operator.password', subject: name, detail })
        return ended
      })
    })
  }

  /** Begins to replace the authenticator of a person who is signed in: a setup link finishes it with the first new code. */
  async beginAuthenticator(
    request: FastifyRequest,
    own: OwnLogin,
  ): Promise<Awaited<ReturnType<typeof createAuthenticatorLink>>> {
    const { db, clock, encryptionKey } = this.#options
    return await this.#asOwn(request, own, (checked) =>
      db.transaction<OperatorTables, Awaited<ReturnType<typeof createAuthenticatorLink>> | undefined>(
        async (transaction) => {
          const operator = await useCode(transaction, checked, {})
          if (operator === undefined) return undefined
          const { password } = checked
          const now = clock.wallInstant().milliseconds
          return await createAuthenticatorLink(transaction, { ...operator, password }, encryptionKey, now)
        },
      ),
    )
  }

  /** Runs work for the person whose password and code are entered again; within the limits of logins. */
  async #asOwn<Result>(
    request: FastifyRequest,
    own: OwnLogin,
    work: (checked: CheckedOperator) => Promise<Result | undefined>,
  ): Promise<Result> {
    this.#requireSafeChannel(request)
    const attempt = this.#options.attempts.begin(request, own.name)
    const checked = await checkPassword(this.#options, own, request.holder)
    const result = checked === undefined ? undefined : await work(checked)
    if (result !== undefined) {
      attempt.succeeded(false)
      return result
    }
    attempt.failed()
    throw new Problem('login_failed', 'password or code are not right, or the code was used before')
  }

  /** What a setup link is for. */
  async readLink(request: FastifyRequest, token: string): Promise<LinkPurpose> {
    const { db, clock } = this.#options
    this.#requireSafeChannel(request)
    return await this.#limited(request, undefined, () =>
      purposeOf(db.tables(), token, clock.wallInstant().milliseconds),
    )
  }

  /** Chooses a password with a setup link; returns the secret of the one-time codes. */
  async enterPassword(
    request: FastifyRequest,
    { token, name, password }: { readonly token: string; readonly name?: string; readonly password: string },
  ): Promise<Awaited<ReturnType<typeof enterPassword>>> {
    const { db, clock, encryptionKey } = this.#options
    await this.readLink(request, token)
    const hashed = await this.#options.passwords.hash(password, request.holder)
    const now = clock.wallInstant().milliseconds
    return await db.transaction<OperatorTables, Awaited<ReturnType<typeof enterPassword>>>((transaction) =>
      enterPassword(transaction, token, { name, password: hashed }, encryptionKey, now),
    )
  }

  /** Uses a setup link up with the first code, and signs in. */
  async confirmLink(request: FastifyRequest, token: string, code: string): Promise<NewSession> {
    const { db, clock, encryptionKey, onFirstAdmin } = this.#options
    this.#requireSafeChannel(request)
    const now = clock.wallInstant().milliseconds
    const origin = { clientAddress: request.clientAddress, way: 'setup_link' } as const
    return await this.#limited(request, '', async () => {
      const done = await db.transaction<OperatorTables, (NewSession & { isFirst: boolean }) | undefined>(
        async (transaction) => {
          const operator = await confirmLink(transaction, token, code, encryptionKey, now)
          if (operator === undefined) return undefined
          const { isFirst } = operator
          return { ...(await openSession(transaction, operator, origin, now)), isFirst }
        },
      )
      if (done?.isFirst) onFirstAdmin()
      return done
    })
  }

  /**
   * Runs an attempt within the limits; one that returns nothing has failed.
   * @param name empty: it is not known yet; undefined: also, and the attempt opens no session
   */
  async #limited<Result>(
    request: FastifyRequest,
    name: string | undefined,
    run: () => Promise<Result | undefined>,
  ): Promise<Result> {
    const attempt = this.#options.attempts.begin(request, name ?? '')
    const result = await run()
    if (result === undefined) {
      attempt.failed()
      throw new Problem('login_failed', 'name, password or code are not right, or the code was used before')
    }
    attempt.succeeded(name !== undefined)
    return result
  }

  #requireSafeChannel({ raw }: FastifyRequest): void {
    const reason = unavailableReason(raw, this.#options.channel)
    if (reason !== undefined) throw new Problem('login_unavailable', reason)
  }
}

/** Why passwords are not accepted over this connection; undefined when they are. */
export function unavailableReason(request: FastifyRequest['raw'], channel: ChannelOptions): string | undefined {
  if (channelOf(request, channel) !== 'open') return undefined
  return (
    'passwords are accepted only encrypted or from this machine: set operator.tls.*, ' +
    'or operator.public_url (https) with the proxy in http.trusted_proxies'
  )
}
