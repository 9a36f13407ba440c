/**
 * How people sign in: with name, password and a one-time code, or with a setup link. Attempts are limited by address and by
 * name; a failed one reports neither what was wrong nor whether the name exists, and takes as long for an unknown name.
 * Passwords are accepted only from this machine or encrypted.
 */
import type { FastifyRequest } from 'fastify'
import type { EncryptionKey } from '../auth/encryption-key.ts'
import { type Clock, millisecondText } from '../base/clock.ts'
import { Counter, type MetricsRegistry } from '../base/metrics.ts'
import type { OperatorRole } from '../contract/operator-calls.ts'
import { addressBlock } from '../http/client-address.ts'
import { Problem } from '../http/problem.ts'
import { RateLimiter, rateLimited } from '../http/rate-limit.ts'
import { writeAudit } from '../store/audit.ts'
import type { Db, Transaction } from '../store/db.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import type { Passwords } from './passwords.ts'
import { createSession } from './sessions.ts'
import { confirmLink, enterPassword, type LinkPurpose, purposeOf } from './setup-links.ts'
import type { OperatorTables } from './tables.ts'
import { matchingStep } from './totp.ts'
import { readTotpSecret } from './totp-secrets.ts'

export interface AccessOptions {
  readonly db: Db
  readonly clock: Clock
  readonly metrics: MetricsRegistry
  readonly encryptionKey: EncryptionKey | undefined
  readonly channel: ChannelOptions
  readonly passwords: Passwords
  /** Called for every failed login. */
  readonly onFailedLogin: (clientAddress: string) => void
  /** Called when the link of the first admin has been used. */
  readonly onFirstAdmin: () => void
}

/** A new session, with its secret for the cookie. */
export interface NewSession {
  readonly operator: { readonly name: string; readonly role: OperatorRole }
  readonly secret: string
  readonly expiresAt: string
}

/** A person mistypes a few times; 0.2 per second are 17,000 guesses a day, of a million codes that change. */
const BY_ADDRESS = { name: 'operator-login', perSecond: 0.2, burst: 10 }
const BY_NAME = { name: 'operator-login-name', perSecond: 0.2, burst: 10 }

type LoginResult = 'succeeded' | 'failed' | 'limited'

export class Access {
  readonly #options: AccessOptions
  readonly #byAddress: RateLimiter
  readonly #byName: RateLimiter
  readonly #logins: Counter<'result'>

  constructor(options: AccessOptions) {
    this.#options = options
    this.#byAddress = new RateLimiter(options.clock, BY_ADDRESS)
    this.#byName = new RateLimiter(options.clock, BY_NAME)
    this.#logins = new Counter({
      name: 'tidegate_operator_logins_total',
      help: 'Attempts of people to sign in to the operator listener, by result: succeeded, failed, limited',
      labelNames: ['result'],
      registers: [options.metrics],
    })
    for (const result of ['succeeded', 'failed', 'limited'] satisfies LoginResult[]) this.#logins.inc({ result }, 0)
  }

  /** @throws {Problem} 401 `login_failed`, 403 `login_unavailable`, 429 */
  async logIn(
    request: FastifyRequest,
    { name, password, totp }: { readonly name: string; readonly password: string; readonly totp: string },
  ): Promise<NewSession> {
    const { db, clock, encryptionKey } = this.#options
    this.#requireSafeChannel(request)
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
        return operator === undefined ? undefined : await this.#open(transaction, request, operator, now)
      })
    })
  }

  /** What a setup link is for. */
  async readLink(request: FastifyRequest, token: string): Promise<LinkPurpose> {
    const { db, clock } = this.#options
    this.#requireSafeChannel(request)
    return await this.#limited(request, '', () => purposeOf(db.tables(), token, clock.wallInstant().milliseconds))
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
    return await this.#limited(request, '', async () => {
      const done = await db.transaction<OperatorTables, (NewSession & { isFirst: boolean }) | undefined>(
        async (transaction) => {
          const operator = await confirmLink(transaction, token, code, encryptionKey, now)
          if (operator === undefined) return undefined
          const { isFirst } = operator
          return { ...(await this.#open(transaction, request, operator, now)), isFirst }
        },
      )
      if (done?.isFirst) onFirstAdmin()
      return done
    })
  }

  /** Runs an attempt within the limits; one that returns nothing has failed. */
  async #limited<Result>(
    request: FastifyRequest,
    name: string,
    attempt: () => Promise<Result | undefined>,
  ): Promise<Result> {
    const limits: [RateLimiter, string][] = [[this.#byAddress, addressBlock(request.clientAddress)]]
    if (name !== '') limits.push([this.#byName, name])
    for (const [limiter, key] of limits) {
      const verdict = limiter.take(key)
      if (verdict.allowed) continue
      this.#logins.inc({ result: 'limited' })
      throw rateLimited(verdict)
    }
    const result = await attempt()
    if (result !== undefined) {
      for (const [limiter, key] of limits) limiter.giveBack(key)
      return result
    }
    this.#logins.inc({ result: 'failed' })
    this.#options.onFailedLogin(request.clientAddress)
    throw new Problem('login_failed', 'name, password or code are not right, or the code was used before')
  }

  async #open(
    transaction: Transaction<OperatorTables>,
    request: FastifyRequest,
    operator: { readonly id: string; readonly name: string; readonly role: OperatorRole },
    now: number,
  ): Promise<NewSession> {
    const { id, name, role } = operator
    const session = await createSession(transaction, id, now)
    const detail = { client_address: request.clientAddress }
    await writeAudit(transaction, { actor: `operator:${name}`, action: 'operator.login', subject: name, detail })
    this.#logins.inc({ result: 'succeeded' })
    return { operator: { name, role }, ...session }
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
