/**
 * Setup for every test file: whatever a test reads from a service's answer with `fetch` is compared with the committed
 * API documents, and a test that received an undocumented answer fails. Programs in other processes are not observed.
 */
import { afterEach, expect } from 'vitest'

interface Observed {
  /** From the answers since the last test ended. */
  faults: string[]
  /** Whether the current test has its own handlers or records that the service never has. */
  isInvented: boolean
}

/** Per process, which test files may share, with copies of this module. */
const SHARED = globalThis as { validatedAnswers?: Observed }

/** Accepts whatever the current test receives: it has called a handler, or stored a record, that the test made up. */
export function acceptInventedAnswers(): void {
  if (SHARED.validatedAnswers !== undefined) SHARED.validatedAnswers.isInvented = true
}

function wrap(observed: Observed): void {
  const send = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const response = await send(input, init)
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    // Services imitated by tests have no such field.
    if (isJson && method !== 'HEAD' && response.headers.has('x-request-id')) observe(response, method, observed.faults)
    return response
  }
}

function observe(response: Response, method: string, faults: string[]): void {
  const readText = response.text.bind(response)
  const text = async () => {
    const body = await readText()
    const { pathname } = new URL(response.url)
    // Loaded with the first answer, because most test files send no request.
    const { answerFaults } = await import('./documented-answers.ts')
    if (body !== '') faults.push(...answerFaults(method, pathname, response.status, JSON.parse(body)))
    return body
  }
  Object.assign(response, { text, json: async () => JSON.parse(await text()) as unknown })
}

if (SHARED.validatedAnswers === undefined) {
  SHARED.validatedAnswers = { faults: [], isInvented: false }
  wrap(SHARED.validatedAnswers)
}
const { validatedAnswers } = SHARED

afterEach(() => {
  const found = validatedAnswers.faults.splice(0)
  const { isInvented } = validatedAnswers
  validatedAnswers.isInvented = false
  if (!isInvented) expect(found, 'answers that the API documents do not describe').toEqual([])
})
