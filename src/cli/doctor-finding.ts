/** What `tidegate doctor` found: one judgement a line, with the next step where something is not well. Pure. */

export interface Finding {
  /** `warn` works now and should be put right; `bad` does not work. */
  readonly verdict: 'ok' | 'warn' | 'bad'
  /** What was looked at, like `store`. */
  readonly name: string
  readonly detail: string
  /** What to do next; absent when all is well. */
  readonly next?: string
}

export function ok(name: string, detail: string): Finding {
  return { verdict: 'ok', name, detail }
}

export function warn(name: string, detail: string, next: string): Finding {
  return { verdict: 'warn', name, detail, next }
}

export function bad(name: string, detail: string, next: string): Finding {
  return { verdict: 'bad', name, detail, next }
}

/** What went wrong, in a few words: the system's code where there is one. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = (error as NodeJS.ErrnoException).code ?? (error.cause as NodeJS.ErrnoException | undefined)?.code
  return code ?? error.message
}
