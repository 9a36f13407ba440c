/** The channels of the stream: their names on the wire, and whether they belong to a market. */
export const CHANNELS = {
  market_data: { perMarket: true },
  'market_data.top_of_book': { perMarket: true },
  execution_data: { perMarket: true },
  heartbeat: { perMarket: false },
} as const

export type ChannelType = keyof typeof CHANNELS

/** `type` of the payloads of market_data and market_data.top_of_book. */
export const PAYLOAD_TYPES = { snapshot: 'SNAPSHOT', update: 'UPDATE', topOfBook: 'TOP_OF_BOOK' } as const

/** The request types of the stream. */
export const REQUEST_TYPES = ['subscribe', 'unsubscribe', 'subscription_list'] as const

export type RequestType = (typeof REQUEST_TYPES)[number]

/** Subprotocols of the handshake. `tidegate.default` is the plain wire, also spoken when none is offered. */
export const SUBPROTOCOLS = ['tidegate.default', 'tidegate.v1'] as const

/** Prefix of the subprotocol entry that carries a browser's token; never selected, never echoed. */
export const BEARER_SUBPROTOCOL_PREFIX = 'bearer.'
