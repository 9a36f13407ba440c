/**
 * How people sign in: with name, password and a one-time code, or with a setup link. Attempts are limited by address and by
 * name; a failed one reports neither what was wrong nor whether the name exists, and takes as long for an unknown name.
 * Passwords are accepted only from this machine or encrypted.
 */
import type { FastifyRequest } from 'fastify'
import type { EncryptionKey } from '../auth/encryption-key.ts'
import { type Clock, millisecondText } from '../base/clock.ts'
import { Problem } from '../http/problem.ts'
import type { Db } from '../store/db.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import type { LoginAttempts } from './login-attempts.ts'
import type { Passwords } from './passwords.ts'
import { type NewSession, openSession } from './sessions.ts'
import { confirmLink, enterPassword, type LinkPurpose, purposeOf } from './setup-links.ts'
import type { OperatorTables } from './tables.ts'
import { matchingStep } from './totp.ts'
import { readTotpSecret } from './totp-secrets.ts'

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

export class Access {
  readonly #options: AccessOptions

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /** @throws {Problem} 401 `login_failed`, 403 `login_unavailable`, 429 */
  async logIn(
    request: FastifyRequest,
    { name, password, totp }: { readonly name: string; readonly password: string; readonly totp: string },
  ): Promise<NewSession> {
    const { db, clock, encryptionKey } = this.#options
    this.#requireSafeChannel(request)
    const origin = { clientAddress: request.clientAddress, way: 'password' } as const
    return await this.#limited(request, name, async () => {
      const operators = db.tables<OperatorTables>().selectFrom('operators')
      const row = await operators.selectAll().where('name', '=', name).executeTakeFirst()
      const isRight = await this.#options.passwords.verify(password, row?.password ?? undefined)
      if (!isRight || row === undefined || !row.enabled || row.totp_secret === null) return undefined
      const now = clock.wallInstant().milliseconds
      const step = matchingStep(readTotpSecret(row.totp_secret, encryptionKey), totp, now)
      if (step === undefined) return undefined
      return await db.transaction<OperatorTables, NewSession | undefined>(async (transaction) => {
        const change = transaction
          .updateTable('operators')
          .set({ totp_step: String(step), last_login_at: millisecondText(now) })
          .where('id', '=', row.id)
          // As it was read: a code is used once, and a reset or a change of the password in the meantime counts.
          .where('password', '=', row.password)
          .where('enabled', '=', true)
          .where((where) => where.or([where('totp_step', 'is', null), where('totp_step', '<', String(step))]))
          .returning(['id', 'name', 'role'])
        const operator = await change.executeTakeFirst()
        return operator === undefined ? undefined : await openSession(transaction, operator, origin, now)
      })
    })
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
    const hashed = await this.#options.passwords.hash(password)
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
