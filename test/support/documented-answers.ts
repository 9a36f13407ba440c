/**
 * Compares both APIs' answers with their committed documents. Members missing from the documents are faults, as are
 * statuses and codes that an operation does not list. The setup for all tests does this for every answer they read.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isProblemCode, PROBLEMS } from '../../src/platform/http/problem.ts'
import { ApiDocument, closed, type Node } from './api-document.ts'

const REFERENCE = join(import.meta.dirname, '../../docs/reference')

/** Answers without an operation: unknown paths and methods, and checks made before the path. */
const OF_NO_OPERATION = [404, 405, 408, 421, 429, 431, 500, 503]

interface DescribedCall {
  readonly method: string
  readonly pattern: RegExp
  readonly path: string
  readonly responses: Node
}

interface DescribedApi {
  readonly document: ApiDocument
  readonly calls: readonly DescribedCall[]
}

const known = new Map<string, DescribedApi>()

/**
 * @param path with its prefix, with or without a query
 * @returns how an answer violates its API's document; empty: it conforms, or the path belongs to neither
 */
export function answerFaults(method: string, path: string, status: number, body: unknown): readonly string[] {
  const [plain = ''] = path.split('?')
  const api = apiOf(plain)
  if (api === undefined) return []
  const call = api.calls.find((each) => each.method === method.toUpperCase() && each.pattern.test(plain))
  const fault = (text: string) => `${method} ${call?.path ?? plain} ${status}: ${text}`
  const isOfTokens = call === undefined && plain.startsWith('/oauth2/') && status === 405
  const schema = isOfTokens ? api.document.root.components.schemas.TokenError : schemaOf(api, call, status)
  if (schema === undefined) return [fault(`not described: ${JSON.stringify(body).slice(0, 300)}`)]
  const faults = [...api.document.faults(schema, body), ...(status < 400 ? [] : metaFaults(body))]
  return faults.map(fault)
}

/** A `meta` member that the problem table does not have for this code. */
function metaFaults(body: unknown): readonly string[] {
  const { code, meta = {} } = body as { code?: unknown; meta?: object }
  // The token endpoints' answers have no code.
  if (!isProblemCode(code)) return []
  const row: { readonly status: number; readonly meta?: readonly string[] } = PROBLEMS[code]
  const described = row.meta ?? []
  return Object.keys(meta)
    .filter((name) => !described.includes(name))
    .map((name) => `meta.${name} is not described for ${code}`)
}

function schemaOf({ document }: DescribedApi, call: DescribedCall | undefined, status: number): Node | undefined {
  const { schemas } = document.root.components
  if (call === undefined) return OF_NO_OPERATION.includes(status) ? schemas.Problem : undefined
  const response = document.resolve(call.responses[status] ?? call.responses.default)
  const [media] = Object.values<Node>(response?.content ?? {})
  return media?.schema
}

function apiOf(path: string): DescribedApi | undefined {
  if (path.startsWith('/admin/v1/')) return read('operator-openapi.json')
  return /^\/(v2|oauth2|\.well-known)\//.test(path) ? read('openapi.json') : undefined
}

function read(file: string): DescribedApi {
  const found = known.get(file)
  if (found !== undefined) return found
  const root = closed(JSON.parse(readFileSync(join(REFERENCE, file), 'utf8')))
  const calls = Object.entries<Node>(root.paths).flatMap(([path, methods]) =>
    Object.entries<Node>(methods).map(([method, { responses }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      path,
      responses,
    })),
  )
  // `/deliveries/claim` is not a delivery.
  const byLength = calls.sort((left, right) => Number(left.path.includes('{')) - Number(right.path.includes('{')))
  const api = { document: new ApiDocument(root), calls: byLength }
  known.set(file, api)
  return api
}
