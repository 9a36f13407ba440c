/**
 * The types of the operator API by method and path, from its OpenAPI document: what a call sends and returns follows from
 * its path, so that a page which does not fit the document is a type error.
 */
import type { components, paths } from './openapi.ts'

/** A document of the API by the name of its schema. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** `/customers/{id}` as the type of `/customers/${id}`. */
type Filled<Path> = Path extends `${infer Start}{${string}}${infer Rest}` ? `${Start}${string}${Filled<Rest>}` : Path

type Below<Path> = Path extends `/admin/v1${infer Rest}` ? Rest : never

/** The paths with this method, as the document names them. */
type Described<Verb extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Lowercase<Verb>, object> ? Path : never
}[keyof paths]

/** The paths of this method, below `/admin/v1`. */
export type PathOf<Verb extends Method> = Filled<Below<Described<Verb>>>

/** The described call of a path; `/customers/{id}` is not that of `/customers/${id}/quotas`. */
type CallOf<Verb extends Method, Path extends string> = Path extends string
  ? {
      [Each in Described<Verb>]: [Path, Filled<Below<Each>>] extends [Filled<Below<Each>>, Path]
        ? paths[Each][Lowercase<Verb> & keyof paths[Each]]
        : never
    }[Described<Verb>]
  : never

/** What a call returns when it is carried out. */
export type AnswerOf<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { responses: { 200: { content: { 'application/json': infer Document } } } }
    ? Document
    : never

/** Whether a call can need a second person. */
export type CallsForTwo<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { responses: { 202: object } } ? true : false

/** The names of the members of a body. Their values come from forms, and the service validates them. */
export type BodyOf<Verb extends Method, Path extends string> =
  CallOf<Verb, Path> extends { requestBody: { content: { 'application/json': infer Body } } }
    ? { readonly [Name in keyof Body]: unknown }
    : undefined

/** Without the addresses that answer browsers with a redirection, which have no document. */
type PagedAmong<Path extends string> = Path extends string
  ? [AnswerOf<'GET', Path>] extends [never]
    ? never
    : 'next_page_cursor' extends keyof AnswerOf<'GET', Path>
      ? Path
      : never
  : never

/** The paths of lists in pages. */
export type ListPath = PagedAmong<PathOf<'GET'>>

export type ItemOf<Path extends string> =
  AnswerOf<'GET', Path> extends { items: readonly (infer Item)[] } ? Item : never
