/**
 * Requests to the executor in the store: which are due, with the bytes that each repeats, and what each came to. A request
 * has an attempt number before it is sent; a result whose attempt is no longer the present one changes no delivery.
 */
import { amountText } from '../ledger/amount-text.ts'
import { writeAudit } from '../store/audit.ts'
import type { Transaction } from '../store/db.ts'
import { jsonbText, objectText, plainText, quotedText, timeText } from '../store/page-text.ts'
import { sql } from '../store/sql.ts'
import { handOut } from './hand-out.ts'
import type { DeliveryOwners } from './owner.ts'
import { accept, endAttempts, failAll, settle } from './results.ts'
import { type DeliveryRow, lockDelivery } from './store.ts'
import type { WebhookOutcome } from './webhook-answer.ts'

/** Longer than a request takes: who has not recorded a result by then has stopped. */
const LEASE_SECONDS = 60

export interface DueRequest {
  readonly id: string
  readonly attempt: number
  /** The same bytes in every attempt. */
  readonly body: string
}

/** What a result did: nothing when it is of an earlier attempt, unless it contradicts what is recorded. */
export type Recorded = WebhookOutcome['kind'] | 'outdated' | 'contradiction'

/** The payload, of columns that never change. */
const PAYLOAD = objectText([
  ['type', sql`'"delivery.requested"'`],
  ['timestamp', timeText('created_at')],
  [
    'data',
    objectText([
      ['id', plainText('id')],
      ['asset', quotedText('asset')],
      ['amount', amountText('amount')],
      ['destination', jsonbText('destination')],
      ['customer_id', plainText('customer_id')],
      ['profile_id', plainText('profile_id')],
      ['account_id', plainText('account_id')],
      ['orchestration_id', plainText('orchestration_id')],
      ['deposit_id', plainText('deposit_id')],
      ['metadata', jsonbText('metadata')],
    ]),
  ],
])

/** Takes up to `limit` deliveries that are due, each with a new attempt. */
export async function takeDue<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  limit: number,
): Promise<readonly DueRequest[]> {
  const channel = 'webhook'
  const request = { channel, defaultChannel: channel, executor: channel, limit, leaseSeconds: LEASE_SECONDS } as const
  const ids = await handOut(transaction, owners, request)
  if (ids.length === 0) return []
  const { rows } = await sql<DueRequest>`
    update deliveries as record set request_body = coalesce(request_body, ${PAYLOAD})
    where id = any(${[...ids]}::uuid[])
    returning id, attempt, request_body as body
  `.execute(transaction)
  return rows
}

/** @param repeatSeconds when to ask again after an unknown outcome */
export async function recordOutcome<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  { id, attempt }: Pick<DueRequest, 'id' | 'attempt'>,
  outcome: WebhookOutcome,
  repeatSeconds: number,
): Promise<Recorded> {
  const row = await lockDelivery(transaction, id)
  if (row.attempt !== attempt || row.status !== 'CLAIMED') return await keepOutdated(transaction, row, attempt, outcome)
  const audit = (action: string, detail: Readonly<Record<string, unknown>>) =>
    writeAudit(transaction, { actor: 'worker', action, subject: id, detail: { ...detail, attempt } })
  switch (outcome.kind) {
    case 'settled': {
      const { reference } = outcome
      if (await isUsed(transaction, reference)) {
        const detail = 'SETTLED with the reference of another delivery'
        return await recordUnknown(transaction, row, detail, repeatSeconds)
      }
      await audit('delivery.settle', { reference })
      await settle(transaction, owners, row, { reference })
      return outcome.kind
    }
    case 'refused':
      await audit('delivery.fail', { code: 'REFUSED', detail: outcome.detail })
      await failAll(transaction, owners, [row], { code: 'REFUSED', detail: outcome.detail })
      return outcome.kind
    case 'accepted':
      await audit('delivery.accept', { detail: outcome.detail })
      await accept(transaction, owners, row, outcome.detail)
      return outcome.kind
    case 'unknown':
      return await recordUnknown(transaction, row, outcome.detail, repeatSeconds)
  }
}

async function isUsed<Tables>(transaction: Transaction<Tables>, reference: string): Promise<boolean> {
  const { rows } = await sql`select from deliveries where reference = ${reference}`.execute(transaction)
  return rows.length > 0
}

async function recordUnknown<Tables>(
  transaction: Transaction<Tables>,
  row: DeliveryRow,
  detail: string,
  repeatSeconds: number,
): Promise<'unknown'> {
  await endAttempts(transaction, [row], { outcome: 'UNKNOWN', detail })
  await sql`
    update deliveries set next_attempt_at = clock_timestamp() + ${repeatSeconds} * interval '1 second'
    where id = ${row.id}
  `.execute(transaction)
  return 'unknown'
}

/** Somebody else has decided, or sends again: what the answer said stays with its attempt. */
async function keepOutdated<Tables>(
  transaction: Transaction<Tables>,
  row: DeliveryRow,
  attempt: number,
  outcome: WebhookOutcome,
): Promise<'outdated' | 'contradiction'> {
  const said = outcome.kind === 'settled' ? `SETTLED with reference ${outcome.reference}` : outcome.detail
  const detail = `${said}; the delivery was ${row.status} by then`
  const names = { settled: 'SETTLED', refused: 'REFUSED', accepted: 'ACCEPTED', unknown: 'UNKNOWN' } as const
  // A result that was recorded for this attempt stays.
  await sql`
    update delivery_attempts set outcome = ${names[outcome.kind]}, detail = ${detail},
      ended_at = greatest(started_at, date_trunc('milliseconds', clock_timestamp()))
    where delivery_id = ${row.id} and attempt = ${attempt} and outcome in ('STARTED', 'UNKNOWN')
  `.execute(transaction)
  const isPaid = outcome.kind === 'settled' && row.status === 'FAILED'
  const isPaidAsOther = outcome.kind === 'settled' && row.status === 'SETTLED' && row.reference !== outcome.reference
  const isRefused = outcome.kind === 'refused' && row.status === 'SETTLED'
  return isPaid || isPaidAsOther || isRefused ? 'contradiction' : 'outdated'
}
