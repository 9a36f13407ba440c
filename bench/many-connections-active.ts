/**
 * The part of bench/many-connections with active connections: those of one load generator subscribe to a market that an
 * engine changes at a constant rate. Every change carries its number and time, so the load generator finds each that a
 * connection has missed, and its delay from the engine to the client. Missed heartbeats count on all connections.
 */
import { formatDecimal } from '../src/platform/base/decimal.ts'
import { type Answer, nowMicroseconds } from './fanout-driver.ts'
import { stamp } from './fanout-feed.ts'
import { pause } from './fanout-measure.ts'
import type { Peer } from './fanout-processes.ts'
import { type LoadGenerators, sumOf } from './load-generators.ts'
import { MARKET, newEngineAccess, startEngine, untilLive } from './publishing-engine.ts'
import type { Program } from './served-program.ts'
import type { ServiceProcesses } from './service-processes.ts'

const CHANGES_PER_SECOND = 2
/** Until a connection's last message counts as lost. */
const LAST_MESSAGE_MILLISECONDS_MAX = 30_000

const REQUEST = JSON.stringify({
  type: 'subscribe',
  channels: [{ type: 'market_data', params: { market: MARKET.symbol } }],
})

export type Add = (name: string, unit: string, value: number) => void

interface Measured {
  readonly program: Program
  readonly processes: ServiceProcesses
  readonly generators: LoadGenerators
  readonly heartbeatSeconds: number
  readonly requestsMilliseconds: number
  readonly activeMilliseconds: number
}

export async function measureActive(measured: Measured, add: Add): Promise<void> {
  const { program, processes, generators, heartbeatSeconds, requestsMilliseconds, activeMilliseconds } = measured
  let changes = 0
  let isPublishing = true
  const stopEngine = startEngine(await newEngineAccess(program), 1_000 / CHANGES_PER_SECOND, (number) => {
    if (!isPublishing) return undefined
    changes = number + 1
    return formatDecimal(stamp(nowMicroseconds()), MARKET.amount_decimals)
  })
  await untilLive(program)
  const active = generators.last
  await active.ask(`then ${REQUEST}`)
  await active.ask(`subscribe ${requestsMilliseconds} 0`)
  await pause(activeMilliseconds / 10)
  await generators.ask(`heartbeats ${1_000 * heartbeatSeconds}`)
  const [seconds, generatorSeconds, begin] = [processes.seconds(), generators.seconds(), performance.now()]
  const delays = await active.ask(`measure ${activeMilliseconds} 1`)
  const share = (used: number) => (100_000 * used) / (performance.now() - begin)
  const shares = [share(processes.seconds() - seconds), share(generators.seconds() - generatorSeconds)] as const
  const heartbeats = await generators.ask(`losses ${changes}`)
  isPublishing = false
  const losses = await lossesAfter(active, changes)
  await stopEngine()
  const rate = `${CHANGES_PER_SECOND} messages/s to each active connection`
  add(`${rate}: active connections`, '', losses.subscribed as number)
  for (const part of ['p50', 'p99', 'worst']) add(`${rate}: delay, ${part}`, 'ms', delays[part] as number)
  add(`${rate}: CPU of the service`, '% of a core', shares[0])
  add(`${rate}: CPU of the load generators`, '% of a core', shares[1])
  add(`${rate}: messages read`, '', losses.messages as number)
  add(`${rate}: messages lost`, '', (losses.lost as number) + (losses.missing as number))
  add(`${rate}: messages conflated with another`, '', losses.merged as number)
  add(`${rate}: SNAPSHOTs after the first`, '', (losses.snapshots as number) - (losses.subscribed as number))
  add('heartbeats read', '', sumOf(heartbeats, 'heartbeats'))
  add('heartbeats missed', '', sumOf(heartbeats, 'heartbeatsMissed'))
  const gaps = heartbeats.map((answer) => answer.heartbeatGap as number)
  add('longest time between heartbeats on a connection', 'ms', Math.max(...gaps))
  add('connections that ended', '', sumOf(heartbeats, 'ended'))
}

/** Once every connection has the last message, or the time is up. */
async function lossesAfter(active: Peer, changes: number): Promise<Answer> {
  const begin = performance.now()
  for (;;) {
    const losses = await active.ask(`losses ${changes}`)
    if (losses.unfinished === 0 || performance.now() - begin > LAST_MESSAGE_MILLISECONDS_MAX) return losses
    await pause(100)
  }
}
