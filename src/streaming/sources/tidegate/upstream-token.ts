/**
 * The credentials for a `tidegate` feed: a token, or an OAuth client at another Tidegate, as text or in a file that is
 * read again for each connection. A token is needed for the handshake only, so each attempt requests a new one. Errors
 * contain no secret.
 */
import { STREAM_SCOPE } from '../../../contract/scopes.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { membersOf, parseJson } from '../../../platform/base/json-value.ts'
import { fileErrorText, readRegularFile } from '../../../platform/base/regular-file.ts'
import { withDeadline } from '../../../platform/base/time-limit.ts'
import type { Handshake } from '../venues/venue-connection.ts'

/** A secret, or the path to its file. */
export type SecretSource = { readonly text: string } | { readonly file: string }

export type UpstreamCredentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: SecretSource }
  | {
      readonly kind: 'client'
      readonly clientId: string
      readonly clientSecret: SecretSource
      /** The token endpoint's address without `/oauth2/token`. */
      readonly authUrl: string
    }

const SUBPROTOCOL = 'tidegate.v1'
const TOKEN_MILLISECONDS_MAX = 10_000
const ANSWER_BYTES_MAX = 65_536
const SECRET_BYTES_MAX = 65_536
/** Characters allowed in a header value. A token with others would be quoted in the rejection. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

/** The handshake with a valid token. Rejects with the reason why there is none. */
export async function prepareUpstreamHandshake(
  credentials: UpstreamCredentials,
  clock: Clock,
  signal: AbortSignal,
): Promise<Handshake> {
  if (credentials.kind === 'none') return { subprotocol: SUBPROTOCOL, headers: {} }
  const token =
    credentials.kind === 'token'
      ? readSecret(credentials.token, 'the token')
      : await requestToken(credentials, clock, signal)
  if (!HEADER_TEXT.test(token)) throw new Error('the token has characters not allowed in a header')
  return { subprotocol: SUBPROTOCOL, headers: { authorization: `Bearer ${token}` } }
}

function readSecret(source: SecretSource, what: string): string {
  if ('text' in source) return source.text
  try {
    // Editors and `echo` end files with a line break that does not belong to the secret.
    return readRegularFile(source.file, SECRET_BYTES_MAX)
      .toString('utf8')
      .replace(/\r?\n$/, '')
  } catch (error) {
    throw new Error(`the file of ${what}, ${source.file}, cannot be read: ${fileErrorText(error)}`)
  }
}

type ClientCredentials = Extract<UpstreamCredentials, { readonly kind: 'client' }>

async function requestToken(credentials: ClientCredentials, clock: Clock, stop: AbortSignal): Promise<string> {
  const { clientId, clientSecret, authUrl } = credentials
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: readSecret(clientSecret, 'the client secret'),
    scope: STREAM_SCOPE,
  })
  const url = `${authUrl}/oauth2/token`
  const late = () => new Error(`no token: ${url} did not answer within ${TOKEN_MILLISECONDS_MAX / 1000} s`)
  const deadline = { clock, milliseconds: TOKEN_MILLISECONDS_MAX, stop, late }
  const { status, text } = await withDeadline(deadline, (signal) => fetchAnswer(url, body, signal))
  const { access_token: token, error } = membersOf(parseJson(text))
  if (status === 200 && typeof token === 'string') return token
  // Only the code, which is from a short list: a description could repeat what was sent.
  const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : ''
  throw new Error(`no token: ${url} answered with ${status}${code}`)
}

async function fetchAnswer(url: string, body: URLSearchParams, signal: AbortSignal) {
  try {
    const response = await fetch(url, { method: 'POST', body, signal, redirect: 'error' })
    let bytes = 0
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      bytes += (chunk as Uint8Array).byteLength
      if (bytes > ANSWER_BYTES_MAX) throw new Error(`it answered with more than ${ANSWER_BYTES_MAX} bytes`)
      text += decoder.decode(chunk as Uint8Array, { stream: true })
    }
    return { status: response.status, text }
  } catch (error) {
    const { message, cause } = error as Error
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message
    throw new Error(`no token: ${url} cannot be reached: ${reason}`)
  }
}
