/**
 * The contract through which a screened movement learns its decision: deposits and payments apply it, in the
 * transaction that records it.
 */
import type { Transaction } from '../../platform/store/db.ts'
import type { ScreeningKind } from './model.ts'

/** How the movement applied a decision. `outdated`: it has ended, or the money has left. */
export type Applied = 'applied' | 'outdated'

export interface ScreenedMovements {
  /** Locks the movement. Called before its screening is read. */
  lock<Tables>(transaction: Transaction<Tables>, id: string): Promise<void>
  /** Continues the movement, if all its other gates are open. Its screening is ALLOWED already. */
  allow<Tables>(transaction: Transaction<Tables>, id: string, actor: string): Promise<Applied>
  /** Leaves the movement waiting. Its screening is HELD already. */
  hold<Tables>(transaction: Transaction<Tables>, id: string): Promise<Applied>
  /** Ends a payment, or leaves a deposit held. Its screening is REJECTED already. */
  reject<Tables>(transaction: Transaction<Tables>, id: string): Promise<Applied>
}

/** The movements by kind. */
export type ScreenedKinds = Readonly<Record<ScreeningKind, ScreenedMovements>>
