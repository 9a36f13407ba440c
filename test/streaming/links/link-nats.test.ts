/**
 * The link over a real NATS server that is suspended, cut off, too slow to be sent everything, or that wants a password or
 * TLS; and messages of another release.
 */
import { randomBytes } from 'node:crypto'
import { connect } from '@nats-io/transport-node'
import { afterEach, describe, expect, test } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import type { BusExport } from '../../../src/streaming/links/bus-export.ts'
import { type NatsAccess, tryNats } from '../../../src/streaming/links/nats-connection.ts'
import { BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newAuthority, newCertificate, newClientCertificate } from '../../support/certificates.ts'
import { NATS_SERVER, titleWith } from '../../support/foreign-programs.ts'
import {
  committed,
  createFeed,
  createFollower,
  type Feed,
  LINKED,
  linkOverNats,
  openNatsLink,
  reached,
} from '../../support/linked-market.ts'
import { NatsServer } from '../../support/nats-server.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'

const SECRET = 'correct-horse'
const MEBIBYTE = 1_048_576
const REQUEST = {
  market: LINKED.symbol,
  priceDecimals: 2,
  amountDecimals: 4,
  epoch: '',
  version: 0,
  executionNumber: 0,
  milliseconds: 0,
}

const clock = createSystemClock()
const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })

let server: NatsServer
let proxy: TcpProxy | undefined
afterEach(async () => {
  proxy?.close()
  proxy = undefined
  await server.remove()
})

/** A feed with a book of one level. */
async function startFeed(): Promise<Feed> {
  const feed = createFeed()
  feed.sequencer.offer({ type: 'snapshot', levels: [bid(100, 1)] })
  await committed(feed)
  return feed
}

async function trade(feed: Feed, id: string): Promise<void> {
  const executions = [{ price: 100, amount: 3, id }]
  feed.sequencer.offer({ type: 'update', changes: [bid(100, 1_000 + feed.replica.version)], executions })
  await committed(feed)
}

/**
 * Answers requests for the state with this one. `untilAsked` resolves when a request of the other end has come: then the
 * server has what both have subscribed to, because each subscribed before it sent anything.
 */
function serveState({ link }: ReturnType<typeof openNatsLink>, state: Buffer) {
  let asked = 0
  const onCommitRequest = () => {
    asked += 1
  }
  link.serve(LINKED.symbol, { onStateRequest: (_request, answer) => answer([state]) }, onCommitRequest)
  return {
    untilAsked: (other: ReturnType<typeof openNatsLink>) =>
      expect
        .poll(() => {
          other.link.importTransport.requestCommit({ market: LINKED.symbol, laterThanMilliseconds: 0 })
          return asked
        })
        .toBeGreaterThan(0),
  }
}

describe.skipIf(NATS_SERVER.isSkipped)(titleWith('a link over NATS', NATS_SERVER, 'nats-server'), () => {
  test('a link over NATS drops messages that a suspended server does not take, and is repaired when it continues', async () => {
    server = await NatsServer.start()
    const feed = await startFeed()
    const followed = linkOverNats(feed, server.url)
    await reached(followed, feed)
    const { link, value } = followed.sending
    server.suspend()
    const bytes = Buffer.alloc(MEBIBYTE / 2)
    for (let sent = 0; sent < 200; sent++) link.exportTransport.sendMessages('BBBUSD', bytes)
    // 32 MiB are on their way, and what is larger than the rest of that limit is not.
    const dropped = (await value('tidegate_bus_dropped_total')) as number
    expect(dropped).toBeGreaterThanOrEqual(136)
    expect(dropped).toBeLessThan(200)
    await expect.poll(() => link.problem).toContain('the server does not answer')
    await trade(feed, 'a')
    server.resume()
    await reached(followed, feed)
    expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
    expect(followed.replica.executions.at(1).execution.id).toBe('a')
  })

  test.each(['cut', 'freeze'] as const)(
    'a link over NATS is repaired after a %s of the follower’s connection',
    async (fault) => {
      server = await NatsServer.start()
      proxy = await TcpProxy.listen(server.port)
      const feed = await startFeed()
      const followed = linkOverNats(feed, server.url, `nats://127.0.0.1:${proxy.port}`)
      await reached(followed, feed)
      if (fault === 'cut') await proxy.refuse()
      else proxy.freeze()
      await expect.poll(() => followed.receiving.link.problem).toBeDefined()
      await trade(feed, 'a')
      await trade(feed, 'b')
      if (fault === 'cut') await proxy.accept()
      else proxy.thaw()
      await reached(followed, feed)
      expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
      expect([1, 2].map((number) => followed.replica.executions.at(number).execution.id)).toEqual(['a', 'b'])
    },
  )

  test('a link over NATS is repaired when the server has disconnected a follower that does not read', async () => {
    server = await NatsServer.start({ lines: ['write_deadline: "200ms"', 'max_pending: 2MB'] })
    proxy = await TcpProxy.listen(server.port)
    const feed = await startFeed()
    const followed = linkOverNats(feed, server.url, `nats://127.0.0.1:${proxy.port}`)
    await reached(followed, feed)
    proxy.freeze('answers')
    // More than the buffers of the two sockets between the server and the follower take.
    for (let sent = 0; sent < 60; sent++) {
      followed.sending.link.exportTransport.sendMessages(LINKED.symbol, Buffer.alloc(MEBIBYTE / 2))
    }
    await server.logged('Slow Consumer Detected')
    await trade(feed, 'a')
    proxy.thaw()
    await reached(followed, feed)
    expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
  })

  test('a link over NATS carries a state of 60 MiB between commits, once per request, and drops nothing', async () => {
    server = await NatsServer.start()
    const state = randomBytes(60 * MEBIBYTE)
    const [sending, receiving] = [openNatsLink({ url: server.url }), openNatsLink({ url: server.url })]
    const { untilAsked } = serveState(sending, state)
    const received: Buffer[] = []
    let messages = 0
    receiving.link.startImport({
      onMessages: () => {
        messages += 1
      },
      onHeartbeats: () => undefined,
      onDigest: () => undefined,
      onProofs: () => undefined,
      onState: (bytes) => received.push(bytes),
      requestAgain: () => undefined,
    })
    receiving.link.follow(LINKED.symbol)
    await untilAsked(receiving)
    for (let asked = 0; asked < 3; asked++) receiving.link.importTransport.requestState(REQUEST)
    let sent = 0
    await expect
      .poll(() => {
        sent += 1
        sending.link.exportTransport.sendMessages(LINKED.symbol, Buffer.alloc(10_000))
        return received.length
      })
      .toBe(1)
    expect(received[0]?.equals(state)).toBe(true)
    await expect.poll(() => messages).toBe(sent)
    expect(await sending.value('tidegate_bus_dropped_total')).toBe(0)
  })

  test('a link over NATS answers a repeated request when its connection was lost during the first answer', async () => {
    server = await NatsServer.start()
    const state = randomBytes(8 * MEBIBYTE)
    const [sending, receiving] = [openNatsLink({ url: server.url }), openNatsLink({ url: server.url })]
    let requests = 0
    const onStateRequest: BusExport['onStateRequest'] = (_request, answer) => {
      requests += 1
      // It takes no more than the sockets' buffers, and confirms nothing.
      if (requests === 1) server.suspend()
      answer([state])
    }
    sending.link.serve(LINKED.symbol, { onStateRequest }, () => undefined)
    const received: Buffer[] = []
    const nothing = () => undefined
    const ignored = { onMessages: nothing, onHeartbeats: nothing, onDigest: nothing, onProofs: nothing }
    receiving.link.startImport({ ...ignored, onState: (bytes) => received.push(bytes), requestAgain: nothing })
    const requestUntil = (isTrue: () => boolean) =>
      expect
        .poll(() => {
          receiving.link.importTransport.requestState(REQUEST)
          return isTrue()
        })
        .toBe(true)
    await requestUntil(() => requests > 0)
    await server.kill()
    await expect.poll(() => sending.link.problem).toBeDefined()
    await server.restart()
    await requestUntil(() => received.length > 0)
    expect(received[0]?.equals(state)).toBe(true)
  })

  test('a link over NATS refuses to send a state of more than 64 MiB, counts it and names it once', async () => {
    server = await NatsServer.start()
    const { log, lines } = captureLog()
    const [sending, receiving] = [openNatsLink({ url: server.url }, log), openNatsLink({ url: server.url })]
    const { untilAsked } = serveState(sending, Buffer.alloc(64 * MEBIBYTE + 1))
    await untilAsked(receiving)
    for (let asked = 0; asked < 2; asked++) receiving.link.importTransport.requestState(REQUEST)
    await expect.poll(() => sending.value('tidegate_bus_states_too_large_total')).toBe(2)
    const named = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error' || level === 50)
    expect(named).toMatchObject([{ market: LINKED.symbol, bytes: 67_108_865, bytes_max: 67_108_864 }])
  })

  test('a message of another release on NATS is named once and counted, and is repaired as a loss', async () => {
    server = await NatsServer.start()
    const { log, lines } = captureLog()
    const { link } = openNatsLink({ url: server.url })
    const follower = createFollower(link.importTransport, log)
    link.startImport(follower.importer)
    link.follow(LINKED.symbol)
    const other = await connect({ servers: server.url })
    const malformed = () => follower.metrics.getSingleMetricAsString('tidegate_bus_malformed_total')
    await expect
      .poll(async () => {
        other.publish(`tidegate.market.${LINKED.symbol}`, Uint8Array.of(99, 1, 2))
        other.publish('tidegate.heartbeat.other', Uint8Array.of(98))
        return (await malformed()).match(/_total ([0-9]+)/)?.[1]
      })
      .toMatch(/^[4-9]|../)
    await other.close()
    const reasons = lines.map((line) => (JSON.parse(line) as { reason: string }).reason)
    // Which of the two subscriptions the server has first is not known.
    expect(reasons).toEqual([
      expect.stringMatching(/^a message has the format 9[89], but this release reads format 1$/),
    ])
  })

  test.each([
    ['a user and a password', { user: 'tidegate', password: SECRET }, `tidegate:${SECRET}`, 'tidegate:wrong-one'],
    ['a token', { token: SECRET }, SECRET, 'wrong-one'],
  ])(
    'NATS credentials with %s are accepted when right, and a wrong one is reported without its value',
    async (_title, options, right, wrong) => {
      server = await NatsServer.start(options)
      const urlWith = (userinfo: string) => server.url.replace('//', `//${userinfo}@`)
      const feed = await startFeed()
      await reached(linkOverNats(feed, urlWith(right)), feed)
      const { log, lines } = captureLog()
      const { link } = openNatsLink({ url: urlWith(wrong) }, log)
      await expect.poll(() => link.problem).toBe(`127.0.0.1:${server.port}: Authorization Violation`)
      expect(lines.filter((line) => line.includes('Authorization Violation'))).toHaveLength(1)
      expect(lines.join()).not.toContain('wrong-one')
      // The server accepts it after a change there, without a restart here.
      await server.kill()
      server.configure(
        Object.fromEntries(Object.keys(options).map((key) => [key, key === 'user' ? 'tidegate' : 'wrong-one'])),
      )
      await server.restart()
      await expect.poll(() => link.problem).toBeUndefined()
    },
  )

  test('a link over NATS verifies the certificate of the server, which verifies that of this process', async () => {
    const authority = await newAuthority('clients')
    const files = certificateFiles(await newCertificate('nats'))
    const others = certificateFiles(await newCertificate('other'))
    const { certFile, keyFile } = certificateFiles(await newClientCertificate('gateway', authority))
    const clientCaFile = certificateFiles(authority).certFile
    server = await NatsServer.start({ tls: { ...files, clientCaFile } })
    const tls = { caFile: files.certFile, certFile, keyFile }
    const access: NatsAccess = { url: server.url, credentials: undefined, tls }
    const { link } = openNatsLink(access)
    await expect.poll(() => link.problem).toBeUndefined()
    await expect(tryNats(access, clock)).resolves.toMatch(/^127[.]0[.]0[.]1:[0-9]+, NATS 2[.]/)
    await expect(tryNats({ ...access, tls: { caFile: files.certFile } }, clock)).rejects.toThrow(
      /certificate|closed|ECONNRESET/,
    )
    await expect(tryNats({ ...access, tls: { ...tls, caFile: others.certFile } }, clock)).rejects.toThrow(/certificate/)
    const otherName = access.url.replace('127.0.0.1', 'localhost')
    await expect(tryNats({ ...access, url: otherName }, clock)).rejects.toThrow(/localhost/)
  })
})
