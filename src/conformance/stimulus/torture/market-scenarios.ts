/** Scenarios about one market while the connection stays open: withdrawn, changed, removed. */
import type { ScenarioDriver } from './driver.ts'
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'
import type { ScriptedConnection } from './scripted-connection.ts'

const SUBSCRIBE_SECONDS = 30
const WITHDRAWN_SECONDS = 30
/** More requests for a removed market are a loop: a client may request it again after a new connection or a restart. */
const REFUSED_REQUESTS_MAX = 3
const LOOP_SECONDS = 30

export const MARKET_SCENARIOS: readonly Scenario[] = [
  {
    name: 'market-withdrawn',
    plays:
      'one UPDATE that removes every level and a TOP_OF_BOOK with empty sides (in tidegate.v1 heartbeats with ' +
      `live: false); after ${WITHDRAWN_SECONDS} s one UPDATE that restores the book`,
    expects: 'keep the connection and its subscriptions, and show the market without a book',
    waitSeconds: WITHDRAWN_SECONDS,
    async play(driver, connection, waitSeconds) {
      const market = driver.marketOf(connection)
      const earlierRepeats = connection.repeated.length
      await driver.markets.withdraw(market)
      try {
        await driver.stays(connection, waitSeconds, earlierRepeats)
      } finally {
        driver.markets.restore(market)
      }
      await driver.stays(connection, 1)
    },
  },
  {
    name: 'market-changed',
    plays: 'an unsubscribe notice for a changed market. The market has other decimals from then on',
    expects: 'forget the book and subscribe the market again, on the same connection',
    waitSeconds: SUBSCRIBE_SECONDS,
    async play(driver, connection, waitSeconds) {
      const market = driver.marketOf(connection)
      const before = keysOf(connection, market)
      driver.markets.change(market)
      await untilSubscribed(driver, connection, before, waitSeconds)
      await driver.stays(connection, 1)
    },
  },
  {
    name: 'resubscribe-fails-once',
    plays: 'an unsubscribe notice for a changed market, then INTERNAL_SERVER_ERROR to the next subscribe',
    expects: 'subscribe again later, on this connection or on a new one',
    waitSeconds: 120,
    async play(driver, connection, waitSeconds) {
      const market = driver.marketOf(connection)
      const before = keysOf(connection, market)
      connection.failNextSubscribe()
      driver.markets.change(market)
      const holdsAll = () => before.every((key) => driver.service.current?.subscribed.has(key))
      if (await driver.reaches(() => holdsAll() || driver.hasEnded, waitSeconds)) {
        driver.checkRunning()
        return
      }
      throw new WrongReaction('not-subscribed-again', before.join(', '))
    },
  },
  {
    name: 'market-removed',
    plays: 'an unsubscribe notice for a removed market. Its subscription is refused from then on',
    expects: 'subscribe again, and give the market up on UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
    waitSeconds: SUBSCRIBE_SECONDS,
    async play(driver, connection, waitSeconds) {
      const market = driver.marketOf(connection)
      const earlier = requestsFor(driver, market)
      driver.markets.remove(market)
      try {
        const requests = () => requestsFor(driver, market) - earlier
        const hasReacted = await driver.reaches(() => requests() > 0 || !connection.isOpen, waitSeconds)
        if (!hasReacted || requests() === 0) throw new WrongReaction('not-subscribed-again', market)
        await driver.reachesSoon(() => requests() > REFUSED_REQUESTS_MAX, LOOP_SECONDS)
        if (requests() > REFUSED_REQUESTS_MAX) {
          throw new WrongReaction('subscribed-in-a-loop', `${requests()} requests for ${market}`)
        }
      } finally {
        driver.markets.add(market)
        await driver.restart(connection)
      }
    },
  },
]

function keysOf({ subscribed }: ScriptedConnection, market: string): readonly string[] {
  return [...subscribed].filter((key) => key.endsWith(` ${market}`))
}

async function untilSubscribed(
  driver: ScenarioDriver,
  connection: ScriptedConnection,
  keys: readonly string[],
  waitSeconds: number,
): Promise<void> {
  const missing = () => keys.filter((key) => !connection.subscribed.has(key))
  await driver.reaches(() => missing().length === 0 || !connection.isOpen, waitSeconds)
  driver.checkOpen(connection)
  if (missing().length > 0) throw new WrongReaction('not-subscribed-again', missing().join(', '))
}

/** How many subscribe requests there were for the market, on all connections. */
function requestsFor({ service }: ScenarioDriver, market: string): number {
  const requests = service.connections.flatMap((connection) => connection.requests)
  const isOfMarket = ({ type, channels }: (typeof requests)[number]) =>
    type === 'subscribe' && channels.some((channel) => channel.market === market)
  return requests.filter(isOfMarket).length
}
