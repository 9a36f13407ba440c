/** Error codes for WebSocket requests, with their meanings. Pure. */
export const STREAM_ERRORS = {
  UNKNOWN_ACTION: 'The requested action type is not recognized',
  INTERNAL_SERVER_ERROR: 'Unexpected server error',
  MALFORMED_REQUEST: 'The request JSON is invalid or cannot be parsed',
  NO_EFFECT_ACTION: 'The action would have no effect',
  UNKNOWN_CHANNEL: 'The requested channel type is not recognized',
  UNKNOWN_CHANNEL_PARAMS_CONFIGURATION: 'Channel parameters are invalid or missing',
  events_expired:
    'The events after this sequence are no longer kept, or it is later than the last one (the channel events only)',
  unavailable: 'The store cannot be reached: try again later (the channel events only)',
} as const

export type StreamErrorCode = keyof typeof STREAM_ERRORS

/**
 * The stream's close codes, with the reason text and whether a client should reconnect. Codes from 4000 are specific to this
 * service, and RFC 6455 defines the others.
 */
export const CLOSE_CODES = {
  operator: { code: 1001, reason: 'closed by the operator', reconnect: 'yes' },
  flood: { code: 1008, reason: 'too many control frames', reconnect: 'after backing off' },
  internal: { code: 1011, reason: 'internal error', reconnect: 'yes, with backoff' },
  restarting: { code: 1012, reason: 'restarting', reconnect: 'yes, with jitter' },
  executionGap: { code: 4000, reason: 'execution stream has a gap', reconnect: 'yes' },
  executionsMissed: { code: 4000, reason: 'execution stream has a gap at its source', reconnect: 'yes' },
  tokenExpired: { code: 4001, reason: 'token expired', reconnect: 'with a new token' },
  tokenRevoked: { code: 4001, reason: 'token revoked', reconnect: 'with a new token' },
  stale: { code: 4002, reason: 'market data stale', reconnect: 'yes, at once' },
  revoked: { code: 4003, reason: 'access revoked', reconnect: 'no' },
} as const

export type CloseCause = keyof typeof CLOSE_CODES
