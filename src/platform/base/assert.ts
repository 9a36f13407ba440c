/** A failed invariant in our own code: a bug. It ends the process, unless a listener answers it as `internal`. Pure. */
export class AssertionError extends Error {
  override name = 'AssertionError'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}
