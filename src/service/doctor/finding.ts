/**
 * Findings about an installation, for `tidegate doctor`, `tidegate check-config` and the operator API: one line each,
 * with the next step where something is wrong. Pure.
 */
import { type Check, describeProblem } from '../config/problem-list.ts'

/** `warn` works now and should be corrected, `bad` does not work. */
export const VERDICTS = ['ok', 'warn', 'bad'] as const

export interface Finding {
  readonly verdict: (typeof VERDICTS)[number]
  /** The subject, such as `store`. */
  readonly name: string
  readonly detail: string
  /** The configuration key with the wrong value, and where the value comes from. */
  readonly key?: string
  readonly origin?: string
  /** The next step, absent when nothing is wrong. */
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

/** Turns a check's problems and warnings into findings, which share the next step. */
export function checkFindings(name: string, { problems, warnings }: Check, next: string): Finding[] {
  return [
    ...problems.map((problem) => {
      const { key, origin } = problem
      return { ...bad(name, describeProblem(problem), next), ...(key === '' ? {} : { key }), origin }
    }),
    ...warnings.map((warning) => warn(name, warning, next)),
  ]
}

/**
 * The next step after a failed connection.
 *
 * @param otherwise for any other reason than a host name without an address
 */
export function nextOfConnection(reason: string, otherwise: string): string {
  if (/\bENOTFOUND\b/.test(reason)) return 'no such host: correct its name, or this machine’s name server'
  if (/\bEAI_AGAIN\b/.test(reason)) return 'this machine’s name server does not answer: see /etc/resolv.conf'
  return otherwise
}

/** Describes a failure in a few words: by the system's code if there is one. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = (error as NodeJS.ErrnoException).code ?? (error.cause as NodeJS.ErrnoException | undefined)?.code
  // A timeout's code is a number.
  return typeof code === 'string' ? code : error.message
}
