/**
 * Requests to the operator API with one or more defects in the parts it checks, in the documented order: host, origin,
 * path, method, token, content type, the body's size and schema, then the record. A request without a defect is never
 * sent, so that nothing is written.
 */
import { type Attack, type Family, PROTOTYPE_NAMES, SECRET_MARK } from './family.ts'
import { checkAnswer } from './handshakes.ts'
import { exchange } from './raw-peer.ts'

const BODY_BYTES_MAX = 1_048_576
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'

interface Route {
  readonly path: string
  readonly method: string
  /** The refusal caused by the path or the method alone. */
  readonly refused?: number
  /** The response to a request that is otherwise valid. */
  readonly last: number
}

const ROUTES: readonly Route[] = [
  { path: '/customers', method: 'POST', last: 400 },
  { path: `/customers/${UNKNOWN_ID}`, method: 'PATCH', last: 404 },
  { path: '/customers/not-an-id', method: 'PATCH', last: 404 },
  { path: `/customers/${UNKNOWN_ID}/clients`, method: 'POST', last: 404 },
  { path: `/clients/${UNKNOWN_ID}`, method: 'PATCH', last: 404 },
  { path: '/clients/__proto__', method: 'PATCH', last: 404 },
  { path: "/clients/'%20OR%201=1", method: 'PATCH', last: 404 },
  { path: `/clients/${UNKNOWN_ID}/secrets`, method: 'DELETE', refused: 405, last: 405 },
  { path: '/customers', method: 'DELETE', refused: 405, last: 405 },
  { path: '/nothing', method: 'POST', refused: 404, last: 404 },
  { path: '/__proto__', method: 'POST', refused: 404, last: 404 },
  { path: '/customers/', method: 'POST', refused: 404, last: 404 },
]

/** A body that conforms to a route's schema, except where `last` is 400. */
function soundBody({ path, method, last }: Route): string {
  if (last === 400) return '{"name":""}'
  if (path.endsWith('/clients')) return '{"name":"a","scopes":[]}'
  return method === 'PATCH' ? '{"enabled":true}' : '{}'
}

const BAD_BODIES: readonly string[] = [
  '',
  'null',
  '[]',
  '"name"',
  '1',
  '{',
  '{"name":"a",}',
  "{'name':'a'}",
  '{"name":"a","name":"b","scopes":[],"enabled":true}',
  '{"enabled":true,"enabled":true}',
  '{"__proto__":{"name":"a"}}',
  '{"constructor":{"prototype":{"enabled":true}}}',
  ...PROTOTYPE_NAMES.map((name) => `{"enabled":true,"name":"a","scopes":[],"${name}":1}`),
  '{"name":"\\u0000","scopes":[]}',
  '{"name":"\\ud800","scopes":[]}',
  '{"name":null}',
  '{"name":1e999}',
  '{"name":123456789012345678901234567890}',
  '{"name":{"toString":1}}',
  `{"name":"${'n'.repeat(201)}"}`,
  '{"enabled":"true"}',
  '{"enabled":1}',
  '{"scopes":["__proto__"],"name":"a"}',
  '{"scopes":{"length":1},"name":"a"}',
  `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  `{"name":${'{"a":'.repeat(50_000)}0${'}'.repeat(50_000)}}`,
  '\uFEFF\uFEFF{"name":"a"}',
]

export const operatorRequests: Family = {
  name: 'operator requests',
  share: 0.06,
  async run(attack) {
    const { bytes, status, isGuess } = makeRequest(attack)
    const answer = await exchange(attack.field.operator, bytes)
    // Many wrong tokens from one address are answered 429.
    const expected = isGuess && status === 401 && answer?.status === 429 ? 429 : status
    checkAnswer(answer, expected, bytes.toString())
    return 1
  },
}

function makeRequest({ field, random, serial }: Attack) {
  const route = random.pick(ROUTES)
  const host = random.pick([
    ...Array.from({ length: 8 }, () => ({ lines: ['Host: localhost'], refused: undefined })),
    { lines: ['Host: 127.0.0.1:8081', 'Origin: http://127.0.0.1:8081'], refused: undefined },
    { lines: ['Host: tidegate.test', 'Origin: http://tidegate.test'], refused: 421 },
    { lines: ['Host: localhost', 'Origin: http://tidegate.test'], refused: 403 },
  ])
  const token = random.pick([
    ...Array.from({ length: 6 }, () => ({ line: `Authorization: Bearer ${field.operatorToken}`, refused: undefined })),
    { line: undefined, refused: 401 },
    { line: `Authorization: Bearer ${SECRET_MARK}-${serial}`, refused: 401 },
    { line: `Authorization: Bearer ${field.operatorToken}x`, refused: 401 },
    { line: `Authorization: Bearer ${field.reader.token}`, refused: 401 },
    { line: `Authorization: Basic ${Buffer.from(`operator:${SECRET_MARK}`).toString('base64')}`, refused: 401 },
  ])
  const type = random.pick([
    ...Array.from({ length: 6 }, () => ({ text: 'application/json', refused: undefined })),
    { text: 'application/json; charset=utf-8', refused: undefined },
    { text: 'application/json; charset=latin1', refused: 415 },
    { text: 'text/plain', refused: 415 },
    { text: 'application/x-www-form-urlencoded', refused: 415 },
    { text: '__proto__', refused: 415 },
  ])
  const body = bodyOf(route, random.chance(0.05) ? 'huge' : random.chance(0.85) ? 'bad' : 'sound', (items) =>
    random.pick(items),
  )
  const lines = [
    `${route.method} /admin/v1${route.path} HTTP/1.1`,
    ...host.lines,
    'Connection: close',
    ...(token.line === undefined ? [] : [token.line]),
    `Content-Type: ${type.text}`,
    `Content-Length: ${body.bytes.length}`,
    '\r\n',
  ]
  const checks = [host.refused, route.refused, token.refused, type.refused, body.refused]
  return {
    bytes: Buffer.concat([Buffer.from(lines.join('\r\n')), body.bytes]),
    status: checks.find((refused) => refused !== undefined) ?? route.last,
    isGuess: token.line?.includes(' Bearer ') === true,
  }
}

function bodyOf(route: Route, kind: 'huge' | 'bad' | 'sound', pick: (items: readonly string[]) => string) {
  if (kind === 'huge') return { bytes: Buffer.alloc(BODY_BYTES_MAX + 1, ' '), refused: 413 }
  if (kind === 'sound') return { bytes: Buffer.from(soundBody(route)), refused: undefined }
  const text = pick(BAD_BODIES)
  return { bytes: Buffer.from(text), refused: 400 }
}
