/**
 * The stream's requests: parses one text message, validates it in a fixed order (frame and JSON, object, `type`,
 * `channels`, entries), and builds the replies. Pure. It knows no subscriptions: `requests` decides whether an entry
 * has an effect. A reply to subscribe or unsubscribe is bounded by its request: twice the bytes in each entry and 220
 * more, for up to `entriesMax` entries, and once the market list.
 */
import { type HeldPlans, includesMarket } from '../../access/clients/plans/plan.ts'
import {
  CHANNELS,
  type ChannelType,
  channelsOf,
  EXTENDED_DEPTHS,
  EXTENDED_INTERVALS,
  REQUEST_TYPES,
  type RequestType,
} from '../../contract/channels.ts'
import { STREAM_ERRORS, type StreamErrorCode } from '../../contract/stream-codes.ts'
import { elementTexts, memberTexts } from '../../platform/base/json-text.ts'
import { isObject } from '../../platform/base/json-value.ts'
import type { ChannelParams } from './subscription.ts'

/** One market's channel, or a channel without one (its market is empty), with the extended protocol's params. */
export interface ChannelKey extends ChannelParams {
  readonly type: ChannelType
  readonly market: string
  /** For events: the sequence to begin after. Undefined: the customer's last one. */
  readonly after?: bigint | undefined
}

/** The markets and limits for validating a request. */
export interface RequestRules {
  /** Whether a symbol names a market on this node. */
  isMarket(symbol: string): boolean
  /** The result of `marketListText` for the client's plans. */
  marketList(): string
  /** Maximum elements in one message's `channels`. */
  readonly entriesMax: number
  /** Only with the extended protocol. */
  readonly extended: ExtendedRules | undefined
}

/** Limits for the extended protocol's params. */
export interface ExtendedRules {
  /** Levels per side that a market publishes; 0 = all. */
  publishedDepth(market: string): number
}

/** Why an entry failed: the code, and a message for people. */
export interface EntryProblem {
  readonly error: StreamErrorCode
  readonly message: string
  /** With `events_expired`. */
  readonly oldestSequence?: bigint
}

/** One entry in `channels`: its `type` and `params` as text, byte for byte as sent, and its meaning. */
export interface RequestEntry {
  readonly echo: string
  readonly meaning: ChannelKey | EntryProblem
}

export type Request =
  | { readonly type: 'subscribe' | 'unsubscribe'; readonly entries: readonly RequestEntry[] }
  | { readonly type: 'subscription_list' }
  | {
      readonly type: 'error'
      readonly error: StreamErrorCode
      readonly message: string
      /** Elements in `channels`, which cost rate although the request fails. */
      readonly entryCount: number
    }

export function isProblem(meaning: ChannelKey | EntryProblem): meaning is EntryProblem {
  return 'error' in meaning
}

/** Identifies a subscription: a connection can have one with this name. */
export function keyName({ type, market }: ChannelKey): string {
  return `${type} ${market}`
}

/** The outcome for an entry that would change nothing. */
export function noEffect(message: string): Pick<EntryOutcome, 'problem'> {
  return { problem: { error: 'NO_EFFECT_ACTION', message } }
}

/** Maximum names in `marketListText`: enough to recognise a misspelt one. */
const LISTED_MARKETS_MAX = 20

/**
 * A market list with bounded length, for the message about an unknown one. Markets outside the plans are not listed.
 * @param sorted all symbols, in alphabetical order
 */
export function marketListText(sorted: readonly string[], plans: HeldPlans): string {
  if (sorted.length === 0) return 'there are no markets'
  const included = sorted.filter((symbol) => includesMarket(plans, symbol))
  if (included.length === 0) return 'the plan includes no market on this node'
  const more = included.length - LISTED_MARKETS_MAX
  return `the markets are ${included.slice(0, LISTED_MARKETS_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Parses and validates one message. */
export function parseRequest(data: Buffer, isBinary: boolean, rules: RequestRules): Request {
  if (isBinary) return whole('MALFORMED_REQUEST', 'binary frames are not supported: send JSON text')
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
  const { length } = channels
  if (length === 0) return whole('MALFORMED_REQUEST', 'channels must not be empty')
  if (length > rules.entriesMax) {
    const message = `channels has ${length} entries; ${rules.entriesMax} are the most in one message`
    return whole('MALFORMED_REQUEST', message, length)
  }
  if (!channels.every(isObject)) return whole('MALFORMED_REQUEST', 'every entry of channels must be an object', length)
  const echoes = entryEchoes(text)
  const checkMarket = checkMarkets(rules)
  return {
    type,
    entries: channels.map((sent, index) => {
      return { echo: echoes[index] as string, meaning: readEntry(sent, checkMarket, rules.extended) }
    }),
  }
}

/** The text `"type":…,"params":…` (each only when sent) for every entry in the request's `channels`. */
function entryEchoes(request: string): string[] {
  const channels = memberTexts(request).get('channels') as string
  return elementTexts(channels).map((entry) => {
    const members = memberTexts(entry)
    const parts: string[] = []
    for (const name of ['type', 'params']) {
      const value = members.get(name)
      if (value !== undefined) parts.push(`"${name}":${value}`)
    }
    return parts.join()
  })
}

/** Why a symbol is rejected. Undefined when it names a market. */
type CheckMarket = (symbol: string) => EntryProblem | undefined

/** For one request. Only the first unknown market is answered with the list, which would otherwise multiply the reply. */
function checkMarkets({ isMarket, marketList }: RequestRules): CheckMarket {
  let isListed = false
  return (symbol) => {
    if (isMarket(symbol)) return undefined
    const list = isListed ? '' : `; ${marketList()}`
    isListed = true
    return paramsProblem(`params.market names no market: ${shown(symbol)}${list}`)
  }
}

function readEntry(
  sent: Readonly<Record<string, unknown>>,
  checkMarket: CheckMarket,
  extended: ExtendedRules | undefined,
): ChannelKey | EntryProblem {
  const type = sent.type
  if (typeof type !== 'string') return problem('UNKNOWN_CHANNEL', 'the channel type must be a string')
  const channels = channelsOf(extended !== undefined)
  const channel = type as ChannelType
  if (!channels.includes(channel)) {
    return problem('UNKNOWN_CHANNEL', `the channel type must be one of ${channels.join(', ')}`)
  }
  if (CHANNELS[channel].perMarket) return readMarketParams(channel, sent.params, checkMarket, extended)
  return channel === 'events' ? readEventParams(sent.params) : readHeartbeatParams(channel, sent.params)
}

function readMarketParams(
  type: ChannelType,
  params: unknown,
  checkMarket: CheckMarket,
  extended: ExtendedRules | undefined,
): ChannelKey | EntryProblem {
  if (!isObject(params)) return paramsProblem('params must be an object with the member market')
  const known: readonly string[] = extended === undefined ? [] : CHANNELS[type].extendedParams
  const unknown = Object.keys(params).find((name) => name !== 'market' && !known.includes(name))
  if (unknown !== undefined) return paramsProblem(`params has the unknown member ${shown(unknown)}`)
  const market = Object.hasOwn(params, 'market') ? params.market : undefined
  if (typeof market !== 'string') return paramsProblem('params.market must be a string')
  const unknownMarket = checkMarket(market)
  if (unknownMarket !== undefined) return unknownMarket
  if (extended === undefined) return { type, market }
  const more = readExtendedParams(params, extended.publishedDepth(market))
  return 'error' in more ? more : { type, market, ...more }
}

/** The extended protocol's params besides market. Params that the channel does not have were rejected before. */
function readExtendedParams(
  params: Readonly<Record<string, unknown>>,
  publishedDepth: number,
): ChannelParams | EntryProblem {
  const { depth, interval_ms: interval, attribution, resume } = params
  if (depth !== undefined) {
    if (!isOneOf(EXTENDED_DEPTHS, depth)) {
      return paramsProblem(`params.depth must be one of ${EXTENDED_DEPTHS.join(', ')}`)
    }
    if (publishedDepth !== 0 && depth > publishedDepth) {
      return paramsProblem(`params.depth must not be above the ${publishedDepth} levels that the market publishes`)
    }
  }
  if (interval !== undefined && !isOneOf(EXTENDED_INTERVALS, interval)) {
    return paramsProblem(`params.interval_ms must be one of ${EXTENDED_INTERVALS.join(', ')}`)
  }
  if (attribution !== undefined && typeof attribution !== 'boolean') {
    return paramsProblem('params.attribution must be true or false')
  }
  if (resume !== undefined && typeof resume !== 'string') return paramsProblem('params.resume must be a string')
  return { depth, intervalMilliseconds: interval, attribution, resume }
}

function isOneOf(allowed: readonly number[], value: unknown): value is number {
  return typeof value === 'number' && allowed.includes(value)
}

function readHeartbeatParams(type: ChannelType, params: unknown): ChannelKey | EntryProblem {
  if (params === undefined || params === null) return { type, market: '' }
  if (!isObject(params)) return paramsProblem('params of heartbeat must be absent or empty')
  const member = Object.keys(params)[0]
  if (member !== undefined) return paramsProblem(`heartbeat takes no params: ${shown(member)}`)
  return { type, market: '' }
}

function readEventParams(params: unknown): ChannelKey | EntryProblem {
  const key = { type: 'events', market: '' } as const
  if (params === undefined || params === null) return key
  if (!isObject(params)) return paramsProblem('params must be an object, or absent')
  const unknown = Object.keys(params).find((name) => name !== 'after')
  if (unknown !== undefined) return paramsProblem(`params has the unknown member ${shown(unknown)}`)
  const { after } = params
  if (after === undefined) return key
  if (typeof after === 'number' && Number.isSafeInteger(after) && after >= 0) return { ...key, after: BigInt(after) }
  return paramsProblem('params.after must be a sequence: a whole number from 0 on')
}

/** Longest client text repeated in a message. */
const SHOWN_LENGTH_MAX = 40

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
}

function isRequestType(type: unknown): type is RequestType {
  return REQUEST_TYPES.includes(type as RequestType)
}

function whole(error: StreamErrorCode, message: string, entryCount = 0): Request {
  return { type: 'error', error, message, entryCount }
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

/** The reply to a request that failed because of a server bug. */
export function internalErrorReply(): string {
  return errorReply('INTERNAL_SERVER_ERROR', STREAM_ERRORS.INTERNAL_SERVER_ERROR)
}

/** One entry's outcome. */
export interface EntryOutcome {
  readonly echo: string
  readonly problem: EntryProblem | undefined
  /** Whether the channel continues from the cursor in `resume`. Undefined when the reply does not say. */
  readonly resumed?: boolean | undefined
  /** For events without `after`: the sequence after which they begin. */
  readonly lastSequence?: bigint | undefined
  /** The params in place of the requested ones, by a plan. Undefined when the reply does not say. */
  readonly served?: Pick<ChannelParams, 'depth' | 'intervalMilliseconds'> | undefined
}

/** The reply to subscribe or unsubscribe: each entry with its `type` and `params` as they were sent. */
export function entriesReply(type: 'subscribe' | 'unsubscribe', outcomes: readonly EntryOutcome[]): string {
  const entries = outcomes.map(({ echo, problem: failure, resumed, lastSequence, served }) => {
    const begins = lastSequence === undefined ? '' : `,"last_sequence":${lastSequence}`
    const outcome =
      failure === undefined
        ? `"success":true${resumed === undefined ? '' : `,"resumed":${resumed}`}${begins}${servedMember(served)}`
        : `"success":false,${problemMembers(failure)}`
    return `{${echo}${echo === '' ? '' : ','}${outcome}}`
  })
  return `{"type":"${type}","channels":[${entries.join()}]}`
}

function servedMember(served: EntryOutcome['served']): string {
  if (served === undefined) return ''
  return `,"served":${JSON.stringify({ depth: served.depth, interval_ms: served.intervalMilliseconds })}`
}

function problemMembers({ error, message, oldestSequence }: EntryProblem): string {
  const oldest = oldestSequence === undefined ? '' : `,"oldest_sequence":${oldestSequence}`
  return `"error":"${error}","message":${JSON.stringify(message)}${oldest}`
}

/** The reply to subscription_list. */
export function listReply(keys: readonly ChannelKey[]): string {
  return JSON.stringify({ type: 'subscription_list', channels: keys.map(entryOf) })
}

/** Why the server ended a market's subscriptions. */
export type MarketEnd = 'removed' | 'changed'

const END_MESSAGES: Readonly<Record<MarketEnd, string>> = {
  removed: 'the market was removed: it is no longer served',
  changed: 'the market was changed: subscribe again',
}

/** A subscription that the server ended, and why. */
export interface EndedChannel {
  readonly key: ChannelKey
  readonly message: string
}

/** The reason for ending a market's subscriptions. */
export function marketEndMessage(end: MarketEnd): string {
  return END_MESSAGES[end]
}

/** The unsolicited notice that these subscriptions ended. */
export function endedNotice(ended: readonly EndedChannel[]): string {
  const channels = ended.map(({ key, message }) => ({ ...entryOf(key), success: true, message }))
  return JSON.stringify({ type: 'unsubscribe', channels })
}

/** The unsolicited notice that the subscription to events ended for this reason. */
export function eventsEndedNotice(reason: EntryProblem): string {
  return `{"type":"unsubscribe","channels":[{"type":"events","success":true,${problemMembers(reason)}}]}`
}

function entryOf({ type, market, depth, intervalMilliseconds, attribution }: ChannelKey): object {
  // JSON.stringify leaves out undefined members.
  return market === '' ? { type } : { type, params: { market, depth, interval_ms: intervalMilliseconds, attribution } }
}
