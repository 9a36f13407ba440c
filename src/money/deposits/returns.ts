/**
 * Deposit returns. Each is a delivery to the destination in the operator's request, never by default to the sender.
 * When the delivery fails, the deposit gets its previous state back.
 */
import type { Static } from 'typebox'
import { type Asset, isFiat } from '../../contract/assets.ts'
import { networkNamed } from '../../contract/crypto-networks.ts'
import { newId } from '../../platform/base/ids.ts'
import { type FieldError, invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { createDeliveries } from '../deliveries/create.ts'
import type { Delivery, DeliveryDestination, DeliveryFailure } from '../deliveries/model.ts'
import type { DeliveryOwner } from '../deliveries/owner.ts'
import { isOwnAddress } from '../deposit-instructions/address-owner.ts'
import { addressFault } from '../deposit-instructions/derivation/address-validity.ts'
import { GATE_CODES } from '../gates/model.ts'
import { post } from '../ledger/ledger.ts'
import { askAgain } from '../screening/ask.ts'
import { changeTransfers } from '../transfers/store.ts'
import { invalidState, lockDeposit, setSecondary, stepOf, takeFromAvailable } from './operator-actions.ts'
import type { ReturnBody } from './schemas.ts'
import type { DepositsTable } from './tables.ts'
import { shownSecondaryStatus, transferIdOf } from './transfer-entries.ts'
import { isHeldBack } from './transitions.ts'

/** The operator decides about a return, so only a pause stops it. */
const RETURN_OPENS = GATE_CODES.filter((code) => code !== 'PAUSED')

/** Returns a deposit's money, from its profile's `held` or `available`. */
export async function returnDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  body: Static<typeof ReturnBody>,
  assets: readonly Asset[],
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const destination = destinationOf(
    body,
    assets.find(({ symbol }) => symbol === deposit.asset),
  )
  const step = stepOf('return', deposit)
  if (step === undefined) return
  if ('crypto' in destination) await refuseOwnAddress(transaction, destination.crypto)
  const { asset, secondary_status, profile_id: profileId } = deposit
  if (profileId === null) throw invalidState(deposit, 'it belongs to no profile: assign it first', 'UNATTRIBUTED')
  const failsTo = isHeldBack(secondary_status) ? 'held' : 'available'
  if (failsTo === 'available') await takeFromAvailable(transaction, deposit, 'in_transit')
  const customerId = deposit.customer_id as string
  const amount = BigInt(deposit.amount)
  if (failsTo === 'held') {
    const debit = { bucket: 'held', profileId } as const
    await post(transaction, [{ asset, amount, debit, credit: { bucket: 'in_transit', profileId }, groupId: id }])
  }
  const deliveryId = newId()
  await setSecondary(transaction, deposit, step, {
    reason: body.reason,
    delivery_id: deliveryId,
    returned_from: secondary_status === 'HELD' || secondary_status === 'REJECTED' ? secondary_status : null,
  })
  await writeAudit(transaction, {
    actor,
    action: 'deposit.return',
    subject: id,
    detail: { reason: body.reason, delivery_id: deliveryId, ...destination },
  })
  const times = await nextCreationTimes(transaction, [customerId])
  const createdAt = times.get(customerId) as string
  const of = { customerId, profileId, accountId: deposit.account_id, owner: { depositId: id } }
  const sent = { asset, amount, destination, failsTo, groupId: id, createdAt, metadata: {} } as const
  await createDeliveries(transaction, [{ id: deliveryId, ...of, ...sent, openedGates: RETURN_OPENS }])
}

/** Applies results to the deposits whose money the deliveries return. */
export const depositReturns: DeliveryOwner = {
  async settled(transaction, delivery) {
    // A payment reported as failed was made after all. A deposit reversed in the meantime stays REVERSED.
    const isHeld = delivery.late && (await setReturned(transaction, delivery))
    return { bucket: isHeld ? 'held' : 'available', fee: 0n }
  },
  async failed(transaction, delivery, failure) {
    await undoReturn(transaction, delivery, failure)
    return 0n
  },
  async waits() {
    // The delivery shows the wait, not the deposit.
  },
}

/** Returns whether the deposit was held until now. */
async function setReturned<Tables>(transaction: Transaction<Tables>, delivery: Delivery): Promise<boolean> {
  const depositId = depositOf(delivery)
  const { rows } = await sql<Pick<DepositsTable, 'id' | 'transfer_id' | 'returned_from'>>`
    update deposits set secondary_status = 'RETURNED', delivery_id = ${delivery.id}, returned_from = secondary_status,
      updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
    where id = ${depositId} and (secondary_status is null or secondary_status in ('HELD', 'REJECTED'))
      -- A return before a correction was a return of the credit that the correction has reversed.
      and (corrections = '[]' or delivery_id = ${delivery.id})
    returning id, transfer_id, returned_from
  `.execute(transaction)
  await changeTransfers(
    transaction,
    rows.map((row) => ({ id: transferIdOf(row), secondaryStatus: 'RETURNED' })),
  )
  return rows.some(({ returned_from }) => returned_from !== null)
}

async function undoReturn<Tables>(
  transaction: Transaction<Tables>,
  delivery: Delivery,
  { code, detail }: DeliveryFailure,
): Promise<void> {
  const depositId = depositOf(delivery)
  const { rows } = await sql<Pick<DepositsTable, 'id' | 'transfer_id' | 'secondary_status' | 'gates'>>`
    update deposits set secondary_status = returned_from, returned_from = null,
      updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
    where id = ${depositId} and delivery_id = ${delivery.id} and secondary_status = 'RETURNED'
    returning id, transfer_id, secondary_status, gates
  `.execute(transaction)
  const [row] = rows
  if (row === undefined) return
  const secondaryStatus = shownSecondaryStatus(row.secondary_status)
  await changeTransfers(transaction, [{ id: transferIdOf(row), secondaryStatus }])
  const isScreened = row.secondary_status === 'HELD' && row.gates?.some(({ code }) => code === 'SCREENING') === true
  if (isScreened) await askAgain(transaction, depositId)
  const entry = { actor: 'worker', action: 'deposit.return_failed', subject: depositId }
  await writeAudit(transaction, { ...entry, detail: { delivery_id: delivery.id, code, detail } })
}

function depositOf({ owner }: Delivery): string {
  return 'depositId' in owner ? owner.depositId : ''
}

/** The delivery's destination. Throws 400 with its faults. */
function destinationOf({ crypto, fiat }: Static<typeof ReturnBody>, asset: Asset | undefined): DeliveryDestination {
  if ((crypto === undefined) === (fiat === undefined)) {
    throw invalidRequest([{ pointer: '', detail: 'must have exactly one of crypto, fiat' }])
  }
  if (fiat !== undefined) {
    const { fiat_account_id, memo, network } = fiat
    if (asset !== undefined && !isFiat(asset)) {
      throw invalidRequest([{ pointer: '/fiat', detail: `does not carry ${asset.symbol}, which is not a fiat asset` }])
    }
    const members = { ...(memo === undefined ? {} : { memo }), ...(network === undefined ? {} : { network }) }
    return { fiat: { fiat_account_id, ...members } }
  }
  const { address, network: name } = crypto as NonNullable<typeof crypto>
  const network = networkNamed(name)
  const faults: FieldError[] = []
  if (asset?.networks.includes(network) === false) {
    faults.push({ pointer: '/crypto/network', detail: `does not carry ${asset.symbol}` })
  }
  const addressDetail = addressFault(network, address)
  if (addressDetail !== undefined) faults.push({ pointer: '/crypto/address', detail: addressDetail })
  const [first, ...others] = faults
  if (first !== undefined) throw invalidRequest([first, ...others])
  return { crypto: { address, network } }
}

/** Rejects the service's own addresses, where the payment would arrive as a deposit. */
async function refuseOwnAddress<Tables>(
  transaction: Transaction<Tables>,
  { network, address }: Extract<DeliveryDestination, { crypto: object }>['crypto'],
): Promise<void> {
  if (!(await isOwnAddress(transaction, network, address))) return
  const pointer = '/crypto/address'
  const detail = 'is a deposit address of this service'
  throw new Problem('own_address', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}
