/**
 * The page at `/docs/stream`: the AsyncAPI document for people. It shows how to connect, every request with its answer,
 * every channel, the errors, the close codes, and every schema's members. It has no script and loads nothing. All text
 * from the document is escaped. Pure.
 */
import { CLOSE_CODES, STREAM_ERRORS } from '../../contract/stream-codes.ts'
import type { Json } from './answers.ts'

/** The parts of the AsyncAPI document that the page shows. */
interface StreamDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: {
    readonly service: { readonly host: string; readonly pathname?: string; readonly protocol: string }
  }
  readonly operations: Readonly<Record<string, Operation>>
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>
    readonly schemas: Readonly<Record<string, Schema>>
  }
}

interface Reference {
  readonly $ref: string
}

interface Operation {
  readonly action: 'receive' | 'send'
  readonly summary: string
  readonly messages: readonly Reference[]
  readonly reply?: { readonly messages: readonly Reference[] }
}

interface Message {
  readonly summary: string
  readonly payload: Reference
  readonly examples: readonly { readonly name?: string; readonly payload: unknown }[]
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly format?: string
  readonly description?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Light and dark colour schemes. No font and no image is loaded. */
const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
nav a{margin-right:1rem}
h2{margin-top:3rem}
pre{overflow-x:auto;padding:.75rem;border:1px solid #8886;border-radius:4px}
code,pre{font-family:ui-monospace,monospace;font-size:.9em;line-height:1.4}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884}`

/**
 * @param document the result of `asyncApiDocument`
 * @param links where the REST API's page and the document itself are
 */
export function streamPage(document: Json, links: { readonly rest: string; readonly document: string }): string {
  const { info, servers, operations, components } = document as unknown as StreamDocument
  const { protocol, host, pathname = '' } = servers.service
  const shown = Object.entries(operations)
  const received = shown.filter(([, { action }]) => action === 'receive')
  const sent = shown.filter(([, { action }]) => action === 'send')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(info.title)}</title><style>${STYLE}</style></head><body>
<nav><a href="${escaped(links.rest)}">REST API</a><a href="${escaped(links.document)}">AsyncAPI document</a></nav>
<h1>${escaped(info.title)} ${escaped(info.version)}</h1>
<p>Connect to <code>${escaped(`${protocol}://${host}${pathname}/`)}</code></p>
${prose(info.description)}
<h2 id="requests">Requests</h2>
${received.map(([name, operation]) => operationSection(name, operation, components.messages)).join('\n')}
<h2 id="channels">Messages sent by the service</h2>
${sent.map(([name, operation]) => operationSection(name, operation, components.messages)).join('\n')}
<h2 id="errors">Request errors</h2>
${table(
  ['code', 'meaning'],
  Object.entries(STREAM_ERRORS).map(([code, meaning]) => [`<code>${code}</code>`, escaped(meaning)]),
)}
<h2 id="close-codes">Close codes</h2>
${table(
  ['code', 'reason', 'reconnect'],
  Object.values(CLOSE_CODES).map(({ code, reason, reconnect }) => [String(code), escaped(reason), escaped(reconnect)]),
)}
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas)
  .map(([name, schema]) => schemaSection(name, schema))
  .join('\n')}
</body></html>
`
}

function operationSection(
  name: string,
  operation: Operation,
  messages: StreamDocument['components']['messages'],
): string {
  const { summary, reply } = operation
  const own = operation.messages.map(({ $ref }) => messageText(nameIn($ref), messages, summary))
  const answers = (reply?.messages ?? []).map(({ $ref }) => messageText(nameIn($ref), messages, summary))
  const answered = answers.length === 0 ? '' : `<p>Answered with:</p>${answers.join('')}`
  return `<section id="${escaped(name)}"><h3><code>${escaped(name)}</code></h3><p>${escaped(summary)}</p>${own.join('')}${answered}</section>`
}

/** @param known the operation's summary, which is not repeated */
function messageText(name: string, messages: StreamDocument['components']['messages'], known: string): string {
  const message = messages[name]
  if (message === undefined) return ''
  const about = message.summary === known ? '' : `: ${escaped(message.summary)}`
  const examples = message.examples.map(({ name: protocol, payload }) => {
    const on = protocol === undefined ? '' : ` on <code>${escaped(protocol)}</code>`
    return `<p>${link(nameIn(message.payload.$ref))}${on}${about}</p><pre>${escaped(JSON.stringify(payload, null, 2))}</pre>`
  })
  return examples.join('')
}

function schemaSection(name: string, schema: Schema): string {
  const { description, properties, oneOf, required = [] } = schema
  const about = description === undefined ? '' : `<p>${inline(description)}</p>`
  const heading = `<h3 id="schema-${escaped(name)}"><code>${escaped(name)}</code></h3>${about}`
  if (oneOf !== undefined) return `${heading}<p>One of ${oneOf.map(typeText).join(', ')}</p>`
  if (properties === undefined) return `${heading}<p>${typeText(schema)}</p>`
  const rows = Object.entries(properties).map(([member, one]) => [
    `<code>${escaped(member)}</code>`,
    typeText(one),
    required.includes(member) ? 'always' : 'may be absent',
    inline(one.description ?? ''),
  ])
  return heading + table(['member', 'type', 'presence', 'meaning'], rows)
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return link(nameIn(schema.$ref))
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(', ')
  if (schema.items !== undefined) return `array of ${typeText(schema.items)}`
  const type = [schema.type ?? 'any'].flat().join(' or ')
  return escaped(schema.format === undefined ? type : `${type}, ${schema.format}`)
}

function link(schemaName: string): string {
  return `<a href="#schema-${escaped(schemaName)}"><code>${escaped(schemaName)}</code></a>`
}

/** The schema name in a reference. */
function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) =>
    `<tr>${row.map((text) => `<${tag}>${text}</${tag}>`).join('')}</tr>`
  return `<table><thead>${cells(heads, 'th')}</thead><tbody>${rows.map((row) => cells(row, 'td')).join('')}</tbody></table>`
}

/** Paragraphs with blank lines between them. */
function prose(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n')
}

/** Text with code between backquotes. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
