/** The list of all attacks, in the order in which they run. */
import type { Attack } from './attack.ts'
import { hostileBodies, rejectedMegabytes } from './bodies.ts'
import { operatorForeignHosts, operatorOpenHandshakes, operatorResets, operatorTokenGuesses } from './operator.ts'

export const ATTACKS: readonly Attack[] = [
  operatorResets,
  operatorOpenHandshakes,
  operatorForeignHosts,
  operatorTokenGuesses,
  hostileBodies,
  rejectedMegabytes,
]
