/**
 * The generated pages in docs/reference that list everything callable: the stream, the REST API, the operator API and
 * the command line. `npm run docs` writes them, and a test verifies that the committed ones are current.
 */
import type { EventEmitter } from 'node:events'
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../src/cli/program.ts'
import { OPERATOR_CALLS } from '../src/contract/operator-calls.ts'
import { CLOSE_CODES } from '../src/contract/stream-codes.ts'
import { NOTICE, table } from './markdown.ts'

interface StreamDocument {
  readonly info: { readonly description: string }
  readonly components: { readonly messages: Readonly<Record<string, StreamMessage>> }
}

interface StreamMessage {
  readonly summary: string
  readonly examples: readonly { readonly name?: string; readonly payload: unknown }[]
}

interface RestDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, RestOperation>>>>
}

interface RestOperation {
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly { readonly token?: readonly string[]; readonly client?: readonly string[] }[]
}

/**
 * Every page's path from the root, and its text.
 * @param documents the generated API documents, by their path from the root
 */
export function interfacePages(documents: readonly (readonly [path: string, text: string])[]): [string, string][] {
  const read = (path: string): unknown => JSON.parse(new Map(documents).get(path) as string)
  return [
    ['docs/reference/stream.md', streamPage(read('docs/reference/asyncapi.json') as StreamDocument)],
    ['docs/reference/rest.md', restPage(read('docs/reference/openapi.json') as RestDocument)],
    ['docs/reference/operator-api.md', operatorPage()],
    ['docs/reference/command-line.md', commandPage()],
  ]
}

function streamPage(document: StreamDocument): string {
  const messages = Object.entries(document.components.messages)
  const sections = (isWanted: (name: string) => boolean): string =>
    messages
      .filter(([name]) => isWanted(name))
      .map(([name, message]) => messageSection(name, message))
      .join('')
  const isRequest = (name: string): boolean => name.endsWith('.request')
  const isAnswer = (name: string): boolean => name.endsWith('.answer') || name === 'error'
  const closes = Object.values(CLOSE_CODES)
    .toSorted((left, right) => left.code - right.code)
    .map(({ code, reason, reconnect }) => [String(code), reason, reconnect])
  return `${NOTICE}
# The stream

${document.info.description.trim()}

Every message with an example, as in [asyncapi.json](asyncapi.json), which also has the schemas. How a client keeps a book:
[writing a client](../how-to/clients.md). Details: [the extended protocol](extended-stream.md).

## Requests
${sections(isRequest)}
## Answers
${sections(isAnswer)}
## Channel messages
${sections((name) => !isRequest(name) && !isAnswer(name))}
## Close codes

${table(['code', 'reason', 'reconnect'], closes)}

From RFC 6455 also 1002, 1007 and 1009 (protocol error, invalid UTF-8, message too large: fix the client), and 1008 without
a reason for a message in more than 64 fragments. Error codes in answers: [errors](errors.md#codes-of-stream-requests).
`
}

function messageSection(name: string, { summary, examples }: StreamMessage): string {
  const title = name.replace('.request', '').replace('.answer', ': answer')
  const blocks = examples.map((example) => {
    const heading = example.name === undefined ? '' : `In \`${example.name}\`:\n\n`
    return `${heading}\`\`\`json\n${JSON.stringify(example.payload)}\n\`\`\`\n`
  })
  return `\n### ${title}\n${summary}.\n\n${blocks.join('\n')}`
}

function restPage({ tags, paths }: RestDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ call: `${method.toUpperCase()} ${path}`, ...operation })),
  )
  const sections = tags.map(({ name, description }) => {
    const rows = operations
      .filter((operation) => operation.tags.includes(name))
      .map(({ call, summary, security }) => [`\`${call}\``, summary, authorisation(security)])
    return `## ${name}\n${description}.\n\n${table(['operation', 'what it does', 'authorisation'], rows)}\n`
  })
  return `${NOTICE}
# The REST API

The public listener’s operations, with the token’s required scope. A running service shows parameters, bodies and responses at
\`/docs/\`, and [openapi.json](openapi.json) has the same for programs. [The first ten minutes](../tutorials/first-ten-minutes.md)
explains tokens, lists and errors, [errors](errors.md) has every code.

${sections.join('\n')}`
}

function authorisation(security: RestOperation['security']): string {
  const scopes = security.flatMap(({ token }) => token ?? [])
  if (scopes.length > 0) return scopes.map((scope) => `\`${scope}\``).join(', ')
  if (security.some(({ client }) => client !== undefined)) return 'the client and its secret'
  return security.some(({ token }) => token !== undefined) ? 'any valid token' : 'none'
}

function operatorPage(): string {
  const rows = Object.entries(OPERATOR_CALLS).map(([call, { role, summary }]) => {
    const [method, path] = call.split(' ') as [string, string]
    return [`\`${method} /admin/v1${path}\``, summary, `\`${role}\``]
  })
  return `${NOTICE}
# The operator API

Every operator listener call under \`/admin/v1\`, with the lowest permitted role. Roles and authentication:
[operators](../how-to/operators.md). The \`tidegate admin\` verbs make these calls ([command line](command-line.md)).

${table(['call', 'what it does', 'role'], rows)}
`
}

/** Options shared by this many verbs are listed once. */
const COMMON_VERBS_MIN = 10

/** A verb that has all options of an earlier one, at least this many, refers to it. */
const SHARED_MIN = 3

function commandPage(): string {
  const program = createProgram()
  const all = verbsOf(program, '')
  const counts = new Map<string, number>()
  for (const { options } of all) for (const row of options) counts.set(row, (counts.get(row) ?? 0) + 1)
  const common = [...counts].filter(([, count]) => count >= COMMON_VERBS_MIN).map(([row]) => row)
  const verbs = all.map((verb) => ({ ...verb, options: verb.options.filter((row) => !common.includes(row)) }))
  const sections = verbs.map((verb, index) => verbSection(verb, verbs.slice(0, index)))
  return `${NOTICE}
# The command line

Every verb of \`tidegate\`, with its arguments and options, and often an example with options. \`--help\` after a verb shows more
examples. Verbs that read the configuration accept each [setting](configuration.md) as an option. Customers and clients are
given by id or name, clients also as \`CUSTOMER/CLIENT\`. Options of most verbs, listed only here:

${common.join('\n')}

${sections.join('\n\n')}
`
}

/** @param above the verbs before it on the page */
function verbSection({ title, description, example, options }: Verb, above: readonly Verb[]): string {
  const holds = (rows: readonly string[]) => rows.length >= SHARED_MIN && rows.every((row) => options.includes(row))
  const like = above.find((verb) => holds(verb.options))
  const rows = options.filter((row) => !like?.options.includes(row))
  const list = like === undefined ? rows : [`- the options of ${like.title}`, ...rows]
  const shown = example === undefined ? '' : `\`\`\`sh\n${example}\n\`\`\``
  return [`## ${title}`, description, list.join('\n'), shown].filter((part) => part !== '').join('\n\n')
}

interface Verb {
  readonly title: string
  readonly description: string
  readonly example: string | undefined
  /** One list item for each argument that needs a description, and for each option. */
  readonly options: readonly string[]
}

/** Every verb with an action, at any depth. */
function verbsOf(command: Command, path: string): Verb[] {
  return command.commands.flatMap((child) => {
    const childPath = `${path} ${child.name()}`.trim()
    return child.commands.length > 0 ? verbsOf(child, childPath) : [verbOf(child, childPath)]
  })
}

function verbOf(command: Command, path: string): Verb {
  const words = command.registeredArguments.map((argument) => placeOf(argument))
  const options = command.options.filter((option) => !option.hidden && option.helpGroupHeading === undefined)
  const rows = [
    ...command.registeredArguments.map((argument) => [placeOf(argument), argument.description] as const),
    ...options.map((option) => [option.flags, describeOption(option)] as const),
  ]
  return {
    title: `\`${[path, ...words].join(' ')}\``,
    description: asText(sentence(command.description())),
    example: exampleOf(command, path),
    options: rows.flatMap(([name, meaning]) => (meaning === '' ? [] : [`- \`${name}\`: ${asText(meaning)}`])),
  }
}

/** The help text's first example, unless it is the verb with values for its arguments only. */
function exampleOf(command: Command, path: string): string | undefined {
  let help = ''
  const write = (text: string) => {
    help += text
  }
  // A command is an emitter, which its types do not show. Its help text is what it writes for this event.
  ;(command as unknown as EventEmitter).emit('afterHelp', { error: false, command, write })
  const example = /^ *\$ (.*)$/m.exec(help)?.[1]
  return example?.startsWith(`tidegate ${path}`) && !example.includes(' --') ? undefined : example
}

function placeOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}

function describeOption({ description, defaultValue, defaultValueDescription }: Option): string {
  const shown = defaultValueDescription ?? (defaultValue === undefined ? undefined : JSON.stringify(defaultValue))
  return shown === undefined ? description : `${description} (default: ${shown})`
}

/** Outside of code, angle brackets would be read as HTML. */
function asText(words: string): string {
  return words.startsWith('`') ? words : words.replaceAll('<', '&lt;').replaceAll(/\s*\n\s*/g, ' ')
}

function sentence(words: string): string {
  return `${words.replace(/^./, (letter) => letter.toUpperCase()).replace(/\.$/, '')}.`
}
