/**
 * Candles of a cluster over kills of the leading feed: closed ones are the same bytes before and after, and on both
 * gateways. Those that are not `incomplete` equal the executions that a subscriber has seen over one connection. The
 * simulator's trades do not continue over a kill, so that the executions after the last one are missed. Only closed
 * candles from that one's minute on may become `incomplete`, and nothing else about them changes.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { EXTENDED_SUBPROTOCOL } from '../../src/contract/channels.ts'
import { Cluster } from '../support/cluster.ts'
import { CLUSTER_POLL, ClusterWatch } from '../support/cluster-watch.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { naiveCandles, type SeenTrade } from '../support/naive-candles.ts'
import { note } from '../support/note.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { market } from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'

const KILLS = 3
const MINUTE = 60_000

let cluster: Cluster
let token: string

interface Candle {
  readonly time: string
  readonly closed: boolean
  readonly incomplete: boolean
  readonly revision: number
}

/** Closed candles as the gateway's JSON has them, by time. */
async function closedCandles(gateway: string): Promise<ReadonlyMap<string, string>> {
  const url = `${cluster.process(gateway).http}/v2/markets/BTCUSD/candles?interval=1m&limit=1000`
  return await vi.waitFor(async () => {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).toBe(200)
    const texts = (await answer.text()).match(/\{"time":[^}]*\}/g) ?? []
    const closed = texts.filter((text) => JSON.parse(text).closed)
    return new Map(closed.map((text) => [JSON.parse(text).time, text]))
  }, CLUSTER_POLL)
}

const asIncomplete = (text: string): string => text.replace('"incomplete":false', '"incomplete":true')

/** Follows the executions over connections that may end, and keeps those of each. */
class Tape {
  readonly connections: { readonly from: number; until: number; readonly trades: SeenTrade[] }[] = []
  #isEnded = false
  readonly #done = this.#run()

  /** The last execution's time. */
  get last(): number {
    return this.connections.findLast(({ trades }) => trades.length > 0)?.trades.at(-1)?.at ?? 0
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      const connection = { from: Date.now(), until: Date.now(), trades: [] as SeenTrade[] }
      const onMessage = (_: unknown, client: SampleClient, text: string) => {
        connection.until = Date.now()
        if (this.#isEnded) client.terminate()
        const { channel, payload } = JSON.parse(text)
        if (channel !== 'execution_data') return
        const scaled = (decimal: string) => BigInt(decimal.replace('.', ''))
        const at = Date.parse(payload.executed_at)
        const { id, price, amount } = payload
        connection.trades.push({ id, price: scaled(price), amount: scaled(amount), at, committedAt: at })
      }
      const [wsUrl, protocols] = [cluster.process('gateway-1').ws, [EXTENDED_SUBPROTOCOL]]
      const client = await SampleClient.connect({ wsUrl, token, protocols, onMessage, messagesKept: 1 })
      client.send({
        type: 'subscribe',
        channels: [{ type: 'execution_data', params: { market: 'BTCUSD' } }, { type: 'heartbeat' }],
      })
      this.connections.push(connection)
      await client.untilClosed(86_400_000)
    }
  }

  /** The candles of each connection's whole minutes. */
  candles(decimals: { readonly priceDecimals: number; readonly amountDecimals: number }): Map<string, object> {
    const whole = this.connections.flatMap(({ from, until, trades }) =>
      naiveCandles(trades, '1m', until, decimals).filter((candle) => {
        const start = Date.parse((candle as Candle).time)
        return start > from && start + MINUTE < until
      }),
    )
    return new Map(whole.map((candle) => [(candle as Candle).time, candle]))
  }
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('candles of a cluster', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      cluster = await Cluster.start({
        processes: {
          'feed-1': '[feed]',
          'feed-2': '[feed]',
          'gateway-1': '[gateway, api]',
          'gateway-2': '[gateway, api]',
        },
        markets: [market('BTC', 2, 50)],
        store: await migratedDatabase(),
        flags: { 'simulator.rate': 50 },
      })
      token = (await cluster.createClient()).token
    })
    afterAll(() => cluster?.remove())

    test('candles are the same before and after each kill, on both gateways, and equal the executions', async () => {
      const watch = new ClusterWatch(cluster, [], [])
      const tape = new Tape()
      let known: ReadonlyMap<string, string> = new Map()
      let lastBeforeKill = 0
      const changed = new Set<string>()
      for (let kill = 0; kill <= KILLS; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 2.5 * MINUTE))
        const [first, second] = [await closedCandles('gateway-1'), await closedCandles('gateway-2')]
        expect([...second].slice(0, first.size)).toEqual([...first])
        for (const [time, before] of known) {
          const after = first.get(time)
          if (after === before) continue
          expect(after).toBe(asIncomplete(before))
          expect(Date.parse(time) + MINUTE).toBeGreaterThan(lastBeforeKill)
          changed.add(time)
        }
        known = first
        if (kill === KILLS) break
        const leader = await watch.leader()
        await cluster.kill(leader)
        lastBeforeKill = tape.last
        await watch.leader()
        await cluster.launch(leader)
      }
      await tape.end()
      const seen = tape.candles({ priceDecimals: 2, amountDecimals: 8 })
      let compared = 0
      let incomplete = 0
      for (const [time, text] of known) {
        const { incomplete: isIncomplete, revision: _, ...candle } = JSON.parse(text)
        const model = seen.get(time)
        incomplete += isIncomplete ? 1 : 0
        if (model === undefined || isIncomplete) continue
        const { revision: _revision, ...rest } = model as Candle
        expect(candle).toEqual(rest)
        compared++
      }
      const counts = `${known.size} candles, ${compared} compared, ${incomplete} incomplete, ${changed.size} became so`
      note(`${KILLS} kills: ${counts} after they had closed`)
      expect(compared).toBeGreaterThanOrEqual(KILLS)
      expect(changed.size).toBeLessThanOrEqual(KILLS)
      expect(incomplete).toBeLessThanOrEqual(2 * KILLS + 1)
    })
  },
)
