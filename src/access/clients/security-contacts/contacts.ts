/**
 * Customers' security contacts: mail addresses set by the operator alone, so a stolen client secret cannot silence the
 * notices to them.
 */
import { writeAudit } from '../../../platform/store/audit.ts'
import type { Transaction } from '../../../platform/store/db.ts'
import { sql } from '../../../platform/store/sql.ts'

/** Replaces the locked customer's contacts. Unchanged ones write no audit row. */
export async function replaceContacts<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  customerId: string,
  contacts: readonly string[],
): Promise<void> {
  const { rows } = await sql`
    update customers set security_contacts = ${[...contacts]}::text[]
    where id = ${customerId} and security_contacts <> ${[...contacts]}::text[]
    returning id
  `.execute(transaction)
  if (rows.length === 0) return
  const detail = { security_contacts: contacts }
  await writeAudit(transaction, { actor, action: 'customer.set_contacts', subject: customerId, detail })
}
