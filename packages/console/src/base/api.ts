/**
 * Calls of the operator API from the console: same origin, the session's cookie, and the CSRF token with every write. A
 * failed call throws a `Problem` with the text that the service gave; a call that never reached the service throws one too,
 * so that pages have one kind of failure to show.
 */

/** One invalid field of a request. */
export interface FieldFault {
  readonly pointer?: string
  readonly parameter?: string
  readonly detail: string
}

interface ProblemDocument {
  readonly status?: number
  readonly code?: string
  readonly title?: string
  readonly detail?: string
  readonly request_id?: string
  readonly errors?: readonly FieldFault[]
  readonly meta?: Readonly<Record<string, unknown>>
}

/** A refused or failed call. */
export class Problem extends Error {
  /** 0 when the service could not be reached. */
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly faults: readonly FieldFault[]
  readonly meta: Readonly<Record<string, unknown>>

  constructor(document: ProblemDocument) {
    super(document.detail ?? document.title ?? 'the service answered with an error')
    this.status = document.status ?? 0
    this.code = document.code ?? 'unknown'
    this.requestId = document.request_id
    this.faults = document.errors ?? []
    this.meta = document.meta ?? {}
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_page_cursor?: string
}

/** What the session decides about calls; the session module sets it. */
export const credentials: { csrfToken: string | undefined; onEnded: () => void } = {
  csrfToken: undefined,
  onEnded: () => undefined,
}

const PREFIX = '/admin/v1'
/** Codes with which a session that was valid is refused. */
const ENDED = new Set(['session_ended', 'unauthorized', 'invalid_token'])

export function pathOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

export interface Answer<Document> {
  readonly status: number
  readonly document: Document
}

/** @param path below `/admin/v1`, or an absolute path that starts with `//` for one outside of it, such as `//readyz` */
export async function call<Document>(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer<Document>> {
  const url = path.startsWith('//') ? path.slice(1) : PREFIX + path
  const headers: Record<string, string> = { accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (method !== 'GET' && credentials.csrfToken !== undefined) headers['x-csrf-token'] = credentials.csrfToken
  let response: Response
  try {
    response = await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem({
      code: 'unreachable',
      detail: 'The service cannot be reached. Check that it runs, then try again.',
    })
  }
  const text = await response.text()
  const document = parse(text)
  if (response.ok || (url === '/readyz' && response.status === 503)) {
    return { status: response.status, document: document as Document }
  }
  const problem = new Problem({ status: response.status, ...(document as ProblemDocument | undefined) })
  if (response.status === 401 && ENDED.has(problem.code)) credentials.onEnded()
  throw problem
}

export async function get<Document>(path: string, query?: Query, signal?: AbortSignal): Promise<Document> {
  return (await call<Document>('GET', pathOf(path, query), undefined, signal)).document
}

/** All items of a list, page by page, at most `max`; `isComplete` is false when there are more. */
export async function getAll<Item>(
  path: string,
  query: Query,
  max: number,
): Promise<{ readonly items: readonly Item[]; readonly isComplete: boolean }> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page: Page<Item> = await get(path, { ...query, limit: 1_000, page_cursor: cursor })
    items.push(...page.items)
    cursor = page.next_page_cursor
  } while (cursor !== undefined && items.length < max)
  return { items: items.slice(0, max), isComplete: cursor === undefined && items.length <= max }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
