/** Every planted fault, for `npm run faults`. */
import type { Fault } from './fault.ts'
import { STREAMING_FAULTS } from './streaming.ts'

export const FAULTS: readonly Fault[] = [...STREAMING_FAULTS]
