/** Scenarios about message delivery: twice, slowly, large, late, not at all. */
import { Skipped } from '../../judge/harness.ts'
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'

const PAUSE_SECONDS = 180
const SLOW_SECONDS = 20
const RETURN_SECONDS = 120
/** A client must notice silence within this time: afterwards its prices are a minute old. */
const SILENCE_SECONDS_MAX = 60

export const DELIVERY_SCENARIOS: readonly Scenario[] = [
  {
    name: 'acknowledgement-twice',
    plays: 'close 1012, then on the next connection the subscription’s acknowledgement twice',
    expects: 'ignore the second: keep the connection, subscribe nothing again',
    waitSeconds: 10,
    async play(driver, connection, waitSeconds) {
      driver.service.onAccept = ({ transport }) => transport?.repeatAcknowledgement()
      connection.session?.close('restarting')
      const next = await driver.returns(connection, { waitSeconds: RETURN_SECONDS })
      await driver.stays(next, waitSeconds, 0)
    },
  },
  {
    name: 'slow-delivery',
    plays: 'close 1012, then on the next connection every message in 64-byte pieces, 2 ms apart',
    expects: 'put the pieces together and keep the connection',
    waitSeconds: SLOW_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.service.onAccept = ({ transport }) => transport?.deliver('slow')
      connection.session?.close('restarting')
      const next = await driver.returns(connection, { waitSeconds: RETURN_SECONDS })
      await driver.stays(next, waitSeconds)
      next.transport?.deliver('normal')
      await driver.stays(next, 1)
    },
  },
  {
    name: 'large-snapshot',
    plays: 'a second SNAPSHOT in the stream, 1.2 MB in fragments, then one UPDATE with the same size',
    expects: 'replace the book and keep the connection',
    waitSeconds: 10,
    async play(driver, connection, waitSeconds) {
      const key = [...connection.subscribed].find((subscribed) => subscribed.startsWith('market_data '))
      if (key === undefined) throw new Skipped('the client does not subscribe market_data')
      const market = key.slice('market_data '.length)
      driver.markets.enlarge(market)
      try {
        await driver.stays(connection, waitSeconds)
      } finally {
        driver.markets.shrink(market)
      }
      await driver.stays(connection, 1)
    },
  },
  {
    name: 'quiet-market',
    plays: `no data for ${PAUSE_SECONDS} s, only heartbeats and pings`,
    expects: 'keep the connection (a client that has not subscribed heartbeat may open another)',
    waitSeconds: PAUSE_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.markets.isQuiet = true
      try {
        if (connection.subscribed.has('heartbeat')) await driver.stays(connection, waitSeconds)
        else await driver.pass(waitSeconds)
      } finally {
        driver.markets.isQuiet = false
      }
      await driver.continues(connection, RETURN_SECONDS)
    },
  },
  {
    name: 'pause',
    plays: `nothing at all for ${PAUSE_SECONDS} s, then one conflated UPDATE and the stream`,
    expects: 'keep the connection, or open another, and be subscribed to everything afterwards',
    waitSeconds: PAUSE_SECONDS,
    async play(driver, connection, waitSeconds) {
      connection.transport?.deliver('held')
      await driver.pass(waitSeconds)
      connection.transport?.deliver('normal')
      await driver.continues(connection, RETURN_SECONDS)
    },
  },
  {
    name: 'silence',
    plays: 'nothing any more on an open connection',
    expects: `take the connection for lost and open another within ${SILENCE_SECONDS_MAX} s`,
    waitSeconds: SILENCE_SECONDS_MAX,
    async play(driver, connection, waitSeconds) {
      if (driver.pace !== 1) throw new Skipped('a client measures silence by its own clock: it needs --pace 1')
      connection.transport?.deliver('held')
      const hasNext = () => driver.service.connections.at(-1) !== connection
      const hasNoticed = await driver.reaches(() => hasNext() || driver.hasEnded, waitSeconds)
      connection.transport?.break()
      if (!hasNoticed) throw new WrongReaction('silence-not-noticed', `no new connection within ${waitSeconds} s`)
      await driver.returns(connection, { waitSeconds: RETURN_SECONDS })
    },
  },
]
