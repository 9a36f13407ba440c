/**
 * The operator's actions on an orchestration: retry a failed one, release or reject one at closed gates. Each change writes an
 * audit row with the operator as actor. Repeating an action changes nothing and writes none.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { type GateSettings, readGates } from '../controls/gates.ts'
import { lockDeliveryOf, releaseDelivery } from '../deliveries/create.ts'
import { deliveryGates } from '../deliveries/hand-out.ts'
import type { DeliveryRow } from '../deliveries/store.ts'
import { closedGates, isGateWait, waitingForOf } from '../gates/model.ts'
import { checkRelease, type Release, withOpened } from '../gates/release.ts'
import { readDecimals } from '../ledger/assets.ts'
import { lockBalances } from '../ledger/ledger.ts'
import { copyParties } from '../screening/parties.ts'
import { type ConversionTerms, conversionGates } from './convert.ts'
import { failUnconverted } from './fail-unconverted.ts'
import { getAnyOrchestration } from './lists.ts'
import type { Step } from './model.ts'
import { refuseShort, reserve } from './request.ts'
import { CONVERT_KIND, notifyWork, type StartSettings, startOrchestrations } from './start.ts'
import { writeSteps } from './step-store.ts'
import type { OrchestrationTables } from './tables.ts'

type Row = OrchestrationTables['orchestrations']

/** An orchestration with its delivery, both locked. */
export interface LockedOrchestration {
  readonly row: Row
  /**
   * Undefined at step `deliver` when a worker created it while this transaction waited for the orchestration's lock.
   */
  readonly delivery: DeliveryRow | undefined
}

/**
 * Starts a FAILED orchestration again, as a new one with `retry_of`, and returns the new one as JSON text. The returned
 * amount is reserved again: the source amount, or the destination amount when the fee was kept. A second retry returns
 * the first retry's orchestration.
 */
export async function retryOrchestration<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  settings: StartSettings,
  encryptionKey: EncryptionKey | undefined,
): Promise<string> {
  const { row: failed } = await lockOrchestration(transaction, id)
  if (failed.status !== 'FAILED') throw wrongState(failed, 'only a FAILED orchestration can be retried')
  if (failed.fail_code === 'CANCELLED') throw wrongState(failed, 'its customer has cancelled it')
  const { rows } = await sql<{ id: string }>`select id from orchestrations where retry_of = ${id}`.execute(transaction)
  if (rows[0] !== undefined) return await textOf(transaction, rows[0].id)
  const { customer_id: customerId, profile_id: profileId, destination_asset: destinationAsset } = failed
  const isWhole = failed.fee_amount === null
  const asset = isWhole ? failed.source_asset : destinationAsset
  const amount = BigInt(isWhole ? failed.source_amount : (failed.destination_amount as string))
  const decimals = (await readDecimals(transaction)).get(asset) as number
  const balances = await lockBalances(transaction, [{ profileId, asset }])
  refuseShort(balances({ profileId, asset }).available, amount, { symbol: asset, decimals })
  const retryId = newId()
  await reserve(transaction, { id: retryId, profileId, asset, amount })
  await writeAudit(transaction, { actor, action: 'orchestration.retry', subject: id, detail: { retry_id: retryId } })
  const times = await nextCreationTimes(transaction, [customerId])
  const start = {
    id: retryId,
    customerId,
    profileId,
    accountId: failed.account_id,
    identityId: failed.identity_id,
    refId: null,
    ruleId: failed.rule_id,
    depositId: null,
    retryOf: id,
    sourceAsset: asset,
    sourceAmount: amount,
    destinationAsset,
    source: failed.source,
    destination: failed.destination,
    metadata: failed.metadata,
    createdAt: times.get(customerId) as string,
  }
  await startOrchestrations(transaction, [start], settings)
  await copyParties(transaction, id, retryId, encryptionKey)
  return await textOf(transaction, retryId)
}

/**
 * Opens the named gates of an orchestration, and returns it as JSON text. It continues when no other gate is closed.
 * Without a closed gate it stays as it is. Throws 409 when the release saw another version or names a gate that is not
 * closed.
 */
export async function releaseOrchestration<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  release: Release,
  settings: GateSettings,
): Promise<string> {
  const { row: held, delivery } = await lockOrchestration(transaction, id)
  if (held.status !== 'PROCESSING') throw wrongState(held, 'only a waiting orchestration can be released')
  if (held.waiting_for === null || !isGateWait(held.waiting_for)) return await textOf(transaction, id)
  const step = held.step as Step
  if (step === 'deliver') {
    if (delivery === undefined) throw wrongState(held, 'it was being converted: try again')
    if (delivery.status !== 'WAITING') throw wrongState(held, 'its delivery has been handed out')
  }
  const subject = delivery === undefined ? conversionGates(termsOf(held)) : deliveryGates(delivery)
  const [found = []] = await readGates(transaction, [subject], settings)
  const closed = [...(held.gates ?? []), ...found]
  checkRelease(release, { version: held.updated_at, closed, current: held.waiting_for })
  const { gates, reason } = release
  const wait = waitingForOf(closedGates({ openedGates: gates }, found))
  if (delivery === undefined) await openGates(transaction, held, release)
  else await releaseDelivery(transaction, delivery, withOpened(delivery.opened_gates, release), wait)
  const waiting =
    wait === undefined ? {} : { waitingFor: wait.waitingFor, waitingDetail: wait.detail, gates: wait.gates }
  const change = { id, action: 'orchestration.release', status: 'PROCESSING', step, ...waiting } as const
  await writeSteps(transaction, [{ ...change, released: { gates, reason } }], actor)
  return await textOf(transaction, id)
}

/** Opens gates before the conversion, and makes the work due. */
async function openGates<Tables>(transaction: Transaction<Tables>, row: Row, release: Release): Promise<void> {
  await sql`
    update orchestrations set opened_gates = ${withOpened(row.opened_gates, release)}::text[] where id = ${row.id}
  `.execute(transaction)
  await sql`
    insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
    values (${row.id}, ${CONVERT_KIND}, clock_timestamp())
    on conflict (orchestration_id) do update set next_attempt_at = excluded.next_attempt_at
  `.execute(transaction)
  await notifyWork(transaction)
}

/** Fails an orchestration that waits at a closed gate, unconverted, and returns it as JSON text. Its amount becomes available again. */
export async function rejectOrchestration<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  reason: string,
): Promise<string> {
  const { row: held } = await lockOrchestration(transaction, id)
  if (held.fail_code === 'REJECTED') return await textOf(transaction, id)
  if (held.waiting_for === null || held.waiting_for === 'PAUSED' || !isGateWait(held.waiting_for)) {
    throw wrongState(held, 'only an orchestration at a closed gate can be rejected')
  }
  if (held.step === 'deliver') {
    throw wrongState(held, 'its delivery waits and has the money. Fail the delivery instead')
  }
  const failure = { action: 'orchestration.reject', failCode: 'REJECTED', failDetail: reason } as const
  await failUnconverted(transaction, held, failure, actor)
  return await textOf(transaction, id)
}

/** An orchestration's terms, for its gates before the conversion. */
export function termsOf(row: Row): ConversionTerms {
  return {
    id: row.id,
    customerId: row.customer_id,
    profileId: row.profile_id,
    sourceAsset: row.source_asset,
    destinationAsset: row.destination_asset,
    source: row.source,
    destination: row.destination,
    openedGates: row.opened_gates,
  }
}

/** The orchestration with its delivery, both locked until the transaction ends. */
export async function lockOrchestration<Tables>(
  transaction: Transaction<Tables>,
  id: string,
): Promise<LockedOrchestration> {
  const delivery = await lockDeliveryOf(transaction, id)
  // The caller's transaction knows only the caller's tables. This folder's tables are in the same store.
  const ours = transaction as unknown as Transaction<OrchestrationTables>
  const all = ours.selectFrom('orchestrations').selectAll().where('id', '=', id)
  const row = await all.modifyEnd(forUpdate(transaction, 'orchestration', [id])).executeTakeFirst()
  return { row: row ?? noOrchestration(), delivery }
}

export function noOrchestration(): never {
  throw new Problem('not_found', 'there is no orchestration with this id')
}

function wrongState({ status, waiting_for }: Row, detail: string): Problem {
  return new Problem('invalid_state', detail, { meta: { current: waiting_for ?? status } })
}

async function textOf<Tables>(transaction: Transaction<Tables>, id: string): Promise<string> {
  return (await getAnyOrchestration(transaction, id)) ?? noOrchestration()
}
