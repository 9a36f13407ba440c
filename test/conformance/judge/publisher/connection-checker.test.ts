/** What `check-publisher` reports about single messages of a connection. */
import { expect, it } from 'vitest'
import { ConnectionChecker } from '../../../../src/conformance/judge/publisher/connection-checker.ts'

it('a message that is larger than the service reads is reported, although its content is right', () => {
  const reports: string[] = []
  const checker = new ConnectionChecker({
    markets: new Map(),
    report: (name, _market, detail) => reports.push(`${name}: ${detail}`),
    heartbeatMilliseconds: 6_000,
    isMain: true,
    unexpected: 'message-unrequested',
  })
  const heartbeat = (padding: string) => JSON.stringify({ channel: 'heartbeat', payload: { padding } })
  const rest = Buffer.byteLength(heartbeat(''))
  checker.take(heartbeat('x'.repeat(16_777_216 - rest)), 0)
  expect(reports).toEqual([])
  // Bytes count, not characters.
  checker.take(heartbeat(`${'x'.repeat(16_777_216 - rest - 1)}é`), 0)
  expect(reports).toEqual(['message-malformed: the message has 16777217 bytes, and the service reads at most 16777216'])
})
