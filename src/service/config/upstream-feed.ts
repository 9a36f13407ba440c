/**
 * A feed of the kind `tidegate` as an operator configures it: a publisher's address and the credentials for it. Secrets
 * are never quoted in a problem, and are masked where the configuration is shown.
 */
import type { JsonObject } from '../../platform/base/json-value.ts'
import { nearest } from '../../platform/base/nearest.ts'
import type { Upstream } from '../../streaming/sources/tidegate/tidegate-source.ts'
import type { SecretSource, UpstreamCredentials } from '../../streaming/sources/tidegate/upstream-token.ts'
import { type Problem, url } from './setting-kinds.ts'

const MEMBERS = [
  'kind',
  'url',
  'token',
  'token_file',
  'client_id',
  'client_secret',
  'client_secret_file',
  'auth_url',
] as const
type Member = (typeof MEMBERS)[number]

const MASK = '********'
const SECRET_CHARACTERS_MAX = 16_384
/** Characters in a header's value. */
const SECRET = /^[\x21-\x7e]+$/
const PATH = /^[^\0]{1,4096}$/
const CLIENT_ID = /^[\x21-\x7e]{1,256}$/
const LOOPBACK = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/

const ADDRESS = url({ initial: '', meaning: '', schemes: ['wss', 'ws'] })
const AUTH_ADDRESS = url({ initial: '', meaning: '', schemes: ['https', 'http'] })

/** Parses an entry. Problems are added to `problems`. Undefined when it has any. */
export function readUpstreamFeed(entry: JsonObject, path: string, problems: Problem[]): Upstream | undefined {
  const before = problems.length
  const note = (member: string, message: string): void => void problems.push({ path: `${path}.${member}`, message })
  for (const member of Object.keys(entry)) {
    if ((MEMBERS as readonly string[]).includes(member)) continue
    const meant = nearest(member, MEMBERS)
    note(member, meant === undefined ? 'is unknown' : `is unknown; did you mean ${meant}?`)
  }
  if (entry.url === undefined) note('url', 'is missing. Set it to the publisher’s address')
  const address = entry.url === undefined ? '' : readAddress(ADDRESS, entry.url, 'url', note)
  const has = (member: Member): boolean => entry[member] !== undefined
  const only = (member: Member, other: Member): void => {
    if (has(member) && has(other)) note(member, `is given beside ${other}, but only one may identify this client`)
  }
  only('token', 'token_file')
  only('client_secret', 'client_secret_file')
  only('client_id', has('token') ? 'token' : 'token_file')
  const hasSecret = has('client_secret') || has('client_secret_file')
  if (has('client_id') && !hasSecret) note('client_id', 'has no client_secret or client_secret_file')
  for (const member of ['client_secret', 'client_secret_file', 'auth_url'] as const) {
    if (has(member) && !has('client_id')) note(member, 'is given without client_id')
  }
  const token = readSecret(entry, 'token', 'token_file', note)
  const clientSecret = readSecret(entry, 'client_secret', 'client_secret_file', note)
  const clientId = entry.client_id
  if (has('client_id') && (typeof clientId !== 'string' || !CLIENT_ID.test(clientId))) {
    note('client_id', 'is not 1 to 256 printable characters without blanks')
  }
  const authUrl =
    entry.auth_url === undefined ? defaultAuthUrl(address) : readAddress(AUTH_ADDRESS, entry.auth_url, 'auth_url', note)
  if (problems.length > before) return undefined
  return { url: address, credentials: credentialsOf(token, clientId, clientSecret, authUrl) }
}

/** As in a configuration file, with secrets masked. */
export function showUpstreamFeed({ url: address, credentials }: Upstream): JsonObject {
  const secret = (member: string, source: SecretSource) =>
    'file' in source ? { [`${member}_file`]: source.file } : { [member]: MASK }
  const shown = { kind: 'tidegate', url: address }
  switch (credentials.kind) {
    case 'none':
      return shown
    case 'token':
      return { ...shown, ...secret('token', credentials.token) }
    case 'client': {
      const { clientId, clientSecret, authUrl } = credentials
      return { ...shown, client_id: clientId, ...secret('client_secret', clientSecret), auth_url: authUrl }
    }
  }
}

/** A feed that sends its secret over a connection readable to others. Undefined when it is protected, or local. */
export function upstreamTransportProblem(name: string, { url: address, credentials }: Upstream): string | undefined {
  if (credentials.kind === 'none') return undefined
  const plain = [address, ...(credentials.kind === 'client' ? [credentials.authUrl] : [])].find(
    (one) => /^(ws|http):/.test(one) && !isLoopback(one),
  )
  if (plain === undefined) return undefined
  const { protocol, host } = new URL(plain)
  const secure = protocol === 'ws:' ? 'wss' : 'https'
  return `feeds.${name} sends a secret over ${protocol}//: others can read it on the way to ${host}; use ${secure}`
}

function credentialsOf(
  token: SecretSource | undefined,
  clientId: unknown,
  clientSecret: SecretSource | undefined,
  authUrl: string,
): UpstreamCredentials {
  if (token !== undefined) return { kind: 'token', token }
  if (typeof clientId !== 'string' || clientSecret === undefined) return { kind: 'none' }
  return { kind: 'client', clientId, clientSecret, authUrl }
}

/** The publisher's origin, over TLS unless it is on this machine without it. */
function defaultAuthUrl(address: string): string {
  if (address === '') return ''
  const { protocol, host } = new URL(address)
  return `${protocol === 'ws:' && isLoopback(address) ? 'http' : 'https'}://${host}`
}

function isLoopback(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname)
}

function readAddress(
  setting: typeof ADDRESS,
  value: unknown,
  member: Member,
  note: (member: string, message: string) => void,
): string {
  const reading = setting.read(value)
  if ('value' in reading) return reading.value
  for (const { message } of reading.problems) note(member, message)
  return ''
}

function readSecret(
  entry: JsonObject,
  member: Member,
  fileMember: Member,
  note: (member: string, message: string) => void,
): SecretSource | undefined {
  const { [member]: text, [fileMember]: file } = entry
  if (text !== undefined) {
    const fits = typeof text === 'string' && text.length <= SECRET_CHARACTERS_MAX && SECRET.test(text)
    if (fits) return { text }
    note(member, `is not 1 to ${SECRET_CHARACTERS_MAX} printable characters without blanks`)
  }
  if (file === undefined) return undefined
  if (typeof file === 'string' && PATH.test(file)) return { file }
  note(fileMember, 'is not a file path')
  return undefined
}
