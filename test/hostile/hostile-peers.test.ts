/**
 * Peers that are hostile by their timing and not by their bytes: requests that never end, responses that are never
 * read, connections that become silent, the largest request repeated. One built service has to withstand them all, and
 * well-behaved clients are not affected.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { once } from '../support/awaited.ts'
import { note } from '../support/note.ts'
import { ensureBuilt, temporaryFolder } from '../support/running-service.ts'
import { type AttackedService, startAttackedService, stopAttackedService } from './attacked-service.ts'
import { HonestClients } from './honest-clients.ts'
import { ProcessWatch } from './process-watch.ts'
import { RawPeer, readAnswer } from './raw-peer.ts'
import { frameBytes, handshakeHead, OPCODES, StreamPeer } from './stream-peer.ts'

const MEGABYTE = 1_048_576
const HONEST_CLIENTS = 2
const OUTBOX_BYTES_MAX = 262_144
/**
 * `docs/explanation/slow-readers.md`: the reply's size for the largest request, with as few entries as allowed here.
 */
const REPLY_BYTES_MAX = 70_000
/** How long a request head may be slower than the minimum rate. */
const SLOW_SECONDS = 5
const ENDLESS_REQUESTS = 1_000
const ENDLESS_MILLISECONDS_MAX = 240_000
/** Peers here answer no ping. Honest clients do, even if this process is not scheduled for a while. */
const SILENCE_SECONDS = 8
/**
 * A thousand 20 KB connections, and the values of the largest request and its reply, for a few collector runs, because
 * the collector runs rarely on a busy machine. The data queued for a peer is counted exactly elsewhere. This limit is
 * for any other growth.
 */
const GROWTH_BYTES_MAX = 600 * MEGABYTE

const folder = temporaryFolder()
let siege: AttackedService
let honest: HonestClients
let watch: ProcessWatch
let residentBefore = 0

beforeAll(async () => {
  ensureBuilt()
  siege = await startAttackedService(folder.path, {
    'stream.outbox_bytes_max': OUTBOX_BYTES_MAX,
    'stream.silence_seconds': SILENCE_SECONDS,
  })
  const { service, field } = siege
  const options = { wsUrl: service.ws, token: field.reader.token, markets: field.markets.slice(0, 2) }
  watch = new ProcessWatch(service.pid)
  honest = await HonestClients.start(HONEST_CLIENTS, { ...options, watch })
  residentBefore = watch.residentBytes
})

afterAll(async () => {
  clearInterval(dribble)
  for (const peer of endless) peer.destroy()
  watch?.stop()
  siege?.service.command.child.kill('SIGKILL')
  await siege?.service.command.result
  folder.remove()
})

function openStream(): Promise<StreamPeer> {
  return StreamPeer.open(siege.field.stream, siege.field.reader.token)
}

function connections(): Promise<number> {
  return siege.service.operator.metric('tidegate_connections')
}

function entriesRequest(type: string, entries: readonly object[]): string {
  return JSON.stringify({ type, channels: entries })
}

/** Sent while the other tests run, and checked at the end: each is closed after five to ten seconds. */
let endless: readonly RawPeer[] = []
/** The milliseconds from their common start until each was closed. */
let endlessMilliseconds: Promise<number[]> | undefined
let dribble: NodeJS.Timeout | undefined

describe('a thousand requests that never end', () => {
  it('a thousand requests that never end do not delay honest handshakes', async () => {
    const { field } = siege
    const head = handshakeHead(field.reader.token)
    const begin = performance.now()
    endless = await Promise.all(Array.from({ length: ENDLESS_REQUESTS }, () => RawPeer.connect(field.stream)))
    for (const [index, peer] of endless.entries()) {
      // Half a head each, from nothing to all but the last byte.
      peer.send(head.slice(0, Math.floor((index / ENDLESS_REQUESTS) * head.length)))
    }
    const lasting = endless.map((peer) =>
      peer.untilEnded(ENDLESS_MILLISECONDS_MAX).then(() => performance.now() - begin),
    )
    endlessMilliseconds = Promise.all(lasting)
    // Checked at the end, even if one of them has failed before.
    endlessMilliseconds.catch(() => undefined)
    dribble = setInterval(() => {
      for (const peer of endless.slice(800, 900)) peer.send('X: y\r\n')
    }, 1_000)
    for (let count = 0; count < 5; count++) await honest.compareWithNewcomer()
  })
})

describe('a peer that', () => {
  it('a peer that requests the largest replies and reads none occupies the high-water mark and one reply', async () => {
    const { subscriptionsMax, inboundBytesMax } = siege.field
    const type = 'x'.repeat(Math.floor(inboundBytesMax / subscriptionsMax) - 20)
    const request = entriesRequest('subscribe', new Array(subscriptionsMax).fill({ type }))
    const frame = frameBytes({ opcode: OPCODES.text, payload: request })
    const peer = await openStream()
    peer.peer.socket.pause()
    // 20 MB of replies, more than both sides' kernel buffers.
    const asked = 300
    for (let count = 0; count < asked; count++) peer.peer.send(frame)
    await expect.poll(() => siege.service.operator.metric('tidegate_connections_behind')).toBe(1)
    for (let round = 0; round < 3; round++) {
      await honest.compareWithNewcomer()
      const queued = await siege.service.operator.metric('tidegate_send_queue_bytes')
      expect(queued).toBeLessThan(OUTBOX_BYTES_MAX + REPLY_BYTES_MAX)
    }
    // It reads: its requests are answered in order, and none is lost.
    peer.peer.socket.resume()
    await peer.peer.until('all replies', () => peer.replies.length === asked, 60_000)
    expect(new Set(peer.replies).size).toBe(1)
    expect(JSON.parse(peer.replies[0] as string).channels).toHaveLength(subscriptionsMax)
    peer.destroy()
  })

  it('a peer that sends requests without end and reads nothing is no longer read, and its resources are freed at its end', async () => {
    const frame = frameBytes({ opcode: OPCODES.text, payload: '{"type":"subscription_list"}' })
    const batch = Buffer.concat(Array.from({ length: 2_000 }, () => frame))
    const peer = await openStream()
    peer.sendText(entriesRequest('subscribe', [{ type: 'market_data', params: { market: 'BTCUSD' } }]))
    peer.peer.socket.pause()
    // Until both sides' kernel buffers are full.
    let written = 0
    while (peer.peer.socket.writableLength < 4 * MEGABYTE && written < 64 * MEGABYTE) {
      peer.peer.send(batch)
      written += batch.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    await honest.compareWithNewcomer()
    const queued = await siege.service.operator.metric('tidegate_send_queue_bytes')
    expect(queued).toBeLessThan(OUTBOX_BYTES_MAX + REPLY_BYTES_MAX)
    peer.peer.reset()
    await expect.poll(connections).toBe(HONEST_CLIENTS)
  })

  it('a peer that subscribes and unsubscribes a thousand times is answered each time and leaves no book behind', async () => {
    const peer = await openStream()
    const channel = { type: 'market_data', params: { market: 'ETHUSD' } }
    for (let count = 0; count < 500; count++) {
      peer.sendText(entriesRequest('subscribe', [channel]))
      peer.sendText(entriesRequest('unsubscribe', [channel]))
    }
    await peer.peer.until('all replies', () => peer.replies.length === 1_000, 60_000)
    expect(new Set(peer.replies)).toEqual(
      new Set(
        ['subscribe', 'unsubscribe'].map((type) => JSON.stringify({ type, channels: [{ ...channel, success: true }] })),
      ),
    )
    expect(await peer.ask('{"type":"subscription_list"}')).toBe('{"type":"subscription_list","channels":[]}')
    peer.destroy()
  })

  it('a peer that subscribes to more than allowed gets a result for each entry: successes, then duplicates, then the limit', async () => {
    const { markets, subscriptionsMax } = siege.field
    const entries = ['market_data', 'market_data.top_of_book', 'execution_data'].flatMap((type) =>
      markets.map((market) => ({ type, params: { market } })),
    )
    const peer = await openStream()
    const ask = async (...asked: readonly object[]): Promise<{ success: boolean; error: string; message: string }[]> =>
      JSON.parse((await peer.ask(entriesRequest('subscribe', asked))) as string).channels
    const first = await ask(...entries.slice(0, subscriptionsMax - 2), ...entries.slice(0, 2))
    expect(first.map(({ success }) => success)).toEqual([...new Array(subscriptionsMax - 2).fill(true), false, false])
    const second = await ask(...entries.slice(subscriptionsMax - 2))
    expect(second.map(({ success }) => success)).toEqual(entries.slice(subscriptionsMax - 2).map((_, at) => at < 2))
    const refused = [...first, ...second].filter(({ success }) => !success)
    expect(new Set(refused.map(({ error }) => error))).toEqual(new Set(['NO_EFFECT_ACTION']))
    expect(second.at(-1)?.message).toContain(`${subscriptionsMax}`)
    peer.destroy()
  })

  it('a peer that sends a request with more entries than it may subscribe to has it rejected as a whole', async () => {
    const { subscriptionsMax } = siege.field
    const peer = await openStream()
    for (const count of [subscriptionsMax + 1, 1_000, 20_000]) {
      const request = `{"type":"subscribe","channels":[${new Array(count).fill('{}').join()}]}`
      expect(JSON.parse((await peer.ask(request)) as string)).toEqual({
        type: 'error',
        error: 'MALFORMED_REQUEST',
        message: `channels has ${count} entries; ${subscriptionsMax} are the most in one message`,
      })
    }
    expect(await peer.ask('{"type":"subscription_list"}')).toBe('{"type":"subscription_list","channels":[]}')
    peer.destroy()
  })

  it('a peer that sends the maximum rate of pings without reading gets only the newest pong when it reads', async () => {
    const peer = await openStream()
    peer.peer.socket.pause()
    for (let count = 0; count < 90; count++) peer.send({ opcode: OPCODES.ping, payload: `ping ${count}` })
    await honest.compareWithNewcomer()
    peer.peer.socket.resume()
    await peer.peer.until('the newest pong', () => peer.pongs.at(-1) === 'ping 89')
    expect(peer.close).toBeUndefined()
    peer.destroy()
  })

  it('a peer that disconnects in the middle of a body or a message causes no error of the service', async () => {
    const { stream, operator, operatorToken } = siege.field
    const fields = `Host: a\r\nContent-Length: 1000\r\nAuthorization: Bearer ${operatorToken}\r\n`
    const form = `POST /oauth2/token HTTP/1.1\r\n${fields}Content-Type: application/x-www-form-urlencoded\r\n\r\n`
    const json = `POST /admin/v1/customers HTTP/1.1\r\n${fields}Content-Type: application/json\r\n\r\n`
    for (let count = 0; count < 10; count++) {
      const peers = [await RawPeer.connect(stream), await RawPeer.connect(operator)]
      peers[0]?.send(`${form}grant_type=`)
      peers[1]?.send(`${json}{"name":"`)
      const streamPeer = await openStream()
      streamPeer.peer.send(frameBytes({ opcode: OPCODES.text, payload: 'x'.repeat(1_000) }).subarray(0, 500))
      // Answered later on the same kind of connection: the bytes sent before have been read by then.
      await honest.compareWithNewcomer()
      for (const peer of [...peers, streamPeer.peer]) peer.reset()
    }
    await expect.poll(connections).toBe(HONEST_CLIENTS)
  })

  it('a peer that is killed, stopped, or silent for the configured time frees its slot', async () => {
    const { stream, reader } = siege.field
    const settings = JSON.stringify({ ...stream, head: handshakeHead(reader.token) })
    const start = () =>
      fork(new URL('abandoned-peer.ts', import.meta.url), [], { execArgv: ['--import', import.meta.resolve('tsx')] })
    const open = async (child: ChildProcess) => {
      const isOpen = once(child, 'message')
      child.send(settings)
      await isOpen
      expect(await connections()).toBe(HONEST_CLIENTS + 1)
    }
    const [killed, stopped] = [start(), start()]
    await Promise.all([killed, stopped].map((child) => once(child, 'message')))
    await open(killed)
    killed.kill('SIGKILL')
    await expect.poll(connections).toBe(HONEST_CLIENTS)
    await open(stopped)
    // Its kernel still accepts data, as a hanging machine's does for a while.
    stopped.kill('SIGSTOP')
    // Answers no ping and sends nothing.
    const begin = performance.now()
    const silent = await openStream()
    await silent.peer.untilEnded((SILENCE_SECONDS + 60) * 1_000)
    expect(silent.close).toBeUndefined()
    expect(performance.now() - begin).toBeGreaterThan(SILENCE_SECONDS * 1_000)
    await expect.poll(connections, { timeout: (SILENCE_SECONDS + 60) * 1_000, interval: 250 }).toBe(HONEST_CLIENTS)
    stopped.kill('SIGKILL')
  })
})

describe('the thousand requests that never end', () => {
  it('the thousand endless requests are answered with 408 in time', async () => {
    const milliseconds = await endlessMilliseconds
    // The service checks once a second. The first ones closed are those that sent too little.
    expect(Math.min(...(milliseconds as number[]))).toBeGreaterThan((SLOW_SECONDS - 1) * 1_000)
    const statuses = new Set(endless.map(({ received }) => readAnswer(received)?.status))
    expect([...statuses]).toEqual([408])
  })
})

describe('after all hostile peers', () => {
  it('honest clients were not affected, memory is as before, and the service stops cleanly', async () => {
    await honest.compareWithNewcomer()
    expect(honest.problems()).toEqual([])
    const growth = watch.residentBytesMax - residentBefore
    note(JSON.stringify({ residentBefore, growth, beatGap: honest.heartbeatGapMillisecondsMax }))
    expect(growth).toBeLessThan(GROWTH_BYTES_MAX)
    watch.stop()
    await honest.close()
    expect(await stopAttackedService(siege)).toEqual([])
  })
})
