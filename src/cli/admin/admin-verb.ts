/**
 * How a `tidegate admin` verb is defined: one operator API call, built from arguments and options. `admin` runs it and
 * shows the answer. `admin-verbs` lists the verbs.
 */
import { InvalidArgumentError } from 'commander'
import { OPERATOR_CALLS, type OperatorCallId, type OperatorCallRow } from '../../contract/operator-calls.ts'
import type { OperatorCall } from './operator-client.ts'

/** A call's arguments and options. */
export interface Given {
  /** Arguments after the path's own. */
  readonly rest: readonly string[]
  /** By the option's long name in camel case, as read. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface AdminOption {
  readonly flags: string
  readonly description: string
  readonly read?: (text: string) => unknown
  readonly isRequired?: true
  /** Its value is a record's id or name. */
  readonly named?: Named
}

/** The records which verbs also take by name. */
export type Named = 'customer' | 'client'

export interface AdminVerb {
  /** Verb and arguments. The first arguments fill the path. */
  readonly usage: string
  readonly description: string
  readonly example: string
  readonly method: OperatorCall['method']
  /** Below `/admin/v1`, with `:name` for each argument in it. */
  readonly path: string
  readonly options?: readonly AdminOption[]
  readonly query?: (given: Given) => NonNullable<OperatorCall['query']>
  readonly body?: (given: Given) => NonNullable<OperatorCall['body']>
  /** For a list: the members shown on a terminal, one column each, where `best_bid.price` is nested. */
  readonly columns?: readonly string[]
  /** The text for a terminal, in place of the members. */
  readonly text?: (answer: object) => string
  /** A failure reported by the answer: one line on stderr, and exit 1. */
  readonly fault?: (answer: object) => string | undefined
  /** Its noun's default verb. */
  readonly isDefault?: true
  /** Whether the list has pages. */
  readonly isPaged?: true
  /** Whether it shows a list's new records until it is stopped. */
  readonly isTail?: true
  /** The records which the first arguments name. */
  readonly named?: readonly Named[]
  /** Options whose values fill the path, before the arguments do. */
  readonly pathOptions?: readonly string[]
  /** The answer in another format, such as CSV, when the options request it. */
  readonly otherText?: (answer: object, options: Given['options']) => string | undefined
  /** A call made before and shown on stderr. Its answer has the members which the body needs. */
  readonly before?: { readonly path: string; readonly body: readonly string[] }
  /** The answer contains a secret, which `--credentials FILE` writes to a file. */
  readonly createsClient?: true
}

export interface AdminNoun {
  readonly name: string
  readonly description: string
  readonly verbs: readonly AdminVerb[]
}

const PAGE_OPTIONS: readonly AdminOption[] = [
  { flags: '--limit <number>', description: 'maximum records per page, 1 to 1000' },
  { flags: '--order <ASC|DESC>', description: 'sort by creation time (default: DESC, the newest first)' },
  { flags: '--page-cursor <cursor>', description: 'the previous page’s next_page_cursor' },
]

const CREDENTIALS_OPTIONS: readonly AdminOption[] = [
  {
    flags: '--credentials <file>',
    description: 'writes a new file for watch, verify and the examples (mode 600)',
  },
  { flags: '--url <url>', description: 'the service’s address in this file (default: the configured one)' },
]

const COMMENT_OPTION: AdminOption = {
  flags: '--comment <text>',
  description: 'why, for the second operator (required while operator.four_eyes lists this kind of call)',
}

/** All options a verb has, including paging and four eyes. */
export function optionsOf(verb: AdminVerb): readonly AdminOption[] {
  const { options = [], isPaged, createsClient } = verb
  const more = [...(isPaged ? PAGE_OPTIONS : []), ...(createsClient ? CREDENTIALS_OPTIONS : [])]
  return [...options, ...more, ...(needsComment(verb) ? [COMMENT_OPTION] : [])]
}

/** Whether the verb's call may need a second operator. */
function needsComment({ method, path }: AdminVerb): boolean {
  const row = OPERATOR_CALLS[`${method} ${path}` as OperatorCallId] as OperatorCallRow | undefined
  return row?.fourEyes !== undefined
}

/** The verb's call for these arguments and options. */
export function callOf(verb: AdminVerb, given: readonly string[], options: Given['options']): OperatorCall {
  const rest = [...(verb.pathOptions ?? []).map((name) => textOf(options[name]) ?? ''), ...given]
  const path = verb.path.replaceAll(/:[a-z]+/g, () => encodeURIComponent(rest.shift() ?? ''))
  const page = verb.isPaged
    ? { limit: textOf(options.limit), order: textOf(options.order), page_cursor: textOf(options.pageCursor) }
    : {}
  const query = { ...verb.query?.({ rest, options }), ...page }
  const own = verb.body?.({ rest, options })
  const body = options.comment === undefined || !needsComment(verb) ? own : { ...own, comment: options.comment }
  return { method: verb.method, path, query, ...(body === undefined ? {} : { body }) }
}

/** The option as a member with the same name, when it was given. */
export function pick(options: Given['options'], name: string): Readonly<Record<string, unknown>> {
  return options[name] === undefined ? {} : { [name]: options[name] }
}

/** An option's text. Nothing when it was not given. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A date means its beginning in UTC. */
export function timeOf(value: unknown): string | undefined {
  const text = textOf(value)
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
}

/** Reads a list separated by commas. */
export function listOf(text: string): readonly string[] {
  return text.split(',').filter((entry) => entry !== '')
}

/** Reads a whole number. */
export function numberOf(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** Reads an option with the value `on` or `off`. */
export function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new InvalidArgumentError('It must be on or off.')
}
