/** What the result of its delivery makes of an orchestration, in the transaction of the delivery. */

import { assert } from '../base/assert.ts'
import type { Delivery, DeliveryFailure } from '../deliveries/model.ts'
import type { DeliveryOwner } from '../deliveries/owner.ts'
import { type StepChange, writeSteps } from './step-store.ts'

/** Ends orchestrations, and shows what they wait for; the delivery moves the money. */
export const ORCHESTRATION_DELIVERIES: DeliveryOwner = {
  // One that was settled late had failed: it is COMPLETED now, because the payment was made.
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
  assert('orchestrationId' in owner, 'the delivery of a deposit is not of an orchestration')
  return { id: owner.orchestrationId }
}
