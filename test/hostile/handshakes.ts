/**
 * Handshakes with one or more defects in the documented parts, which are checked in the documented order: the first
 * defect determines the response. Every part is chosen independently, so that the order is tested.
 */
import { type Attack, type AttackContext, demand, type Family, SECRET_MARK } from './family.ts'
import { exchange, type RawAnswer } from './raw-peer.ts'

/** One variant of a part, with its refusal's status. Undefined: it is valid. */
interface Part {
  readonly lines: readonly string[]
  readonly refused?: number
}

interface TokenPart extends Part {
  /** Whether credentials were sent. */
  readonly isSent: boolean
  /** Credentials other than a bearer token: the challenge then names no error (RFC 6750 section 3.1). */
  readonly isOtherScheme?: true
}

const GOOD_KEY = 'Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw=='
const GOOD_VERSION = 'Sec-WebSocket-Version: 13'

const PATHS = [
  { text: '/' },
  { text: '/' },
  { text: '/' },
  { text: '/?access_token=TOKEN&x=%zz' },
  { text: 'http://elsewhere.test/' },
  { text: 'http://elsewhere.test' },
  { text: '/stream', refused: 404 },
  { text: '//', refused: 404 },
  { text: '/%2f', refused: 404 },
  { text: '/..', refused: 404 },
  { text: '/__proto__', refused: 404 },
  { text: `/${'a'.repeat(5_000)}`, refused: 404 },
  { text: 'http://elsewhere.test/stream', refused: 404 },
]

/** Another resource, with its own response to requests other than WebSocket handshakes. */
const UPGRADE_PATHS = [...PATHS, { text: '/oauth2/token', refused: 404 }]

/** With any of these the request is not a WebSocket handshake. */
const NO_UPGRADES = [
  ['Connection: Upgrade'],
  ['Upgrade: websocket'],
  ['Connection: Upgrade', 'Upgrade: h2c'],
  ['Connection: keep-alive', 'Upgrade: websocket'],
  ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: websocket'],
  [],
]

const UPGRADES = [
  ['Connection: Upgrade', 'Upgrade: websocket'],
  ['Connection: keep-alive, Upgrade', 'Upgrade: WebSocket'],
  ['CONNECTION:UPGRADE', 'UPGRADE: \t websocket\t '],
]

const VERSIONS: readonly Part[] = [
  { lines: [GOOD_VERSION] },
  { lines: [GOOD_VERSION] },
  { lines: [GOOD_VERSION] },
  { lines: [], refused: 426 },
  { lines: ['Sec-WebSocket-Version: 8'], refused: 426 },
  { lines: ['Sec-WebSocket-Version: 013'], refused: 426 },
  { lines: ['Sec-WebSocket-Version: 13, 8'], refused: 426 },
  { lines: [GOOD_VERSION, GOOD_VERSION], refused: 426 },
  { lines: ['Sec-WebSocket-Version: 1e1'], refused: 426 },
]

const KEYS: readonly Part[] = [
  { lines: [GOOD_KEY] },
  { lines: [GOOD_KEY] },
  { lines: [GOOD_KEY] },
  { lines: [], refused: 400 },
  { lines: ['Sec-WebSocket-Key: '], refused: 400 },
  { lines: ['Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0O'], refused: 400 },
  { lines: [`Sec-WebSocket-Key: ${'A'.repeat(22)}=`], refused: 400 },
  { lines: [`Sec-WebSocket-Key: ${'A'.repeat(4_000)}==`], refused: 400 },
  { lines: [GOOD_KEY, GOOD_KEY], refused: 400 },
]

const PROTOCOLS: readonly (Part & { readonly selected?: string })[] = [
  { lines: [] },
  { lines: [] },
  { lines: ['Sec-WebSocket-Protocol: tidegate.default'], selected: 'tidegate.default' },
  { lines: ['Sec-WebSocket-Protocol: x, tidegate.v1'], selected: 'tidegate.v1' },
  { lines: ['Sec-WebSocket-Protocol: x', 'Sec-WebSocket-Protocol: tidegate.default'], selected: 'tidegate.default' },
  { lines: ['Sec-WebSocket-Protocol: constructor, __proto__'] },
  { lines: ['Sec-WebSocket-Protocol: '], refused: 400 },
  { lines: ['Sec-WebSocket-Protocol: a,,b'], refused: 400 },
  { lines: ['Sec-WebSocket-Protocol: a, a'], refused: 400 },
  { lines: ['Sec-WebSocket-Protocol: a b'], refused: 400 },
  { lines: ['Sec-WebSocket-Protocol: "tidegate.default"'], refused: 400 },
  { lines: [`Sec-WebSocket-Protocol: bearer.${SECRET_MARK}`], refused: 400 },
  {
    lines: [`Sec-WebSocket-Protocol: ${Array.from({ length: 3_000 }, (_, index) => `p${index}`).join()}`],
    refused: 400,
  },
]

/** Variants of the token, with the expected refusal. */
function tokenParts({ reader, scopeless, unlisted }: AttackContext): readonly TokenPart[] {
  const [head = '', claims = '', signature = ''] = reader.token.split('.')
  const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
  const bearer = (token: string, refused?: number): TokenPart => ({
    lines: [`Authorization: Bearer ${token}`],
    isSent: true,
    ...(refused === undefined ? {} : { refused }),
  })
  return [
    bearer(reader.token),
    bearer(reader.token),
    bearer(reader.token),
    { lines: [`authorization: bearer    ${reader.token}  `], isSent: true },
    { lines: [`Authorization: Bearer ${reader.token}`, `Authorization: Bearer ${SECRET_MARK}`], isSent: true },
    { lines: [], isSent: false, refused: 401 },
    bearer(SECRET_MARK, 401),
    bearer(`${SECRET_MARK}${'x'.repeat(100_000)}`, 401),
    bearer('..', 401),
    bearer(`${none}.${claims}.`, 401),
    bearer(`${none}.${claims}.${signature}`, 401),
    bearer(`${head}.${claims}.${[...signature].reverse().join('')}`, 401),
    bearer(`${head}.${Buffer.from(`{"sub":"${SECRET_MARK}"}`).toString('base64url')}.${signature}`, 401),
    {
      lines: [`Authorization: Basic ${Buffer.from(`a:${SECRET_MARK}`).toString('base64')}`],
      isSent: true,
      isOtherScheme: true,
      refused: 401,
    },
    { lines: ['Authorization: Bearer'], isSent: true, refused: 401 },
    { lines: [`Authorization: Bearer ${reader.token} ${reader.token}`], isSent: true, refused: 401 },
    bearer(scopeless.token, 403),
    bearer(unlisted.token, 403),
  ]
}

export const handshakes: Family = {
  name: 'handshakes',
  share: 0.14,
  async run(attack) {
    const { bytes, status, isErrorNamed, selected } = makeHandshake(attack)
    const answer = await exchange(attack.field.stream, bytes)
    checkAnswer(answer, status, bytes)
    if (status === 401) {
      const challenge = answer?.headers.get('www-authenticate') ?? ''
      demand(challenge.startsWith('Bearer'), true, `${challenge} for ${bytes}`)
      demand(challenge.includes('error="invalid_token"'), isErrorNamed, `${challenge} for ${bytes}`)
    }
    if (status === 101) demand(answer?.headers.get('sec-websocket-protocol'), selected, bytes)
    return 1
  },
}

function makeHandshake({ field, random }: Attack) {
  const isUpgrade = random.chance(0.85)
  const path = random.pick(isUpgrade ? UPGRADE_PATHS : PATHS)
  const method = isUpgrade && random.chance(0.1) ? random.pick(['POST', 'PUT', 'OPTIONS', 'HEAD']) : 'GET'
  const upgrade = random.pick(isUpgrade ? UPGRADES : NO_UPGRADES)
  const [version, key, protocol] = [random.pick(VERSIONS), random.pick(KEYS), random.pick(PROTOCOLS)]
  const token = random.pick(tokenParts(field))
  // A plain request with a token is checked for it, and a missing upgrade is reported last.
  const upgradeChecks = [
    version.refused,
    method === 'GET' ? undefined : 400,
    key.refused,
    protocol.refused,
    token.refused,
  ]
  const plainChecks = [token.isSent ? token.refused : undefined, 426]
  const checks = [path.refused, ...(isUpgrade ? upgradeChecks : plainChecks)]
  const status = checks.find((refused) => refused !== undefined) ?? 101
  const lines = [
    `${method} ${path.text.replace('TOKEN', field.reader.token)} HTTP/1.1`,
    'Host: tidegate.test',
    ...[...version.lines, ...key.lines, ...protocol.lines, ...token.lines, ...upgrade].sort(() => random.next() - 0.5),
  ]
  // The order of lines with the same name matters.
  const bytes = `${[...lines.slice(0, 2), ...stable(lines.slice(2), token.lines)].join('\r\n')}\r\n\r\n`
  return { bytes, status, isErrorNamed: token.isSent && token.isOtherScheme !== true, selected: protocol.selected }
}

/** The lines, with those of `kept` at the end in their own order. */
function stable(lines: readonly string[], kept: readonly string[]): string[] {
  return [...lines.filter((line) => !kept.includes(line)), ...kept]
}

/** Checks an HTTP response for this status. Every refusal is a problem document with the same status. */
export function checkAnswer(answer: RawAnswer | undefined, status: number, about: string): void {
  demand(answer?.status, status, `${answer?.body} for ${about}`)
  if (status === 101) return
  demand(answer?.headers.get('content-type'), 'application/problem+json; charset=utf-8', about)
  const problem = JSON.parse(answer?.body ?? '') as Readonly<Record<string, unknown>>
  demand(problem.status, status, about)
  demand(typeof problem.code, 'string', about)
  demand(problem.request_id, answer?.headers.get('x-request-id'), about)
  if (answer?.body.includes(SECRET_MARK)) throw new Error(`the answer repeats a secret: ${answer.body}`)
}
