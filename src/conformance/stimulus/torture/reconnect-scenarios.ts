/** Scenarios that end a connection or refuse the next one, after which the client must reconnect. */
import { CLOSE_CODES, type CloseCause } from '../../../contract/stream-codes.ts'
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'

/** Longest time in which a client must reconnect. */
const RETURN_SECONDS = 120
const RETRY_AFTER_SECONDS = 1
const OUTAGE_SECONDS = 180
const REPEATED_CLOSES = 3

/** The scenario for a close code after which a client reconnects with the same token and subscriptions. */
function closeScenario(cause: CloseCause): Scenario {
  const { code, reason } = CLOSE_CODES[cause]
  return {
    name: `close-${code}`,
    plays: `close ${code} "${reason}"`,
    expects: 'reconnect and subscribe everything again',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      connection.session?.close(cause)
      await driver.returns(connection, { waitSeconds })
    },
  }
}

export const RECONNECT_SCENARIOS: readonly Scenario[] = [
  closeScenario('operator'),
  closeScenario('flood'),
  closeScenario('internal'),
  closeScenario('restarting'),
  closeScenario('executionGap'),
  {
    name: 'close-4001',
    plays: `close 4001 "${CLOSE_CODES.tokenRevoked.reason}", and the token is answered 401 from then on`,
    expects: 'get a new token, reconnect with it and subscribe everything again',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.service.revokeTokens()
      connection.session?.close('tokenRevoked')
      await driver.returns(connection, { waitSeconds, needsNewToken: true })
    },
  },
  closeScenario('stale'),
  {
    name: 'connection-lost',
    plays: 'the TCP connection’s end without a close frame (1006)',
    expects: 'reconnect and subscribe everything again',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      connection.transport?.break()
      await driver.returns(connection, { waitSeconds })
    },
  },
  {
    name: 'close-repeatedly',
    plays: `close 1011 as soon as the connection is open, ${REPEATED_CLOSES} times`,
    expects: 'wait before each attempt, and come back in the end',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      const { connections, attempts } = driver.service
      const delays: number[] = []
      for (let last = connection; delays.length < REPEATED_CLOSES; last = connections.at(-1) ?? last) {
        const closedAt = driver.now()
        last.session?.close('internal')
        const hasCome = () => connections.at(-1) !== last
        await driver.reaches(() => hasCome() || driver.hasEnded, waitSeconds)
        if (!hasCome()) throw new WrongReaction('did-not-come-back', `after ${delays.length + 1} of these closes`)
        delays.push((attempts.at(-1)?.atMilliseconds ?? closedAt) - closedAt)
      }
      driver.checkDelays(delays)
      await driver.returns(connection, { waitSeconds })
    },
  },
  {
    name: 'handshake-401',
    plays: 'close 1012, then 401 to the next two handshakes',
    expects: 'get a new token and try again',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      // Two, because Node.js 24 repeats the first by itself.
      driver.service.handshakeFailures = [{ code: 'invalid_token' }, { code: 'invalid_token' }]
      connection.session?.close('restarting')
      await driver.returns(connection, { waitSeconds })
    },
  },
  ...(['too_many_connections', 'unavailable'] as const).map((code): Scenario => {
    const status = code === 'unavailable' ? 503 : 429
    return {
      name: `handshake-${status}`,
      plays: `close 1012, then ${status} with Retry-After: ${RETRY_AFTER_SECONDS} to the next handshake`,
      expects: 'try again, not before Retry-After where the client can read it (browsers cannot)',
      waitSeconds: RETURN_SECONDS,
      async play(driver, connection, waitSeconds) {
        driver.service.handshakeFailures = [{ code, retryAfterSeconds: RETRY_AFTER_SECONDS }]
        connection.session?.close('restarting')
        await driver.returns(connection, { waitSeconds })
        driver.checkRetryAfter('handshake', RETRY_AFTER_SECONDS)
      },
    }
  }),
  {
    name: 'token-503',
    plays: `close 4001, then 503 with Retry-After: ${RETRY_AFTER_SECONDS} to the next request for a token`,
    expects: 'request a token again, not before Retry-After, and come back',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      const failure = { status: 503, error: 'temporarily_unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS }
      driver.service.tokenFailures = [failure]
      driver.service.revokeTokens()
      connection.session?.close('tokenRevoked')
      await driver.returns(connection, { waitSeconds, needsNewToken: true })
      driver.checkRetryAfter('token', RETRY_AFTER_SECONDS)
    },
  },
  {
    name: 'outage',
    plays: `the TCP connection’s end, then no answer to anything for ${OUTAGE_SECONDS} s`,
    expects: 'keep trying, with growing delays, until the service answers again',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.service.isUnavailable = true
      connection.transport?.break()
      await driver.pass(OUTAGE_SECONDS)
      driver.service.isUnavailable = false
      await driver.returns(connection, { waitSeconds })
    },
  },
]
