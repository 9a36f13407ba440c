/**
 * Cancels an orchestration for its customer. It becomes FAILED with code CANCELLED, and its money becomes available in
 * the asset it has by then. Cancelling is refused once the payment was handed out, while a pause, a hold or a screening
 * applies to the money, and in a restored store until a person has compared the payments. The gates are read now,
 * whatever `waiting_for` shows.
 */
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { readGates } from '../controls/gates.ts'
import { isRestored } from '../controls/store-identity.ts'
import { deliveryGates } from '../deliveries/hand-out.ts'
import type { DeliveryOwners } from '../deliveries/owner.ts'
import { failAll } from '../deliveries/results.ts'
import { type GateFinding, waitingForOf } from '../gates/model.ts'
import { conversionGates } from './convert.ts'
import { failUnconverted } from './fail-unconverted.ts'
import { getOrchestration } from './lists.ts'
import { type LockedOrchestration, lockOrchestration, noOrchestration, termsOf } from './operator-actions.ts'

type Row = LockedOrchestration['row']

const ACTION = 'orchestration.cancel'
const DETAIL = 'cancelled by the customer'
const RESTORED = 'payments are paused since the store was restored or promoted: try again when that is over'

/** Returns the orchestration as JSON text. Cancelling a cancelled one changes nothing. */
export async function cancelOrchestration<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  { customerId, actor }: { readonly customerId: string; readonly actor: string },
  id: string,
): Promise<string> {
  if ((await getOrchestration(transaction, customerId, { id })) === undefined) return noOrchestration()
  const { row, delivery } = await lockOrchestration(transaction, id)
  if (row.fail_code !== 'CANCELLED') {
    if (row.status !== 'PROCESSING') throw refused(row.status, 'the orchestration is final')
    if (row.step === 'convert') await cancelConversion(transaction, owners, actor, row)
    else await cancelDelivery(transaction, owners, actor, row, delivery)
  }
  return (await getOrchestration(transaction, customerId, { id })) as string
}

async function cancelConversion<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  actor: string,
  row: Row,
): Promise<void> {
  const settings = owners.gates()
  refuseHeld((await readGates(transaction, [conversionGates(termsOf(row))], settings))[0])
  // Before the restore, it may have been converted and paid.
  if (await isRestored(transaction, settings.seenStore)) throw refused('PAUSED', RESTORED)
  await failUnconverted(transaction, row, { action: ACTION, failCode: 'CANCELLED', failDetail: DETAIL }, actor)
}

async function cancelDelivery<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  actor: string,
  { id, status }: Row,
  delivery: LockedOrchestration['delivery'],
): Promise<void> {
  if (delivery === undefined) throw refused(status, 'it is being converted: try again')
  if (delivery.status !== 'WAITING') throw refused(status, 'its payment was handed out, and may have been made')
  refuseHeld((await readGates(transaction, [deliveryGates(delivery)], owners.gates()))[0])
  await writeAudit(transaction, { actor, action: ACTION, subject: id, detail: { delivery_id: delivery.id } })
  await failAll(transaction, owners, [delivery], { code: 'CANCELLED', detail: DETAIL })
}

/** The operator's reasons are not shown to the customer. */
function refuseHeld(findings: readonly GateFinding[] = []): void {
  const wait = waitingForOf(findings, ['HOLD', 'SCREENING', 'PAUSED'])
  if (wait === undefined) return
  if (wait.waitingFor === 'PAUSED') throw refused('PAUSED', `${wait.detail}: try again when that is over`)
  if (wait.waitingFor === 'SCREENING') throw refused('SCREENING', 'it is being screened: try again when that is over')
  throw refused('HOLD', 'its money is on hold, and only the operator can decide about it')
}

function refused(current: string, detail: string): Problem {
  return new Problem('invalid_state', detail, { meta: { current } })
}
