/** The check on name, password and one-time code, wherever a password is used. */
import type { OperatorRole } from '../../contract/operator-calls.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import type { PasswordHolder } from './known-browsers.ts'
import type { LoginAttempt } from './login-attempts.ts'
import type { Passwords } from './passwords.ts'
import type { OperatorTables } from './tables.ts'
import { matchingStep } from './totp.ts'
import { readTotpSecret } from './totp-secrets.ts'

export interface PasswordCheckOptions {
  readonly db: Db
  readonly clock: Clock
  readonly encryptionKey: EncryptionKey | undefined
  readonly passwords: Passwords
}

export interface Entered {
  readonly name: string
  readonly password: string
  readonly totp: string
}

/** An operator whose password and code were right when they were read. */
export interface CheckedOperator extends PasswordHolder {
  /** The code's time step. */
  readonly step: number
}

/**
 * Returns the operator with this password and code. A failure ends the attempt, and takes as long for an unknown name.
 */
export async function checkPassword(
  { db, clock, encryptionKey, passwords }: PasswordCheckOptions,
  { name, password, totp }: Entered,
  attempt: LoginAttempt,
): Promise<CheckedOperator> {
  return await passwords.queued(attempt.caller, async () => {
    const row = await findOperator(db, name)
    const isRight = await passwords.verify(password, row?.password ?? undefined)
    const known = row?.is_person ? row.name : undefined
    if (!isRight || row === undefined || !row.enabled || row.password === null || row.totp_secret === null) {
      throw attempt.failed(loginFailed(), known)
    }
    const refusal = attempt.countCode()
    if (refusal !== undefined) throw attempt.failed(refusal, known)
    const step = matchingStep(secretOf(row.totp_secret), totp, clock.wallInstant().milliseconds)
    if (step === undefined) throw attempt.failed(loginFailed(), known)
    return { id: row.id, password: row.password, step }

    function secretOf(stored: string): Buffer {
      try {
        return readTotpSecret(stored, encryptionKey)
      } catch (error) {
        throw error instanceof Problem ? attempt.failed(error, known) : error
      }
    }
  })
}

export async function findOperator(db: Db, name: string) {
  const operators = db.tables<OperatorTables>().selectFrom('operators')
  return await operators.selectAll().where('name', '=', name).executeTakeFirst()
}

/** One answer for every possible error. */
export function loginFailed(): Problem {
  return new Problem('login_failed', 'the name, password or code is wrong, or the code was used before')
}

/**
 * Uses the code up, with other changes to the operator. Undefined when it was used, or the operator changed, meanwhile.
 */
export async function useCode(
  transaction: Transaction<OperatorTables>,
  { id, password, step }: CheckedOperator,
  change: { readonly password?: string; readonly last_login_at?: string },
): Promise<{ readonly id: string; readonly name: string; readonly role: OperatorRole } | undefined> {
  return await transaction
    .updateTable('operators')
    .set({ ...change, totp_step: String(step) })
    .where('id', '=', id)
    // As it was read: a code is used once, and a reset or a password change in the meantime counts.
    .where('password', '=', password)
    .where('enabled', '=', true)
    .where((where) => where.or([where('totp_step', 'is', null), where('totp_step', '<', String(step))]))
    .returning(['id', 'name', 'role'])
    .executeTakeFirst()
}
