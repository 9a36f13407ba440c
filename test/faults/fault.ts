/** One exact replacement in a source file. */
export interface Edit {
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
}

/** A planted fault, and the suite that has to fail because of it. */
export interface Fault extends Edit {
  readonly name: string
  /** What is wrong, in one sentence. */
  readonly wrong: string
  /** Where one replacement is not enough. */
  readonly also?: readonly Edit[]
  /** The cheapest test file that catches it. `*.long.ts` is part of `npm run test:long` only. */
  readonly suite: string
  /** Where the suite needs PostgreSQL: `postgres`. Absent: `embedded`. */
  readonly project?: 'postgres'
}
