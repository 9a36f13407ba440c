/** Many subscriptions of one client on the service's own hub: none is lost to a limit of the service that it can keep to. */
import { expect, it } from 'vitest'
import { StreamClient, type StreamEvent } from '../../packages/client/src/index.ts'
import { STREAM_SETTINGS } from '../../src/service/config/settings/stream.ts'
import { CREDENTIALS, FakePlatform, settled } from '../support/client-platform.ts'
import { HubSocket } from '../support/hub-socket.ts'
import { StreamSimulation, testMarket } from '../support/stream-simulation.ts'

const MESSAGE_BYTES_MAX = STREAM_SETTINGS['stream.inbound_bytes_max'].initial
const ENTRIES_MAX = STREAM_SETTINGS['stream.subscriptions_max'].initial

interface Running {
  readonly client: StreamClient
  readonly simulation: StreamSimulation
  readonly events: StreamEvent[]
  /** The sockets, with what the client sent over each. */
  readonly sockets: readonly HubSocket[]
  /** Lets the service and the client do what they have to do. */
  readonly step: (milliseconds?: number) => Promise<void>
}

function start(markets: number, subscriptionsMax: number): Running {
  const names = Array.from({ length: markets }, (_, index) => testMarket(`MARKET${index}`, 5))
  const noise = { levels: 10, changesMax: 4 }
  const settings = { subscriptionsMax, outboxBytesMax: STREAM_SETTINGS['stream.outbox_bytes_max'].initial }
  const simulation = new StreamSimulation({ seed: 1, markets: names, noise, settings })
  const platform = new FakePlatform(simulation.clock)
  const sockets: HubSocket[] = []
  platform.open = (url, offered) => {
    const socket = new HubSocket(url, offered, (text) => socket.receive(text), 1_048_576)
    sockets.push(socket)
    void settled().then(() => socket.join(simulation, 'tidegate.v1'))
    return socket
  }
  const step = async (milliseconds = 500): Promise<void> => {
    await settled()
    simulation.clock.advance(milliseconds)
    sockets.at(-1)?.transport.flush()
    sockets.at(-1)?.transport.drain()
    simulation.clock.settle()
    await settled()
  }
  simulation.start()
  const events: StreamEvent[] = []
  const client = new StreamClient({ credentials: CREDENTIALS, onEvent: (event) => events.push(event) }, platform)
  return { client, simulation, events, sockets, step }
}

function expectWithinLimits({ requests }: HubSocket): void {
  for (const request of requests) {
    expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
    expect(request.channels.length).toBeLessThanOrEqual(ENTRIES_MAX)
  }
}

it('the client subscribes 1,500 channels together, and resumes them together', async () => {
  const { client, simulation, events, sockets, step } = start(500, 2_000)
  const markets = [...simulation.sequencers.keys()]
  const books = markets.map((market) => client.book(market))
  const tops = markets.map((market) => client.topOfBook(market))
  const executions = markets.map((market) => client.executions(market))
  for (let steps = 0; steps < 20; steps++) await step()
  const opened = await Promise.all(books)
  await Promise.all([...tops, ...executions])
  for (const market of markets) simulation.offer(market, 'update')
  await step()

  sockets.at(-1)?.leave()
  sockets.at(-1)?.end(1006)
  for (const market of markets) simulation.offer(market, 'update')
  for (let steps = 0; steps < 20; steps++) await step()
  expect(sockets).toHaveLength(2)
  for (const socket of sockets) expectWithinLimits(socket)
  const resumed = sockets[1]?.requests.flatMap(({ channels }) => channels.filter(({ params }) => params?.resume))
  expect(resumed?.filter(({ type }) => type === 'market_data')).toHaveLength(markets.length)
  expect(events.filter(({ type }) => type === 'RESYNC')).toEqual([])
  const all = [...opened, ...(await Promise.all(tops))]
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['LIVE']))
  // A heartbeat has compared each of them.
  expect(opened.filter(({ digestMatch }) => digestMatch === undefined)).toEqual([])
  client.close()
})

it.each([
  [220, 210],
  // Below the entries of one request, which is then rejected as a whole.
  [220, 60],
  [20, 2],
])(
  'a client of %i books is refused those over the limit of %i, and keeps everything else',
  async (count, subscriptionsMax) => {
    const { client, simulation, sockets, step } = start(count, subscriptionsMax)
    const markets = [...simulation.sequencers.keys()]
    const opening = Promise.allSettled(markets.map((market) => client.book(market)))
    for (let steps = 0; steps < 20; steps++) await step()
    const outcomes = await opening
    const books = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    // One subscription is the heartbeat, which compares the books.
    expect(books.map(({ market }) => market)).toEqual(markets.slice(0, subscriptionsMax - 1))
    expect(books.filter(({ status, digestMatch }) => status !== 'LIVE' || digestMatch === undefined)).toEqual([])
    expect(new Set(reasons.map(({ code }) => code))).toEqual(new Set(['SUBSCRIPTION_REFUSED']))
    expect(reasons.at(-1)?.message).toBe(
      `MARKET${count - 1}: the limit of ${subscriptionsMax} subscriptions per connection is reached (NO_EFFECT_ACTION). ` +
        'Close others, or use one more StreamClient',
    )

    // It has learnt how much the service accepts in one request.
    const requestCount = sockets[0]?.requests.length ?? 0
    sockets[0]?.leave()
    sockets[0]?.end(1006)
    for (let steps = 0; steps < 20; steps++) await step()
    expect(books.filter(({ status }) => status !== 'LIVE')).toEqual([])
    expect(sockets).toHaveLength(2)
    expect(sockets[1]?.requests.length).toBeLessThanOrEqual(requestCount)
    const longest = Math.max(...(sockets[1]?.requests ?? []).map(({ channels }) => channels.length))
    expect(longest).toBeLessThanOrEqual(subscriptionsMax)
    client.close()
  },
)

it('the client keeps its books when the limit is lowered while they are open', async () => {
  const { client, simulation, step } = start(30, 100)
  const markets = [...simulation.sequencers.keys()]
  const opening = Promise.all(markets.slice(0, 10).map((market) => client.book(market)))
  for (let steps = 0; steps < 5; steps++) await step()
  const books = await opening
  Object.assign(simulation.hub.limits, { subscriptionsMax: 5 })
  const more = Promise.allSettled(markets.slice(10).map((market) => client.book(market)))
  for (let steps = 0; steps < 10; steps++) await step()
  expect(new Set((await more).map(({ status }) => status))).toEqual(new Set(['rejected']))
  for (const market of markets) simulation.offer(market, 'update')
  await step()
  expect(books.filter(({ status }) => status !== 'LIVE')).toEqual([])
  client.close()
})
