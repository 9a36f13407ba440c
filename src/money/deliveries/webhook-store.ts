/**
 * Webhook requests in the store: claims due deliveries with the bytes repeated in every attempt, and records outcomes.
 * A request gets its attempt number before it is sent. The outcome of an outdated attempt does not change the delivery.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { jsonbText, objectText, plainText, quotedText, timeText } from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { amountText } from '../ledger/amount-text.ts'
import { partiesOf, withParties } from '../screening/parties.ts'
import { type HandedOut, handOut } from './hand-out.ts'
import type { DeliveryOwners } from './owner.ts'
import { accept, endAttempts, failAll, giveUp, settle } from './results.ts'
import { type DeliveryRow, lockDelivery } from './store.ts'
import { hasPaidAttempt } from './unknown-attempts.ts'
import type { WebhookOutcome } from './webhook-answer.ts'

/** Longer than a request takes. A sender without a recorded outcome by then has stopped. */
const LEASE_SECONDS = 60

export interface DueRequest extends HandedOut {
  readonly attempt: number
  /** The same bytes in every attempt. */
  readonly body: string
}

/**
 * An outcome's effect. `outdated`: the attempt is no longer current. `contradiction`: the outcome contradicts a
 * recorded result.
 */
export const RECORDED = ['settled', 'refused', 'accepted', 'unknown', 'outdated', 'contradiction'] as const

export type Recorded = (typeof RECORDED)[number]

/** A request's body, from columns that never change. */
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

/** Claims up to `limit` due deliveries, each with a new attempt. */
export async function takeDue<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  limit: number,
  isRecent: RawBuilder<boolean>,
  key?: EncryptionKey | undefined,
): Promise<readonly DueRequest[]> {
  const channel = 'webhook'
  const common = { limit, leaseSeconds: LEASE_SECONDS, isRecent, parties: { key } }
  const request = { ...common, channel, defaultChannel: channel, executor: channel } as const
  const handedOut = await handOut(transaction, owners, request)
  if (handedOut.length === 0) return []
  const { rows } = await sql<Omit<DueRequest, 'dueAt'> & { readonly orchestrationId: string | null }>`
    update deliveries as record set request_body = coalesce(request_body, ${PAYLOAD})
    where id = any(${handedOut.map(({ id }) => id)}::uuid[])
    returning id, attempt, request_body as body, orchestration_id as "orchestrationId"
  `.execute(transaction)
  const dueAtOf = new Map(handedOut.map(({ id, dueAt }) => [id, dueAt]))
  const ids = rows.flatMap(({ orchestrationId }) => orchestrationId ?? [])
  const parties = await partiesOf(transaction, ids, key, 'sent')
  return rows.map(({ orchestrationId, body, ...row }) => {
    // The stored body is not encrypted, so it does not contain them. They never change.
    const withData = `${withParties(body.slice(0, -1), parties.get(orchestrationId ?? ''))}}`
    return { ...row, body: withData, dueAt: dueAtOf.get(row.id) as string }
  })
}

/** @param repeatSeconds the time until a request with an unknown outcome is retried */
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
        const detail = 'answered SETTLED with another delivery’s reference'
        return await recordUnknown(transaction, row, detail, repeatSeconds)
      }
      await audit('delivery.settle', { reference })
      await settle(transaction, owners, row, { reference })
      return outcome.kind
    }
    // The refusal also answers for earlier attempts without a result: they asked the same endpoint for the same id.
    case 'refused':
      if (await hasPaidAttempt(transaction, row)) {
        const detail = `${outcome.detail}: answered REFUSED after an earlier attempt was answered with SETTLED`
        await endAttempts(transaction, [row], { outcome: 'UNKNOWN', detail })
        await giveUp(transaction, owners, row, detail)
        return 'contradiction'
      }
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

/** Records an outdated attempt's outcome: only that attempt's row changes. */
async function keepOutdated<Tables>(
  transaction: Transaction<Tables>,
  row: DeliveryRow,
  attempt: number,
  outcome: WebhookOutcome,
): Promise<'outdated' | 'contradiction'> {
  const result = outcome.kind === 'settled' ? `SETTLED with reference ${outcome.reference}` : outcome.detail
  const detail = `${result}, but the delivery was already ${row.status}`
  const names = { settled: 'SETTLED', refused: 'REFUSED', accepted: 'ACCEPTED', unknown: 'UNKNOWN' } as const
  // A result recorded for this attempt is not overwritten.
  const ended = { outcome: names[outcome.kind], detail }
  await endAttempts(transaction, [{ id: row.id, attempt }], ended, ['STARTED', 'UNKNOWN'])
  const isPaid = outcome.kind === 'settled' && row.status === 'FAILED'
  const isPaidAsOther = outcome.kind === 'settled' && row.status === 'SETTLED' && row.reference !== outcome.reference
  const isRefused = outcome.kind === 'refused' && row.status === 'SETTLED'
  return isPaid || isPaidAsOther || isRefused ? 'contradiction' : 'outdated'
}
