/** A condition of our own code that does not hold: a bug. It crashes the process unless an edge answers it as one. */
export class AssertionError extends Error {
  override name = 'AssertionError'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}
