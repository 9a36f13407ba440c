/**
 * The operator API's types by method and path, from its OpenAPI document. A call's body and answer follow from its
 * path, so a page that does not fit the document is a type error.
 */
import type { components, paths } from './openapi.ts'

/** An API document by its schema name. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `/customers/{id}` as the type of `/customers/${id}`. */
type Filled<Path> = Path extends `${infer Start}{${string}}${infer Rest}` ? `${Start}${string}${Filled<Rest>}` : Path

type Below<Path> = Path extends `/admin/v1${infer Rest}` ? Rest : never

/** The paths with this method, as the document names them. */
type Described<Verb extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Lowercase<Verb>, object> ? Path : never
}[keyof paths]

/** The paths with this method, below `/admin/v1`. */
export type PathOf<Verb extends Method> = Filled<Below<Described<Verb>>>

/** A path's call in the document. `/customers/{id}` must not match `/customers/${id}/quotas`. */
type CallOf<Verb extends Method, Path extends string> = Path extends string
  ? {
      [Each in Described<Verb>]: [Path, Filled<Below<Each>>] extends [Filled<Below<Each>>, Path]
        ? paths[Each][Lowercase<Verb> & keyof paths[Each]]
        : never
    }[Described<Verb>]
  : never

/** A call's document once it is carried out. */
export type AnswerOf<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { responses: { 200: { content: { 'application/json': infer Document } } } }
    ? Document
    : never

/** Whether a call can need a second person. */
export type CallsForTwo<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { responses: { 202: object } } ? true : false

/** A body's member names. Their values come from forms, and the service validates them. */
export type BodyOf<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { requestBody: { content: { 'application/json': infer Body } } }
    ? { readonly [Name in keyof Body]: unknown }
    : undefined

/** Excludes the addresses that redirect browsers, because they have no document. */
type PagedAmong<Path extends string> = Path extends string
  ? [AnswerOf<'GET', Path>] extends [never]
    ? never
    : 'next_page_cursor' extends keyof AnswerOf<'GET', Path>
      ? Path
      : never
  : never

/** The paths of paginated lists. */
export type ListPath = PagedAmong<PathOf<'GET'>>

export type ItemOf<Path extends string> =
  AnswerOf<'GET', Path> extends { items: readonly (infer Item)[] } ? Item : never
