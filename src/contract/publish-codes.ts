/**
 * The publishers' subprotocol, and their connections' close codes. Codes from 4000 are specific to this service. Pure.
 */
export const PUBLISH_SUBPROTOCOL = 'tidegate.publish.v1'

export const PUBLISH_CLOSE_CODES = {
  binary: { code: 1003, reason: 'a message must be a text frame', reconnect: 'after the publisher was corrected' },
  broken: {
    code: 1008,
    reason: 'a message is not JSON in a known form, or names no market',
    reconnect: 'after the publisher was corrected',
  },
  silent: { code: 1008, reason: 'nothing received for 15 seconds', reconnect: 'yes' },
  unread: { code: 1008, reason: 'the server’s messages are not read', reconnect: 'yes' },
  flood: { code: 1008, reason: 'too many control frames', reconnect: 'after backing off' },
  internal: { code: 1011, reason: 'internal error', reconnect: 'yes, with backoff' },
  restarting: { code: 1012, reason: 'restarting', reconnect: 'yes, with jitter' },
  tokenExpired: { code: 4001, reason: 'token expired', reconnect: 'with a new token' },
  tokenRevoked: { code: 4001, reason: 'token revoked', reconnect: 'with a new token' },
  revoked: { code: 4003, reason: 'access revoked', reconnect: 'no' },
} as const

export type PublishCloseCause = keyof typeof PUBLISH_CLOSE_CODES
