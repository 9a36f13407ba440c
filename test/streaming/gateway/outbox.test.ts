import { expect, test } from 'vitest'
import { Outbox, type OutboxTotals } from '../../../src/streaming/gateway/outbox.ts'
import { FakeTransport } from '../../support/fake-transport.ts'

const HIGH_WATER_BYTES = 1_000

function outboxWith(kernelBytes: number) {
  const transport = new FakeTransport(kernelBytes, () => undefined)
  const totals: OutboxTotals = { messages: 0, bytes: 0, conflated: 0, lagging: 0 }
  const events: string[] = []
  const outbox = new Outbox({
    transport,
    highWaterBytes: HIGH_WATER_BYTES,
    totals,
    owner: {
      onBlocked: () => events.push('blocked'),
      onUnblocked: () => events.push(`unblocked at ${transport.queuedBytes}`),
    },
  })
  /** A chunk of one frame of exactly `bytes`. */
  const send = (bytes: number) => {
    const frame = Buffer.alloc(bytes, 0x20)
    frame.writeUInt8(0x81, 0)
    frame.writeUInt8(126, 1)
    frame.writeUInt16BE(bytes - 4, 2)
    outbox.sendChunk({ frames: frame, messageCount: 1 })
  }
  const read = () => {
    transport.flush()
    transport.drain()
  }
  return { outbox, transport, totals, events, send, read }
}

test('the outbox blocks above the high-water mark, and unblocks at half of it', () => {
  const { outbox, totals, events, send, read } = outboxWith(200)
  for (let count = 0; count < 5; count++) send(200)
  expect([outbox.isBlocked, totals.lagging]).toEqual([false, 0])
  send(200)
  expect([outbox.isBlocked, totals.lagging]).toEqual([true, 1])
  while (events.length < 2) read()
  expect(events).toEqual(['blocked', 'unblocked at 400'])
  expect([outbox.isBlocked, totals.lagging]).toEqual([false, 0])
  read()
  expect(events).toHaveLength(2)
  expect(totals).toEqual({ messages: 6, bytes: 1_200, conflated: 0, lagging: 0 })
})

test('an outbox that ended while lagging is no longer counted, and late callbacks do nothing', () => {
  const { outbox, totals, events, send, read } = outboxWith(200)
  for (let count = 0; count < 10; count++) send(200)
  expect(totals.lagging).toBe(1)
  outbox.end()
  outbox.end()
  expect(totals.lagging).toBe(0)
  for (let count = 0; count < 10; count++) read()
  expect(events).toEqual(['blocked'])
  expect(outbox.isBlocked).toBe(true)
})

test('the chunks of one tick leave in one write', () => {
  const { outbox, transport } = outboxWith(10_000)
  const chunk = { frames: Buffer.from([0x81, 0x00]), messageCount: 1 }
  expect([outbox.add(chunk), outbox.add(chunk), outbox.add(chunk)]).toEqual([true, false, false])
  outbox.flush()
  expect(transport.writeCount).toBe(1)
  expect(transport.queuedBytes).toBe(6)
  expect(outbox.add(chunk)).toBe(true)
})
