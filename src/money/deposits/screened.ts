/** Deposits as the screening sees them: ALLOW credits a held deposit, REJECT leaves it held for a person's decision. */
import { CLOSED_DETAILS } from '../screening/model.ts'
import type { ScreenedMovements } from '../screening/movements.ts'
import { keepScreened, lockDeposit, releaseScreened } from './operator-actions.ts'
import type { DepositSettings } from './record.ts'

/** @param settings the current settings */
export function screenedDeposits(settings: () => DepositSettings): ScreenedMovements {
  return {
    async lock(transaction, id) {
      await lockDeposit(transaction, id)
    },
    allow: (transaction, id, actor) => releaseScreened(transaction, actor, id, settings()),
    hold: (transaction, id) => keepScreened(transaction, id, CLOSED_DETAILS.HELD),
    reject: (transaction, id) => keepScreened(transaction, id, CLOSED_DETAILS.REJECTED),
  }
}
