/** Applies the results of deliveries to their orchestrations, in the transaction of the delivery. */
import { assert } from '../base/assert.ts'
import type { Delivery, DeliveryFailure } from '../deliveries/model.ts'
import type { DeliveryOwner } from '../deliveries/owner.ts'
import { type StepChange, writeSteps } from './step-store.ts'

/** Completes and fails orchestrations, and sets what they wait for; the delivery posts the money. */
export const ORCHESTRATION_DELIVERIES: DeliveryOwner = {
  // A late settlement completes an orchestration that had failed, because the payment was made.
  settled: (transaction, delivery) =>
    writeSteps(transaction, [{ ...idOf(delivery), action: 'orchestration.complete', status: 'COMPLETED', step: null }]),
  failed: (transaction, delivery, failure) => writeSteps(transaction, [failureOf(delivery, failure)]),
  waits(transaction, delivery, wait) {
    const action = wait === undefined ? 'orchestration.continue' : 'orchestration.wait'
    const waiting = wait === undefined ? {} : { waitingFor: wait.waitingFor, waitingDetail: wait.detail }
    return writeSteps(transaction, [{ ...idOf(delivery), action, status: 'PROCESSING', step: 'deliver', ...waiting }])
  },
}

function failureOf(delivery: Delivery, { code, detail }: DeliveryFailure): StepChange {
  return {
    ...idOf(delivery),
    action: 'orchestration.fail',
    status: 'FAILED',
    step: null,
    failCode: code,
    failDetail: detail,
  }
}

function idOf({ owner }: Delivery): { readonly id: string } {
  assert('orchestrationId' in owner, 'the delivery belongs to a deposit, not to an orchestration')
  return { id: owner.orchestrationId }
}
