/**
 * Token requests and revocations with one or more defects in the parts that the endpoints check. Each part is chosen
 * independently, and the first defect, in the documented order, determines the response. Wrong credentials belong to
 * unknown clients, a new one each time, because guessing at one client has its own test. Revoked tokens are invalid, or
 * belong to other clients, which continue to use them.
 */
import type { Random } from '../support/random.ts'
import { type Attack, type Credentials, demand, type Family, PROTOTYPE_NAMES, SECRET_MARK } from './family.ts'
import { exchange } from './raw-peer.ts'

const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'
const BODY_BYTES_MAX = 65_536
const PARAMETERS_MAX = 100

interface Refusal {
  readonly status: number
  readonly error: string
}

type Parameter = readonly [name: string, value: string]

interface CredentialsPart {
  readonly parameters: readonly Parameter[]
  readonly authorization?: string
  readonly refused?: Refusal
}

const INVALID_REQUEST: Refusal = { status: 400, error: 'invalid_request' }
const INVALID_CLIENT: Refusal = { status: 401, error: 'invalid_client' }
const INVALID_SCOPE: Refusal = { status: 400, error: 'invalid_scope' }

export const tokenRequests: Family = {
  name: 'token requests',
  share: 0.07,
  async run(attack) {
    const { random } = attack
    const parts = [grantPart(random), scopePart(random)]
    const { answer, about } = await attempt(attack, '/oauth2/token', parts)
    if (answer.status === 200) demand(typeof JSON.parse(answer.body).access_token, 'string', about)
    return 1
  },
}

export const revocationRequests: Family = {
  name: 'revocation requests',
  share: 0.03,
  async run(attack) {
    const { answer, about } = await attempt(attack, '/oauth2/revoke', [revokedPart(attack)])
    if (answer.status === 200) demand(answer.body, '', about)
    return 1
  },
}

/** Sends one request to one of the two endpoints, and checks the properties common to all their responses. */
async function attempt(attack: Attack, path: string, parts: readonly ValuePart[]) {
  const { bytes, refused, isBasic } = makeRequest(attack, path, parts)
  const answer = await exchange(attack.field.stream, bytes)
  const about = `${answer?.status} ${answer?.body} for ${bytes.toString().slice(0, 1_200)}`
  if (answer === undefined) throw new Error(`no answer: ${about}`)
  demand(answer.status, refused?.status ?? 200, about)
  demand(answer.headers.get('cache-control'), 'no-store', about)
  if (refused !== undefined) {
    const body = JSON.parse(answer.body) as { error?: string; error_description?: string }
    demand(body.error, refused.error, about)
    demand(typeof body.error_description, 'string', about)
  }
  if (refused?.status === 401) {
    demand(answer.headers.get('www-authenticate')?.startsWith('Basic') ?? false, isBasic, about)
  }
  if (answer.body.includes(SECRET_MARK)) throw new Error(`the answer repeats a secret: ${about}`)
  return { answer, about }
}

function makeRequest(attack: Attack, path: string, parts: readonly ValuePart[]) {
  const { random } = attack
  const method = random.chance(0.05) ? random.pick(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) : 'POST'
  const credentials = credentialsPart(attack)
  const values = parts.flatMap((part) => part.parameters)
  const parameters = [...credentials.parameters, ...values, ...extras(random)]
  // Repeating an unknown parameter is refused too.
  const isRepeated = parameters.length > 0 && random.chance(0.06)
  if (isRepeated) parameters.push(random.pick(parameters))
  if (random.chance(0.3)) parameters.reverse()
  const body = bodyPart(random, parameters)
  const refusals = [
    method === 'POST' ? undefined : { status: 405, error: 'invalid_request' },
    body.refused,
    parameters.length > PARAMETERS_MAX ? INVALID_REQUEST : undefined,
    isRepeated ? INVALID_REQUEST : undefined,
    credentials.refused,
    ...parts.map((part) => part.refused),
  ]
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: tidegate.test',
    'Connection: close',
    ...(body.contentType === undefined ? [] : [`Content-Type: ${body.contentType}`]),
    ...(credentials.authorization === undefined ? [] : [`Authorization: ${credentials.authorization}`]),
    `Content-Length: ${body.bytes.length}`,
    '\r\n',
  ]
  return {
    bytes: Buffer.concat([Buffer.from(lines.join('\r\n')), body.bytes]),
    refused: refusals.find((refused) => refused !== undefined),
    isBasic: /^basic\b/i.test(credentials.authorization ?? ''),
  }
}

function credentialsPart({ field, random, serial }: Attack): CredentialsPart {
  const { clientId, clientSecret } = field.reader
  const right: Parameter[] = [
    ['client_id', clientId],
    ['client_secret', clientSecret],
  ]
  const wrong = `${SECRET_MARK}-${serial}`
  const bad = (id: string, secret: string): CredentialsPart => ({
    parameters: [
      ['client_id', id],
      ['client_secret', secret],
    ],
    refused: INVALID_CLIENT,
  })
  const badBasic = (authorization: string): CredentialsPart => ({
    parameters: [],
    authorization,
    refused: INVALID_CLIENT,
  })
  return random.pick<() => CredentialsPart>([
    () => ({ parameters: right }),
    () => ({ parameters: right }),
    () => ({ parameters: right }),
    () => ({ parameters: [], authorization: basic(field.reader) }),
    () => ({ parameters: [right[0] as Parameter], authorization: basic(field.reader) }),
    () => ({ parameters: right, authorization: basic(field.reader), refused: INVALID_REQUEST }),
    () => ({ parameters: [], refused: INVALID_CLIENT }),
    () => ({ parameters: [['client_id', clientId]], refused: INVALID_CLIENT }),
    () => ({ parameters: [['client_secret', wrong]], refused: INVALID_CLIENT }),
    () => bad(`nobody-${serial}`, wrong),
    () => bad(`${random.pick(PROTOTYPE_NAMES)}-${serial}`, wrong),
    () => bad(`nobody-${serial}\0\uFFFF`, wrong),
    () => bad(`nobody-${serial}`, `${wrong}${'x'.repeat(random.integer(80_000))}`),
    () => bad(`${'n'.repeat(40_000)}-${serial}`, wrong),
    () => badBasic('Basic'),
    () => badBasic('Basic !!!!'),
    () => badBasic(`Basic ${encoded(`nobody-${serial}:${wrong}`)}`),
    () => badBasic(`Basic ${encoded(`nobody-${serial}-without-a-colon-${SECRET_MARK}`)}`),
    () => badBasic(`Basic ${encoded(`nobody-${serial}%zz:${wrong}`)}`),
    () => badBasic(`Basic ${Buffer.from(`\xff\xfenobody-${serial}:\x80`, 'latin1').toString('base64')}`),
  ])()
}

function basic({ clientId, clientSecret }: Credentials): string {
  return `Basic ${encoded(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

interface ValuePart {
  readonly parameters: readonly Parameter[]
  readonly refused?: Refusal
}

function grantPart(random: Random): ValuePart {
  if (random.chance(0.75)) return { parameters: [['grant_type', 'client_credentials']] }
  if (random.chance(0.3)) return { parameters: random.pick([[], [['grant_type', '']]]), refused: INVALID_REQUEST }
  const wrong = ['password', 'CLIENT_CREDENTIALS', 'client_credentials ', 'client_credentials\0', ...PROTOTYPE_NAMES]
  return { parameters: [['grant_type', random.pick(wrong)]], refused: { status: 400, error: 'unsupported_grant_type' } }
}

function scopePart(random: Random): ValuePart {
  if (random.chance(0.7)) {
    return {
      parameters: [['scope', random.pick([STREAM_SCOPE, ` ${STREAM_SCOPE} `, `${STREAM_SCOPE} ${STREAM_SCOPE}`])]],
    }
  }
  const wrong = [
    ...PROTOTYPE_NAMES,
    ' ',
    'identity:read_account',
    `${STREAM_SCOPE} nothing`,
    STREAM_SCOPE.toUpperCase(),
    `${STREAM_SCOPE}\t`,
    'a '.repeat(20_000),
    '"\\\u0000é𝄞',
  ]
  return { parameters: random.chance(0.1) ? [] : [['scope', random.pick(wrong)]], refused: INVALID_SCOPE }
}

/** An invalid or foreign token's revocation is answered as if it had been revoked. */
function revokedPart({ field, random, serial }: Attack): ValuePart {
  if (random.chance(0.1)) return { parameters: random.pick([[], [['token', '']]]), refused: INVALID_REQUEST }
  const [head = '', payload = '', signature = ''] = field.reader.token.split('.')
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
  const token = random.pick([
    field.scopeless.token,
    field.unlisted.token,
    `${head}.${payload}.${signature.slice(1)}${signature[0]}`,
    `${head}.${payload}`,
    unsigned,
    `${SECRET_MARK}-${serial}`,
    `${head}.${'e'.repeat(random.integer(60_000))}.${signature}`,
    '..',
    '\0\uFFFF𝄞',
    ...PROTOTYPE_NAMES,
  ])
  const hint = random.pick<readonly Parameter[]>([
    [],
    [['token_type_hint', 'access_token']],
    [['token_type_hint', random.pick(PROTOTYPE_NAMES)]],
  ])
  return { parameters: [['token', token], ...hint] }
}

/** Unknown parameters are ignored, unless they are too many. */
function extras(random: Random): Parameter[] {
  const count = random.chance(0.02) ? 1_000 : random.integer(3)
  return Array.from({ length: count }, (_, index) => [
    `${random.pick(PROTOTYPE_NAMES)}${index}`,
    'x'.repeat(random.integer(40)),
  ])
}

const BOUNDARY = 'boundary-of-the-test'

interface BodyPart {
  readonly bytes: Buffer
  readonly contentType?: string
  readonly refused?: Refusal
}

function bodyPart(random: Random, parameters: readonly Parameter[]): BodyPart {
  const part = formPart(random, parameters)
  if (part.refused?.status === 415 || part.bytes.length <= BODY_BYTES_MAX) return part
  return { ...part, refused: { status: 413, error: 'invalid_request' } }
}

function formPart(random: Random, parameters: readonly Parameter[]): BodyPart {
  const form = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString()
  const bytes = Buffer.from(form)
  const contentType = random.pick([
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-Urlencoded; charset=utf-8',
  ])
  const choice = random.integer(20)
  if (choice === 0) {
    const wrong = [
      'application/json',
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencode',
      '*/*',
      ';',
      '__proto__',
    ]
    return { bytes, contentType: random.pick(wrong), refused: { status: 415, error: 'invalid_request' } }
  }
  if (choice === 1) {
    // One byte over the limit, or exactly at it: empty parameters are ignored.
    const padding = BODY_BYTES_MAX + random.integer(2) - bytes.length
    return { bytes: Buffer.concat([bytes, Buffer.alloc(Math.max(padding, 0), '&')]), contentType }
  }
  if (choice === 2) {
    const type = random.pick(['multipart/form-data', `multipart/form-data; boundary=${BOUNDARY}`])
    return { bytes: Buffer.from(`--${BOUNDARY}\r\ngarbage`), contentType: type, refused: INVALID_REQUEST }
  }
  if (choice <= 5 && parameters.every(([, value]) => !value.includes('\0'))) {
    return { bytes: multipart(parameters), contentType: `multipart/form-data; boundary=${BOUNDARY}` }
  }
  return { bytes, contentType }
}

function multipart(parameters: readonly Parameter[]): Buffer {
  const parts = parameters.map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`)
}
