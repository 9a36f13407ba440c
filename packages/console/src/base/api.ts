/**
 * Operator API calls from the console: same origin, the session's cookie, and the page's secret. A failed call throws a
 * `Problem` with the service's text. So does a call that never reached the service or was answered by a proxy, so pages
 * have only one kind of failure to show.
 */
import type { AnswerOf, BodyOf, CallsForTwo, ItemOf, ListPath, Method, PathOf, Schema } from './operator-api.ts'
import { pageSecret } from './page-secret.ts'

/** One invalid field in a request. */
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

/** Reacts to the session's end. The session module sets it. */
export const credentials: { onEnded: () => void } = { onEnded: () => undefined }

const PREFIX = '/admin/v1'
/** Codes that refuse a session that was valid before. */
const ENDED = new Set(['session_ended', 'unauthorized', 'invalid_token', 'csrf_failed'])

function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

/** The result of a call that may need a second person: its document, or the request for that person to confirm. */
export type Answer<Document> = { readonly document: Document; readonly request?: undefined } | Requested

export interface Requested {
  readonly request: Schema<'ChangeRequest'>
  readonly issued: Issued
  readonly document?: undefined
}

/**
 * The secrets of a requested call, valid once it is confirmed. The service returns them only once, with the request.
 */
export interface Issued {
  readonly token?: string
  readonly setup_link?: string
}

type AnswerTo<Verb extends Method, Path extends string> =
  CallsForTwo<Verb, Path> extends true
    ? Answer<AnswerOf<Verb, Path>>
    : Extract<Answer<AnswerOf<Verb, Path>>, { readonly request?: undefined }>

/** The reason given to the second person, for the call that is just beginning. */
let comment: unknown

/** Adds the comment to the call made synchronously by `begin`. */
export function withComment<Result>(text: unknown, begin: () => Result): Result {
  comment = text
  try {
    return begin()
  } finally {
    comment = undefined
  }
}

/** @param path the path below `/admin/v1` */
export async function call<Verb extends Method, Path extends PathOf<Verb>>(
  method: Verb,
  path: Path,
  ...[body]: BodyOf<Verb, Path> extends undefined ? [] : [body: BodyOf<Verb, Path>]
): Promise<AnswerTo<Verb, Path>> {
  const sent = comment === undefined ? body : { ...body, comment }
  return (await send(method, path, sent)) as AnswerTo<Verb, Path>
}

async function send(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer<unknown>> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const secret = pageSecret()
  if (secret !== undefined) headers['x-csrf-token'] = secret
  let response: Response
  let text: string
  try {
    response = await fetch(PREFIX + path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem({ code: 'unreachable', detail: `The service cannot be reached. ${nextStep(method)}` })
  }
  const document = parse(text)
  if (document === undefined) {
    const detail = `The answer (status ${response.status}) is not the service's but a proxy's. ${nextStep(method)}`
    throw new Problem({ status: response.status, code: 'not_the_service', detail })
  }
  if (response.status === 202) {
    const { request, ...issued } = document as Issued & { readonly request: Schema<'ChangeRequest'> }
    return { request, issued }
  }
  if (response.ok) return { document }
  const problem = new Problem({ status: response.status, ...(document as ProblemDocument) })
  if (ENDED.has(problem.code)) credentials.onEnded()
  throw problem
}

export async function get<Path extends PathOf<'GET'>>(
  path: Path,
  query?: Query,
  signal?: AbortSignal,
): Promise<AnswerOf<'GET', Path>> {
  const { document } = await send('GET', withQuery(path, query), undefined, signal)
  return document as AnswerOf<'GET', Path>
}

/** One page from a list. */
export async function getPage<Path extends ListPath>(
  path: Path,
  query: Query,
  signal?: AbortSignal,
): Promise<Page<ItemOf<Path>>> {
  const { document } = await send('GET', withQuery(path, query), undefined, signal)
  return document as Page<ItemOf<Path>>
}

/** All items in a list, page by page, at most `max`. `isComplete` is false when there are more. */
export async function getAll<Path extends ListPath>(
  path: Path,
  query: Query,
  max: number,
): Promise<{ readonly items: readonly ItemOf<Path>[]; readonly isComplete: boolean }> {
  const items: ItemOf<Path>[] = []
  let cursor: string | undefined
  do {
    const page: Page<ItemOf<Path>> = await getPage(path, { ...query, limit: 1_000, page_cursor: cursor })
    items.push(...page.items)
    cursor = page.next_page_cursor
  } while (cursor !== undefined && items.length < max)
  return { items: items.slice(0, max), isComplete: cursor === undefined && items.length <= max }
}

/** After a call whose result is not known. A write may have been carried out. */
function nextStep(method: Method): string {
  return method === 'GET'
    ? 'Check that it runs, then try again.'
    : 'The change may have been made: check that it runs, and reload the page before you try again.'
}

/** The answer's document. Undefined for a text that the service does not send. */
function parse(text: string): object | undefined {
  try {
    const document: unknown = JSON.parse(text)
    return typeof document === 'object' && document !== null ? document : undefined
  } catch {
    return undefined
  }
}
