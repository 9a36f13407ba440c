/**
 * A connection to a server that fails in every way a network can, while garbage is collected: whatever an attempt waits for
 * may be reachable through nothing else. Time is the test's.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { NatsConnection } from '../../../src/streaming/links/nats-connection.ts'
import { captureLog } from '../../support/captured-log.ts'
import { FakeNats, NATS_FAULTS } from '../../support/fake-nats.ts'
import { collectGarbage } from '../../support/garbage.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const STEP_MILLISECONDS = 1_000
const PLACE = /^127[.]0[.]0[.]1:[0-9]+: /
/** What the connection names, by the fault. */
const PROBLEMS = {
  refused: 'connect ECONNREFUSED',
  'closed at once': 'the server closed the connection without a greeting',
  silent: 'the server does not answer',
  'half-open': 'the server does not answer',
  'silent after the greeting': 'the server does not answer',
} as const

async function connectTo(server: FakeNats) {
  const clock = new NodeClock()
  const { log, lines } = captureLog()
  const connection = new NatsConnection({
    url: server.url,
    credentials: undefined,
    tls: {},
    name: 'test',
    clock,
    log,
    metrics: createMetricsRegistry(),
    random: () => 0.5,
  })
  onTestFinished(() => connection.stop())
  /** Lets time pass, with a collection at each step, until this is true. */
  const passUntil = (isTrue: () => boolean) =>
    expect
      .poll(() => {
        clock.advance(STEP_MILLISECONDS)
        collectGarbage()
        return isTrue()
      })
      .toBe(true)
  await expect.poll(() => connection.problem).toBeUndefined()
  return { connection, clock, lines, passUntil }
}

async function listen(): Promise<FakeNats> {
  const server = await FakeNats.listen()
  onTestFinished(() => server.close())
  return server
}

describe('a connection to NATS', () => {
  test.each(NATS_FAULTS)(
    'a connection to NATS is open again after an outage in which every connection is %s',
    async (fault) => {
      const server = await listen()
      const { connection, lines, passUntil } = await connectTo(server)
      await server.begin(fault)
      await passUntil(() => connection.problem?.replace(PLACE, '').startsWith(PROBLEMS[fault]) === true)
      const { accepted } = server
      // Further attempts are made, as far as the server sees them.
      if (fault !== 'refused') await passUntil(() => server.accepted > accepted + 1)
      await server.end()
      await passUntil(() => connection.problem === undefined)
      await expect.poll(() => server.connections).toBe(1)
      const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
      expect(errors.filter(({ reason }) => reason.startsWith(PROBLEMS[fault]))).toHaveLength(1)
    },
  )

  test('a connection to NATS stays open while the server answers pings and sends nothing else', async () => {
    const server = await listen()
    const { connection, clock } = await connectTo(server)
    const before = server.pings
    for (let second = 1; second <= 30; second++) {
      clock.advance(1_000)
      await expect.poll(() => server.pings).toBe(before + second)
      // The answer is read before the next second.
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect([connection.problem, server.connections]).toEqual([undefined, 1])
  })

  test('a connection to NATS stays open when this process was suspended for 20 s', async () => {
    const server = await listen()
    const { connection, clock } = await connectTo(server)
    for (let time = 1; time <= 3; time++) clock.standStill(20_000)
    const before = server.pings
    clock.advance(1_000)
    await expect.poll(() => server.pings).toBeGreaterThan(before)
    expect([connection.problem, server.connections]).toEqual([undefined, 1])
  })
})
