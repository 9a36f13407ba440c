/** A page by its path. */
import type { JSX } from 'preact'

export interface PageContent {
  readonly title: string
  readonly content: JSX.Element
}

export type Route = readonly [pattern: RegExp, page: (...parameters: string[]) => PageContent]

/** A record's page, by its id. */
export function record(folder: string, title: string, content: (id: string) => JSX.Element): Route {
  return [new RegExp(`^/${folder}/([0-9A-Za-z-]{1,64})$`), (id = '') => ({ title, content: content(id) })]
}
