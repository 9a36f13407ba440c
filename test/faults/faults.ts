/** Every planted fault, for `npm run faults`. */
import { ACCESS_FAULTS } from './access.ts'
import type { Edit, Fault } from './fault.ts'
import { MONEY_FAULTS } from './money.ts'
import { STREAMING_FAULTS } from './streaming.ts'

export const FAULTS: readonly Fault[] = [...STREAMING_FAULTS, ...MONEY_FAULTS, ...ACCESS_FAULTS]

export function editsOf({ file, text, replacement, also = [] }: Fault): readonly Edit[] {
  return [{ file, text, replacement }, ...also]
}
