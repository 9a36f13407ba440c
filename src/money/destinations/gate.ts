/**
 * The gate DESTINATION. It closes for a movement whose destination may not be paid. A payment's registration is locked
 * until the transaction that hands it out ends, so none is handed out after its destination was deleted or rejected.
 * A deposit's return goes to a place named by the operator, and has no gate.
 */
import type { Transaction } from '../../platform/store/db.ts'
import type { GateFinding, GateSubject } from '../gates/model.ts'
import type { Place } from './model.ts'
import { type Closed, type CustomerPlace, closedBecause, type DestinationPolicy, registrationsOf } from './standing.ts'

/**
 * Returns each subject's findings, in the same order. Undefined: no subject needs the gate, and no statement was sent.
 * While destinations need no registration, only payments have it, because a registration may have been deleted.
 */
export function readDestinationGate<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  { destinations: policy }: { readonly destinations: DestinationPolicy },
): Promise<readonly (readonly GateFinding[])[]> | undefined {
  const wanted = placesOf(subjects, policy)
  if (wanted.length === 0) return undefined
  const areHandedOut = subjects.some(({ isDelivery }) => isDelivery)
  return registrationsOf(transaction, wanted, areHandedOut).then((registrations) => {
    const closed = new Map(
      wanted.map(({ index, place }, number) => [index, closedBecause(place, registrations[number], policy)]),
    )
    return subjects.map((_, index) => {
      const found = closed.get(index)
      return found === undefined ? [] : [findingOf(found)]
    })
  })
}

/** The ids of the payments' registrations, in subject order. Undefined: never registered, or not a payment outside. */
export async function registrationIds<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
): Promise<readonly (string | undefined)[]> {
  const wanted = placesOf(subjects, { isRequired: true })
  const registrations = await registrationsOf(transaction, wanted, false)
  const ids = new Map(wanted.map(({ index }, number) => [index, registrations[number]?.id]))
  return subjects.map((_, index) => ids.get(index))
}

function placesOf(
  subjects: readonly GateSubject[],
  policy: Pick<DestinationPolicy, 'isRequired'>,
): readonly (CustomerPlace & { readonly index: number })[] {
  return subjects.flatMap((subject, index) => {
    const place = placeOf(subject, policy)
    return place === undefined ? [] : [{ customerId: subject.customerId, place, index }]
  })
}

/** The place whose registration is read. Undefined: none. */
function placeOf(
  { destination, isDelivery, owner }: GateSubject,
  { isRequired }: Pick<DestinationPolicy, 'isRequired'>,
): Place | undefined {
  if (destination === undefined || 'profile' in destination || 'depositId' in owner) return undefined
  return isRequired || isDelivery ? destination : undefined
}

function findingOf({ code, detail, usableAt }: Closed): GateFinding {
  const meta = usableAt === undefined ? {} : { meta: { usable_at: usableAt } }
  return { code: 'DESTINATION', detail, refusal: { code, detail, ...meta } }
}
