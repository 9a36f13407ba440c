/** A planted fault: one exact replacement in one source file, and the suite that has to fail because of it. */
export interface Fault {
  readonly name: string
  /** What is wrong, in one sentence. */
  readonly wrong: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
  /** The cheapest test file that catches it. `*.long.ts` is part of `npm run test:long` only. */
  readonly suite: string
  /** Where the suite needs PostgreSQL: `postgres`. Absent: `embedded`. */
  readonly project?: 'postgres'
}
