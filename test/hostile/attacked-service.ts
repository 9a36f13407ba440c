/** One built service process under attack, with the clients that attacks need, and a list of its secrets. */
import { STREAM_SCOPE as READ_STREAM } from '../../src/contract/scopes.ts'
import {
  type Flags,
  market,
  type OperatorApi,
  type ServiceProcess,
  startServiceProcess,
} from '../support/running-service.ts'
import { type AttackContext, type Credentials, SECRET_MARK } from './family.ts'
import { exchange, type RawAnswer, type Target, targetOf } from './raw-peer.ts'

const OTHER_SCOPE = 'identity:read_account'
const BASES = ['BTC', 'ETH', 'SOL', 'LTC']
const SUBSCRIPTIONS_MAX = 9
const INBOUND_BYTES_MAX = 65_536
const TOKENS_A_SECOND = 1_000
const HEADER_BYTES_MAX = 524_288

/** The attacks' peers answer no ping: their connections last this long unless something else ends them. */
const SILENCE_SECONDS = 10

export interface AttackedService {
  readonly service: ServiceProcess
  readonly field: AttackContext
  /** Every secret that must never be written, by description. */
  readonly secrets: ReadonlyMap<string, string>
}

/** @param certificate the public listener's, to be trusted; absent: it does not use TLS */
export async function startAttackedService(
  folder: string,
  flags: Flags = {},
  certificate?: string,
): Promise<AttackedService> {
  const service = await startServiceProcess('serve', folder, {
    markets: JSON.stringify(BASES.map((base) => market(base, 2, 25))),
    'log.level': 'debug',
    'stream.subscriptions_max': SUBSCRIPTIONS_MAX,
    // All attacks come from one address.
    'auth.token_rate_per_second': TOKENS_A_SECOND,
    'stream.ping_seconds': 1,
    'stream.silence_seconds': SILENCE_SECONDS,
    ...flags,
  })
  const { operator } = service
  const stream = targetOf(service.http, certificate)
  const reader = await newCustomer(operator, stream, true, READ_STREAM)
  const scopeless = await newCustomer(operator, stream, true, OTHER_SCOPE)
  const unlisted = await newCustomer(operator, stream, false, READ_STREAM)
  const field: AttackContext = {
    stream,
    operator: targetOf(operator.url),
    operatorToken: operator.token,
    markets: BASES.map((base) => `${base}USD`),
    subscriptionsMax: SUBSCRIPTIONS_MAX,
    inboundBytesMax: INBOUND_BYTES_MAX,
    headerBytesMax: HEADER_BYTES_MAX,
    reader,
    scopeless,
    unlisted,
  }
  const secrets = new Map([
    ['what attacks invent as secrets', SECRET_MARK],
    ['operator token', operator.token],
  ])
  for (const [name, { clientId, clientSecret, token }] of Object.entries({ reader, scopeless, unlisted })) {
    secrets.set(`secret of ${name}`, clientSecret)
    secrets.set(`basic credentials of ${name}`, Buffer.from(`${clientId}:${clientSecret}`).toString('base64'))
    secrets.set(`signature of the token of ${name}`, token.slice(token.lastIndexOf('.') + 1))
    secrets.set(`claims of the token of ${name}`, token.split('.')[1] as string)
  }
  return { service, field, secrets }
}

/** Creates a customer with one client, and a token for all that client's scopes, which are separated by spaces. */
export async function newCustomer(
  operator: OperatorApi,
  stream: Target,
  streaming: boolean,
  scopes: string,
): Promise<Credentials & { readonly customerId: string }> {
  const name = `customer ${process.hrtime.bigint()}`
  const { id: customerId } = await operator.call<{ id: string }>('POST', '/customers', { name, streaming })
  const { client_id: clientId, client_secret: clientSecret } = await operator.call<{
    client_id: string
    client_secret: string
  }>('POST', `/customers/${customerId}/clients`, { name: 'client', scopes: scopes.split(' ') })
  const answer = await askForToken(stream, { clientId, clientSecret }, scopes)
  const { access_token: token } = JSON.parse(answer.body) as { access_token: string }
  return { customerId, clientId, clientSecret, token }
}

/** Requests a token over its own connection. */
export async function askForToken(
  target: Target,
  { clientId, clientSecret }: Omit<Credentials, 'token'>,
  scope: string,
): Promise<RawAnswer> {
  const parameters = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
  const form = new URLSearchParams(parameters).toString()
  const lines = [
    'POST /oauth2/token HTTP/1.1',
    'Host: tidegate.test',
    'Connection: close',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
  ]
  const answer = await exchange(target, `${lines.join('\r\n')}\r\n\r\n${form}`)
  if (answer === undefined) throw new Error('a token request was not answered')
  return answer
}

/** Stops the service. Returns the problems with its end and its output, secrets above all. */
export async function stopAttackedService({ service, secrets }: AttackedService): Promise<string[]> {
  const metrics = await service.operator.metricsText()
  const { code, stdout, stderr } = await service.stop()
  const errors = stderr.split('\n').filter((line) => line !== '' && JSON.parse(line).level === 'error')
  const written = stdout + stderr + metrics
  return [
    ...(code === 0 ? [] : [`it ended with ${code}`]),
    ...(stderr.length > 0 ? [] : ['it logged nothing']),
    ...errors.map((line) => `an error in its log: ${line}`),
    ...[...secrets].filter(([, secret]) => written.includes(secret)).map(([name]) => `it wrote a secret: ${name}`),
  ]
}
