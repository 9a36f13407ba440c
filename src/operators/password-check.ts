/** Name, password and one-time code, as every use of a password checks them. */
import type { EncryptionKey } from '../auth/encryption-key.ts'
import type { Clock } from '../base/clock.ts'
import type { OperatorRole } from '../contract/operator-calls.ts'
import type { Db, Transaction } from '../store/db.ts'
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
export interface CheckedOperator {
  readonly id: string
  /** As it is stored. */
  readonly password: string
  /** The time step of the code. */
  readonly step: number
}

/**
 * Undefined when anything is wrong, which takes as long for a name that does not exist.
 * @param holder the address that asks, as the holder of a shared pool
 */
export async function checkPassword(
  { db, clock, encryptionKey, passwords }: PasswordCheckOptions,
  { name, password, totp }: Entered,
  holder: string,
): Promise<CheckedOperator | undefined> {
  const operators = db.tables<OperatorTables>().selectFrom('operators')
  const row = await operators.selectAll().where('name', '=', name).executeTakeFirst()
  const isRight = await passwords.verify(password, row?.password ?? undefined, holder)
  if (!isRight || row === undefined || !row.enabled || row.password === null || row.totp_secret === null) {
    return undefined
  }
  const step = matchingStep(readTotpSecret(row.totp_secret, encryptionKey), totp, clock.wallInstant().milliseconds)
  return step === undefined ? undefined : { id: row.id, password: row.password, step }
}

/** Uses the code up, with other changes of the operator; undefined when it was used, or the operator changed, meanwhile. */
export async function useCode(
  transaction: Transaction<OperatorTables>,
  { id, password, step }: CheckedOperator,
  change: { readonly password?: string; readonly last_login_at?: string },
): Promise<{ readonly id: string; readonly name: string; readonly role: OperatorRole } | undefined> {
  return await transaction
    .updateTable('operators')
    .set({ ...change, totp_step: String(step) })
    .where('id', '=', id)
    // As it was read: a code is used once, and a reset or a change of the password in the meantime counts.
    .where('password', '=', password)
    .where('enabled', '=', true)
    .where((where) => where.or([where('totp_step', 'is', null), where('totp_step', '<', String(step))]))
    .returning(['id', 'name', 'role'])
    .executeTakeFirst()
}
