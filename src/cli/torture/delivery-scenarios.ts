/** Scenarios about how messages arrive: twice, slowly, large, late, not at all. */
import { NotApplicable, WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'

const PAUSE_SECONDS = 180
const SLOW_SECONDS = 20
const RETURN_SECONDS = 120
/** A client that has not noticed by then shows prices of a minute ago. */
const SILENCE_SECONDS_MAX = 60

export const DELIVERY_SCENARIOS: readonly Scenario[] = [
  {
    name: 'acknowledgement-twice',
    sends: 'close 1012, then on the next connection the acknowledgement of the subscription twice',
    rightReaction: 'ignore the second: keep the connection, subscribe nothing again',
    waitSeconds: 10,
    async play(stage, connection, waitSeconds) {
      stage.service.onAccept = ({ transport }) => transport?.repeatAcknowledgement()
      connection.session?.close('restarting')
      const next = await stage.returns(connection, { waitSeconds: RETURN_SECONDS })
      await stage.stays(next, waitSeconds, 0)
    },
  },
  {
    name: 'slow-delivery',
    sends: 'close 1012, then on the next connection every message in pieces of 64 bytes, 2 ms apart',
    rightReaction: 'put the pieces together and keep the connection',
    waitSeconds: SLOW_SECONDS,
    async play(stage, connection, waitSeconds) {
      stage.service.onAccept = ({ transport }) => transport?.deliver('slow')
      connection.session?.close('restarting')
      const next = await stage.returns(connection, { waitSeconds: RETURN_SECONDS })
      await stage.stays(next, waitSeconds)
      next.transport?.deliver('normal')
      await stage.stays(next, 1)
    },
  },
  {
    name: 'large-snapshot',
    sends: 'a second SNAPSHOT in the stream, of 1.2 MB in fragments, then one UPDATE of the same size',
    rightReaction: 'replace the book and keep the connection',
    waitSeconds: 10,
    async play(stage, connection, waitSeconds) {
      const key = [...connection.subscribed].find((subscribed) => subscribed.startsWith('market_data '))
      if (key === undefined) throw new NotApplicable('the client does not subscribe market_data')
      const market = key.slice('market_data '.length)
      stage.markets.enlarge(market)
      try {
        await stage.stays(connection, waitSeconds)
      } finally {
        stage.markets.shrink(market)
      }
      await stage.stays(connection, 1)
    },
  },
  {
    name: 'quiet-market',
    sends: `no data for ${PAUSE_SECONDS} s, only heartbeats and pings`,
    rightReaction: 'keep the connection (a client that has not subscribed heartbeat may open another)',
    waitSeconds: PAUSE_SECONDS,
    async play(stage, connection, waitSeconds) {
      stage.markets.isQuiet = true
      try {
        if (connection.subscribed.has('heartbeat')) await stage.stays(connection, waitSeconds)
        else await stage.pass(waitSeconds)
      } finally {
        stage.markets.isQuiet = false
      }
      await stage.continues(connection, RETURN_SECONDS)
    },
  },
  {
    name: 'pause',
    sends: `nothing at all for ${PAUSE_SECONDS} s, then one conflated UPDATE and the stream`,
    rightReaction: 'keep the connection, or open another; be subscribed to everything afterwards',
    waitSeconds: PAUSE_SECONDS,
    async play(stage, connection, waitSeconds) {
      connection.transport?.deliver('held')
      await stage.pass(waitSeconds)
      connection.transport?.deliver('normal')
      await stage.continues(connection, RETURN_SECONDS)
    },
  },
  {
    name: 'silence',
    sends: 'nothing any more on a connection that is not closed',
    rightReaction: `take the connection for lost and open another within ${SILENCE_SECONDS_MAX} s`,
    waitSeconds: SILENCE_SECONDS_MAX,
    async play(stage, connection, waitSeconds) {
      if (stage.pace !== 1) throw new NotApplicable('a client measures silence by its own clock: it needs --pace 1')
      connection.transport?.deliver('held')
      const hasNext = () => stage.service.connections.at(-1) !== connection
      const hasNoticed = await stage.reaches(() => hasNext() || stage.hasEnded, waitSeconds)
      connection.transport?.break()
      if (!hasNoticed) throw new WrongReaction('silence-not-noticed', `no new connection within ${waitSeconds} s`)
      await stage.returns(connection, { waitSeconds: RETURN_SECONDS })
    },
  },
]
