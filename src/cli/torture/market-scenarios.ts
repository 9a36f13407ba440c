/** Scenarios about one market on a connection that stays open: withdrawn, changed, removed. */
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'
import type { ScriptedConnection } from './scripted-connection.ts'
import type { Stage } from './stage.ts'

const SUBSCRIBE_SECONDS = 30
const WITHDRAWN_SECONDS = 30
/** Requests for a removed market that are not a loop yet: one, and one after a new connection or a restart of the app. */
const REFUSED_REQUESTS_MAX = 3
const LOOP_SECONDS = 30

export const MARKET_SCENARIOS: readonly Scenario[] = [
  {
    name: 'market-withdrawn',
    sends:
      'one UPDATE that removes every level and a TOP_OF_BOOK with empty sides (in tidegate.v1 heartbeats with ' +
      `live: false); after ${WITHDRAWN_SECONDS} s one UPDATE that restores the book`,
    rightReaction: 'keep the connection and its subscriptions; show the market as having no book',
    waitSeconds: WITHDRAWN_SECONDS,
    async play(stage, connection, waitSeconds) {
      const market = stage.marketOf(connection)
      const earlierRepeats = connection.repeated.length
      await stage.markets.withdraw(market)
      try {
        await stage.stays(connection, waitSeconds, earlierRepeats)
      } finally {
        stage.markets.restore(market)
      }
      await stage.stays(connection, 1)
    },
  },
  {
    name: 'market-changed',
    sends: 'an unsubscribe notice that says the market was changed; the market has other decimals from then on',
    rightReaction: 'forget the book and subscribe the market again, on the same connection',
    waitSeconds: SUBSCRIBE_SECONDS,
    async play(stage, connection, waitSeconds) {
      const market = stage.marketOf(connection)
      const before = keysOf(connection, market)
      stage.markets.change(market)
      await untilSubscribed(stage, connection, before, waitSeconds)
      await stage.stays(connection, 1)
    },
  },
  {
    name: 'resubscribe-fails-once',
    sends: 'an unsubscribe notice that says the market was changed, then INTERNAL_SERVER_ERROR to the next subscribe',
    rightReaction: 'subscribe again later, on this connection or on a new one',
    waitSeconds: 120,
    async play(stage, connection, waitSeconds) {
      const market = stage.marketOf(connection)
      const before = keysOf(connection, market)
      connection.failNextSubscribe()
      stage.markets.change(market)
      const holdsAll = () => before.every((key) => stage.service.current?.subscribed.has(key))
      if (await stage.reaches(() => holdsAll() || stage.hasEnded, waitSeconds)) {
        stage.judgeRunning()
        return
      }
      throw new WrongReaction('not-subscribed-again', before.join(', '))
    },
  },
  {
    name: 'market-removed',
    sends: 'an unsubscribe notice that says the market was removed; its subscription is refused from then on',
    rightReaction: 'subscribe again, and give the market up on UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
    waitSeconds: SUBSCRIBE_SECONDS,
    async play(stage, connection, waitSeconds) {
      const market = stage.marketOf(connection)
      const earlier = requestsFor(stage, market)
      stage.markets.remove(market)
      try {
        const requests = () => requestsFor(stage, market) - earlier
        const hasReacted = await stage.reaches(() => requests() > 0 || !connection.isOpen, waitSeconds)
        if (!hasReacted || requests() === 0) throw new WrongReaction('not-subscribed-again', market)
        await stage.reachesSoon(() => requests() > REFUSED_REQUESTS_MAX, LOOP_SECONDS)
        if (requests() > REFUSED_REQUESTS_MAX) {
          throw new WrongReaction('subscribed-in-a-loop', `${requests()} requests for ${market}`)
        }
      } finally {
        stage.markets.add(market)
        await stage.restart(connection)
      }
    },
  },
]

function keysOf({ subscribed }: ScriptedConnection, market: string): readonly string[] {
  return [...subscribed].filter((key) => key.endsWith(` ${market}`))
}

async function untilSubscribed(
  stage: Stage,
  connection: ScriptedConnection,
  keys: readonly string[],
  waitSeconds: number,
): Promise<void> {
  const missing = () => keys.filter((key) => !connection.subscribed.has(key))
  await stage.reaches(() => missing().length === 0 || !connection.isOpen, waitSeconds)
  stage.judgeOpen(connection)
  if (missing().length > 0) throw new WrongReaction('not-subscribed-again', missing().join(', '))
}

/** How many subscribe requests have named the market so far, on all connections. */
function requestsFor({ service }: Stage, market: string): number {
  const requests = service.connections.flatMap((connection) => connection.requests)
  const isOfMarket = ({ type, channels }: (typeof requests)[number]) =>
    type === 'subscribe' && channels.some((channel) => channel.market === market)
  return requests.filter(isOfMarket).length
}
