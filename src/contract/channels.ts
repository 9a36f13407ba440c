/**
 * The channels of the stream: their names, whether they belong to a market, the params besides `market` that they take in
 * the extended protocol, and whether the reply to a subscribe request with `resume` says whether it continues. Books and
 * tops do not need that: one that cannot continue begins with a whole one. Executions would be lost unnoticed.
 */
export const CHANNELS = {
  market_data: { perMarket: true, extendedParams: ['depth', 'interval_ms', 'resume'], acknowledgesResume: false },
  'market_data.top_of_book': { perMarket: true, extendedParams: ['interval_ms', 'resume'], acknowledgesResume: false },
  execution_data: { perMarket: true, extendedParams: ['resume'], acknowledgesResume: true },
  heartbeat: { perMarket: false, extendedParams: [], acknowledgesResume: false },
} as const

export type ChannelType = keyof typeof CHANNELS

/** `type` of the payloads of market_data and market_data.top_of_book. */
export const PAYLOAD_TYPES = { snapshot: 'SNAPSHOT', update: 'UPDATE', topOfBook: 'TOP_OF_BOOK' } as const

/** The request types of the stream. */
export const REQUEST_TYPES = ['subscribe', 'unsubscribe', 'subscription_list'] as const

export type RequestType = (typeof REQUEST_TYPES)[number]

/** Subprotocols of the handshake. `tidegate.default` is the base protocol, which is also used when none is offered. */
export const SUBPROTOCOLS = ['tidegate.default', 'tidegate.v1'] as const

/** The extended protocol: cursors in every data message, depths, intervals, resume, digests. */
export const EXTENDED_SUBPROTOCOL: (typeof SUBPROTOCOLS)[number] = 'tidegate.v1'

/** Levels per side that `depth` may request; not more than the market publishes. */
export const EXTENDED_DEPTHS: readonly number[] = [1, 5, 10, 25, 50, 100, 500, 1000]

/** Throttle intervals that `interval_ms` may request, in milliseconds; each is a multiple of the first. */
export const EXTENDED_INTERVALS: readonly number[] = [50, 100, 250, 500, 1000]

/** Prefix of the subprotocol entry that carries a browser's token; never selected or echoed. */
export const BEARER_SUBPROTOCOL_PREFIX = 'bearer.'
