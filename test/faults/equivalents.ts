/** Mutants that change nothing observable, so no test can catch them. */
import type { Edit } from './fault.ts'

export interface Equivalent extends Edit {
  readonly reason: string
}

export const EQUIVALENTS: readonly Equivalent[] = []
