/**
 * The requests of the stream: reads one text message, judges it in the fixed order (frame and JSON, object, `type`,
 * `channels`, entries), and builds the replies. Pure: it knows no socket and no subscription state; whether an entry
 * has an effect is decided by the session through `SubscriptionActions`.
 */
import { CHANNELS, type ChannelType, REQUEST_TYPES, type RequestType } from '../contract/channels.ts'
import { STREAM_ERRORS, type StreamErrorCode } from '../contract/stream-codes.ts'
import { entryEchoes } from './json-slices.ts'

/** A channel of one market, or the heartbeat (market is then empty). */
export interface ChannelKey {
  readonly type: ChannelType
  readonly market: string
}

/** Why an entry failed, with the sentence for the human who reads it. */
export interface EntryProblem {
  readonly error: StreamErrorCode
  readonly message: string
}

/** One entry of `channels`: its `type` and `params` as text, byte for byte as sent, and what it means. */
export interface RequestEntry {
  readonly echo: string
  readonly meaning: ChannelKey | EntryProblem
}

export type Request =
  | { readonly type: 'subscribe' | 'unsubscribe'; readonly entries: readonly RequestEntry[] }
  | { readonly type: 'subscription_list' }
  | { readonly type: 'error'; readonly error: StreamErrorCode; readonly message: string }

export function isProblem(meaning: ChannelKey | EntryProblem): meaning is EntryProblem {
  return 'error' in meaning
}

/** Judges one message. `isMarket` tells whether a symbol names a configured market. */
export function parseRequest(data: Buffer, isBinary: boolean, isMarket: (symbol: string) => boolean): Request {
  if (isBinary) return whole('MALFORMED_REQUEST', 'binary frames are not understood; send JSON text')
  const text = data.toString('utf8')
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    return whole('MALFORMED_REQUEST', 'the message is not valid JSON')
  }
  if (!isObject(request)) return whole('MALFORMED_REQUEST', 'the message is not a JSON object')
  const type = request.type
  if (!isRequestType(type)) {
    const found =
      type === undefined ? 'it is missing' : typeof type === 'string' ? 'it is unknown' : 'it is not a string'
    return whole('UNKNOWN_ACTION', `type must be one of ${REQUEST_TYPES.join(', ')}: ${found}`)
  }
  if (type === 'subscription_list') return { type }
  const channels = request.channels
  if (!Array.isArray(channels)) return whole('MALFORMED_REQUEST', 'channels must be an array of objects')
  if (channels.length === 0) return whole('MALFORMED_REQUEST', 'channels must not be empty')
  if (!channels.every(isObject)) return whole('MALFORMED_REQUEST', 'every entry of channels must be an object')
  const echoes = entryEchoes(text)
  return {
    type,
    entries: channels.map((sent, index) => ({ echo: echoes[index] as string, meaning: readEntry(sent, isMarket) })),
  }
}

function readEntry(
  sent: Readonly<Record<string, unknown>>,
  isMarket: (symbol: string) => boolean,
): ChannelKey | EntryProblem {
  const type = sent.type
  if (typeof type !== 'string') return problem('UNKNOWN_CHANNEL', 'the channel type must be a string')
  if (!Object.hasOwn(CHANNELS, type)) {
    return problem('UNKNOWN_CHANNEL', `the channel type must be one of ${Object.keys(CHANNELS).join(', ')}`)
  }
  const channel = type as ChannelType
  return CHANNELS[channel].perMarket
    ? readMarketParams(channel, sent.params, isMarket)
    : readHeartbeatParams(channel, sent.params)
}

function readMarketParams(
  type: ChannelType,
  params: unknown,
  isMarket: (symbol: string) => boolean,
): ChannelKey | EntryProblem {
  if (!isObject(params)) return paramsProblem('params must be an object with the member market')
  const unknown = Object.keys(params).find((name) => name !== 'market')
  if (unknown !== undefined) return paramsProblem(`params has the unknown member ${shown(unknown)}`)
  const market = Object.hasOwn(params, 'market') ? params.market : undefined
  if (typeof market !== 'string') return paramsProblem('params.market must be a string')
  if (!isMarket(market)) return paramsProblem(`params.market names no market: ${shown(market)}`)
  return { type, market }
}

function readHeartbeatParams(type: ChannelType, params: unknown): ChannelKey | EntryProblem {
  if (params === undefined || params === null) return { type, market: '' }
  if (!isObject(params)) return paramsProblem('params of heartbeat must be absent or empty')
  const member = Object.keys(params)[0]
  if (member !== undefined) return paramsProblem(`heartbeat takes no params: ${shown(member)}`)
  return { type, market: '' }
}

/** Longest piece of a client's text that a message repeats. */
const SHOWN_LENGTH_MAX = 40

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isRequestType(type: unknown): type is RequestType {
  return REQUEST_TYPES.includes(type as RequestType)
}

function whole(error: StreamErrorCode, message: string): Request {
  return { type: 'error', error, message }
}

function problem(error: StreamErrorCode, message: string): EntryProblem {
  return { error, message }
}

function paramsProblem(message: string): EntryProblem {
  return problem('UNKNOWN_CHANNEL_PARAMS_CONFIGURATION', message)
}

/** The reply to a request that failed as a whole. */
export function errorReply(error: StreamErrorCode, message: string): string {
  return JSON.stringify({ type: 'error', error, message })
}

/** The reply to what could not be answered because of a bug on our side. */
export function internalErrorReply(): string {
  return errorReply('INTERNAL_SERVER_ERROR', STREAM_ERRORS.INTERNAL_SERVER_ERROR)
}

/** The reply to subscribe or unsubscribe: each entry with the `type` and `params` that were sent, as they were sent. */
export function entriesReply(
  type: 'subscribe' | 'unsubscribe',
  outcomes: readonly { readonly echo: string; readonly problem: EntryProblem | undefined }[],
): string {
  const entries = outcomes.map(({ echo, problem: failure }) => {
    const outcome =
      failure === undefined
        ? '"success":true'
        : `"success":false,"error":"${failure.error}","message":${JSON.stringify(failure.message)}`
    return `{${echo}${echo === '' ? '' : ','}${outcome}}`
  })
  return `{"type":"${type}","channels":[${entries.join()}]}`
}

/** The reply to subscription_list. */
export function listReply(keys: readonly ChannelKey[]): string {
  const channels = keys.map(({ type, market }) => (market === '' ? { type } : { type, params: { market } }))
  return JSON.stringify({ type: 'subscription_list', channels })
}
