import { expect, test } from 'vitest'
import { UsageCell } from '../../../src/access/metering/meter.ts'
import { Chunk, Outbox, type OutboxTotals } from '../../../src/streaming/gateway/outbox.ts'
import { FakeTransport } from '../../support/fake-transport.ts'

const HIGH_WATER_BYTES = 1_000

/** One frame of exactly `bytes`, filled with `text`. */
function chunkOf(bytes: number, text = ' '): Chunk {
  const frame = Buffer.alloc(bytes, text)
  frame.writeUInt8(0x81, 0)
  frame.writeUInt8(126, 1)
  frame.writeUInt16BE(bytes - 4, 2)
  return new Chunk(frame, 1)
}

function outboxWith(kernelBytes: number, gathers = false) {
  const transport = new FakeTransport(kernelBytes, () => undefined)
  const totals: OutboxTotals = { messages: 0, bytes: 0, conflated: 0, lagging: 0 }
  const events: string[] = []
  const outbox = new Outbox({
    transport,
    highWaterBytes: HIGH_WATER_BYTES,
    gathers,
    totals,
    owner: {
      onBlocked: () => events.push('blocked'),
      onUnblocked: () => events.push(`unblocked at ${transport.queuedBytes}`),
    },
  })
  const send = (bytes: number) => outbox.sendChunk(chunkOf(bytes), new UsageCell('', ''))
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
  const chunk = new Chunk(Buffer.from([0x81, 0x00]), 1)
  expect([outbox.add(chunk), outbox.add(chunk), outbox.add(chunk)]).toEqual([true, false, false])
  outbox.flush()
  expect(transport.writeCount).toBe(1)
  expect(transport.queuedBytes).toBe(6)
  expect(outbox.add(chunk)).toBe(true)
})

test('outboxes that are given the same chunks in the same order write the same buffer', () => {
  const chunks = ['a', 'b', 'c', 'd'].map((text) => chunkOf(10, text))
  const orders = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 1], [0, 3], [1], [0, 1, 2, 3]]
  const written = orders.map((order) => {
    const { outbox, transport } = outboxWith(10_000)
    const buffers: Buffer[] = []
    transport.write = (bytes) => void buffers.push(bytes)
    for (const place of order) outbox.add(chunks[place] as Chunk)
    outbox.flush()
    expect(buffers).toEqual([Buffer.concat(order.map((place) => (chunks[place] as Chunk).frames))])
    return buffers[0]
  })
  expect(written[1]).toBe(written[0])
  expect(written[3]).toBe(written[2])
  expect(new Set(written).size).toBe(5)
})

test('a joined chunk is the same whether or not its parts were written before', () => {
  const [first, second, third] = ['a', 'b', 'c'].map((text) => chunkOf(10, text)) as [Chunk, Chunk, Chunk]
  const early = first.followedBy(second)
  const late = early.followedBy(third)
  const all = Buffer.concat([first.frames, second.frames, third.frames])
  expect([late.byteCount, late.messageCount]).toEqual([30, 3])
  expect(early.frames).toEqual(all.subarray(0, 20))
  expect(late.frames).toEqual(all)
  expect(first.followedBy(second.followedBy(third)).frames).toEqual(all)
})

test('gathered bytes count as queued, and leave at once with the chunk that exceeds the high-water mark', () => {
  const { outbox, transport, totals, events, read } = outboxWith(100, true)
  for (let count = 0; count < 5; count++) outbox.add(chunkOf(200))
  expect([outbox.queuedBytes, transport.queuedBytes, transport.writeCount]).toEqual([HIGH_WATER_BYTES, 0, 0])
  expect(outbox.add(chunkOf(200))).toBe(false)
  expect([outbox.queuedBytes, transport.queuedBytes, transport.writeCount]).toEqual([1_200, 1_200, 1])
  expect([outbox.isBlocked, totals.lagging, events]).toEqual([true, 1, ['blocked']])
  read()
  expect(events).toEqual(['blocked', 'unblocked at 0'])
  outbox.sendChunk(chunkOf(900), new UsageCell('', ''))
  outbox.add(chunkOf(100))
  expect([outbox.isBlocked, transport.queuedBytes]).toEqual([false, 900])
  outbox.add(chunkOf(100))
  expect([outbox.isBlocked, transport.queuedBytes]).toEqual([true, 1_100])
})

test('a message is written after what was gathered, a long one in its own writes', () => {
  const { outbox, transport } = outboxWith(10_000, true)
  const buffers: string[] = []
  transport.write = (bytes) => void buffers.push(bytes.toString('latin1'))
  const [first, second, third] = ['a', 'b', 'c'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]
  outbox.add(new Chunk(first, 1))
  outbox.send([second], new UsageCell('', ''))
  outbox.add(new Chunk(second, 1))
  outbox.sendChunk(new Chunk(third, 1), new UsageCell('', ''))
  outbox.add(new Chunk(third, 1))
  outbox.send([first, second], new UsageCell('', ''))
  expect(buffers).toEqual(['ab', 'bc', 'c', 'a'])
  expect(outbox.isBlocked).toBe(true)
})

test('nothing gathered is written after the end', () => {
  const { outbox, transport } = outboxWith(10_000, true)
  outbox.add(chunkOf(100))
  outbox.end()
  outbox.flush()
  expect([transport.writeCount, outbox.queuedBytes]).toEqual([0, 0])
})
