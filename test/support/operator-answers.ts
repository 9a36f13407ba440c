/** Compares answers of the operator API with its committed document: no test has to do it for the calls that it makes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiDocument, closed, type Node } from './api-document.ts'

const FILE = join(import.meta.dirname, '../../docs/reference/operator-openapi.json')
const PREFIX = '/admin/v1'

interface DescribedCall {
  readonly method: string
  readonly pattern: RegExp
  readonly path: string
  readonly schema: Node
}

let known: { readonly document: ApiDocument; readonly calls: readonly DescribedCall[] } | undefined

/**
 * @param path below `/admin/v1`, with or without a query
 * @returns how a successful answer violates the document, members that it does not describe included; empty: it conforms
 */
export function answerFaults(method: string, path: string, status: number, body: unknown): readonly string[] {
  known ??= read()
  const [plain = ''] = path.split('?')
  const call = known.calls.find((each) => each.method === method && each.pattern.test(plain))
  // 202 is a change request, and other answers are problems.
  if (call?.schema === undefined || status !== 200) return []
  return known.document.faults(call.schema, body).map((fault) => `${method} ${call.path}: ${fault}`)
}

function read() {
  const root = closed(JSON.parse(readFileSync(FILE, 'utf8')), PREFIX)
  const calls = Object.entries<Node>(root.paths).flatMap(([path, methods]) =>
    Object.entries<Node>(methods).map(([method, { responses }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.slice(PREFIX.length).replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      path,
      schema: responses[200]?.content['application/json'].schema,
    })),
  )
  // `/deliveries/claim` is not a delivery.
  const byLength = calls.sort((left, right) => Number(left.path.includes('{')) - Number(right.path.includes('{')))
  return { document: new ApiDocument(root), calls: byLength }
}
