/**
 * Sends one webhook request, and returns the complete answer or the reason why there is none. It follows no redirect, does
 * not retry, bounds the answer's time and size, and connects only to checked addresses. A reason contains no credentials and
 * no text from the peer.
 */
import { lookup as resolveName } from 'node:dns/promises'
import { type Agent, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { addressesFault, isLoopbackHost } from './addresses.ts'

/** From name resolution to the answer's last byte. */
const REQUEST_MILLISECONDS_MAX = 10_000
const ANSWER_BYTES_MAX = 65_536
/** Read of a discarded answer, so its connection can be used again. Its connection ends when it is longer. */
const DISCARDED_BYTES_MAX = 4_096

export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether private and special addresses are accepted. */
  readonly allowPrivate: boolean
  /**
   * The address is a customer's, and not the operator's: this machine is private too, plain HTTP is allowed with private
   * addresses alone, and the answer's body is discarded.
   */
  readonly isCustomers?: true
  /** Keeps connections for the next requests to the same URL. Absent: each request has its own connection. */
  readonly agent?: Agent
}

export type WebhookReply =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** Resolves a name to its addresses. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

export interface RequestTools {
  readonly clock: Clock
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** A reason, found by this file itself, why there is no complete answer. */
class RequestFault extends Error {
  override name = 'RequestFault'
}

export async function postWebhook(
  request: WebhookRequest,
  { clock, resolve = resolveByMachine }: RequestTools,
): Promise<WebhookReply> {
  const ending = new AbortController()
  try {
    const replied = exchange(request, resolve, ending.signal)
    return await withTimeLimit(clock, REQUEST_MILLISECONDS_MAX, replied, () => {
      throw new RequestFault(`no complete answer within ${REQUEST_MILLISECONDS_MAX / 1000} seconds`)
    })
  } catch (error) {
    // Ends the connection. One whose answer is complete ends by itself, or is kept.
    ending.abort()
    if (error instanceof RequestFault) return { kind: 'failed', reason: error.message }
    return { kind: 'failed', reason: `the connection failed: ${codeOf(error)}` }
  }
}

async function exchange(
  { url: text, headers, body, allowPrivate, isCustomers, agent }: WebhookRequest,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<WebhookReply> {
  const url = new URL(text)
  refuseUrl(url, allowPrivate, isCustomers)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  const fault = addressesFault(url, addresses, allowPrivate)
  if (fault !== undefined) throw new RequestFault(fault)
  const bytes = Buffer.from(body)
  const options = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      'user-agent': 'tidegate',
      accept: 'application/json',
      ...headers,
    },
    agent: agent ?? false,
    lookup: lookupAmong(addresses),
    signal,
  } as const
  const response = await answerTo(url, options, bytes)
  const status = response.statusCode ?? 0
  if (isCustomers) {
    await discard(response)
    return { kind: 'answered', status, body: '' }
  }
  if (status >= 200 && status < 300) return { kind: 'answered', status, body: await bodyOf(response) }
  response.on('error', () => undefined)
  response.destroy()
  return { kind: 'answered', status, body: '' }
}

/** The answer's head. A kept connection that the peer has closed meanwhile is replaced by a new one. */
function answerTo(url: URL, options: RequestOptions, bytes: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isPlain = url.protocol === 'http:'
    const outgoing = isPlain ? requestHttp(url, options) : requestHttps(url, { ...options, rejectUnauthorized: true })
    outgoing.on('response', resolve)
    outgoing.on('error', (error) => {
      if (!outgoing.reusedSocket || codeOf(error) !== 'ECONNRESET') reject(error)
      else answerTo(url, { ...options, agent: false }, bytes).then(resolve, reject)
    })
    outgoing.end(bytes)
  })
}

/** The status alone counts: neither a long body nor one that breaks off changes it. */
async function discard(response: IncomingMessage): Promise<void> {
  let size = 0
  response.on('data', (part: Buffer) => {
    size += part.length
    if (size > DISCARDED_BYTES_MAX) response.destroy()
  })
  response.on('error', () => undefined)
  await new Promise<void>((resolve) => response.on('close', resolve))
}

function refuseUrl(url: URL, allowPrivate: boolean, isCustomers = false): void {
  const isPlain = url.protocol === 'http:'
  const isLoopback = isLoopbackHost(url)
  if (!isCustomers && isPlain && !isLoopback) throw new RequestFault('plain HTTP is allowed only to this machine')
  if (!isCustomers || allowPrivate) return
  if (isPlain) throw new RequestFault('plain HTTP is not allowed')
  if (isLoopback) throw new RequestFault('the address is not public')
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      size += part.length
      if (size > ANSWER_BYTES_MAX) throw new RequestFault(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`)
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof RequestFault) throw error
    throw new RequestFault('the answer was cut off')
  }
  if (!response.complete) throw new RequestFault('the answer was cut off')
  return Buffer.concat(parts).toString('utf8')
}

/** A lookup function that returns the checked addresses and does not resolve the name again. */
function lookupAmong(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const [first] = entries
    if (options.all === true) callback(null, entries)
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** The operating system's resolver. */
export async function resolveByMachine(hostname: string): Promise<readonly string[]> {
  const found = await resolveName(hostname, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/** The error code from the system or the TLS library. Its message is not used, because it could contain the peer's text. */
function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null | undefined)?.code ?? 'unknown error'
}
