/** The types of requests and answers, derived from the OpenAPI document of the service. They cost nothing at run time. */
import type { components, paths } from './openapi.ts'

/** An error of the service (RFC 9457). */
export type Problem = components['schemas']['Problem']

export type Method = 'get' | 'post' | 'put' | 'delete'

/** The paths that have a method, without those of tokens, which the client requests itself. */
export type PathOf<M extends Method> = {
  [P in keyof paths & `/v2/${string}`]: paths[P][M] extends { responses: unknown } ? P : never
}[keyof paths & `/v2/${string}`]

export type Answer<P extends keyof paths, M extends Method> = paths[P][M] extends {
  responses: { 200: { content: { 'application/json': infer A } } }
}
  ? A
  : never

/** The paths of lists in pages. */
export type ListPath = {
  [P in PathOf<'get'>]: Answer<P, 'get'> extends { items: unknown[]; next_page_cursor?: string } ? P : never
}[PathOf<'get'>]

export type Item<P extends ListPath> = Answer<P, 'get'> extends { items: (infer I)[] } ? I : never

type PathParameters<O> = O extends { parameters: { path: infer V } } ? { readonly path: V } : unknown
type Query<O> = O extends { parameters: { query?: infer V } } ? { readonly query?: V } : unknown
type Body<O> = O extends { requestBody: { content: { 'application/json': infer V } } } ? { readonly body: V } : unknown

/** What a request needs: `path` for the names in braces, `query`, `body`. */
export type Request<P extends keyof paths, M extends Method> = PathParameters<paths[P][M]> &
  Query<paths[P][M]> &
  Body<paths[P][M]> & { readonly signal?: AbortSignal }

/** The argument may be left out where nothing in it is required. */
export type RequestArguments<R> = Record<never, never> extends R ? [request?: R] : [request: R]
