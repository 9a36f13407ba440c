/** The request and response types, derived from the service's OpenAPI document. They cost nothing at run time. */
import type { components, paths } from './openapi.ts'

/** An error from the service (RFC 9457). */
export type Problem = components['schemas']['Problem']

export type Method = 'get' | 'post' | 'put' | 'delete'

/** The paths with this method, except the token endpoints, which the client calls itself. */
export type PathOf<M extends Method> = {
  [P in keyof paths & `/v2/${string}`]: paths[P][M] extends { responses: unknown } ? P : never
}[keyof paths & `/v2/${string}`]

export type Answer<P extends keyof paths, M extends Method> = paths[P][M] extends {
  responses: { 200: { content: { 'application/json': infer A } } }
}
  ? A
  : never

/** The paths of paginated lists. */
export type ListPath = {
  [P in PathOf<'get'>]: Answer<P, 'get'> extends { items: unknown[]; next_page_cursor?: string } ? P : never
}[PathOf<'get'>]

export type Item<P extends ListPath> = Answer<P, 'get'> extends { items: (infer I)[] } ? I : never

export type OrderBook = components['schemas']['OrderBook']
export type Trade = components['schemas']['Trade']
export type Ticker = components['schemas']['Ticker']
export type Candle = components['schemas']['Candle']

type PathParameters<O> = O extends { parameters: { path: infer V } } ? { readonly path: V } : unknown
type Query<O> = O extends { parameters: { query?: infer V } } ? { readonly query?: V } : unknown
type Body<O> = O extends { requestBody: { content: { 'application/json': infer V } } } ? { readonly body: V } : unknown

/** A request for one market's data: its query's members, and `signal`. */
export type MarketOptions<P extends PathOf<'get'>> =
  Request<P, 'get'> extends { readonly query?: infer V } ? NonNullable<V> & { readonly signal?: AbortSignal } : never

/** A request's parts: `path` for the names in braces, `query`, `body`. */
export type Request<P extends keyof paths, M extends Method> = PathParameters<paths[P][M]> &
  Query<paths[P][M]> &
  Body<paths[P][M]> & { readonly signal?: AbortSignal }

/** The argument may be omitted when nothing in it is required. */
export type RequestArguments<R> = Record<never, never> extends R ? [request?: R] : [request: R]
