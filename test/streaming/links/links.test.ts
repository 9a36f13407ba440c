/** What every link between processes does, over a real pipe and a real NATS server. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  decodeCommitRequest,
  decodeStateRequest,
  encodeCommitRequest,
  encodeStateRequest,
} from '../../../src/streaming/links/bus-requests.ts'
import { PipeLink } from '../../../src/streaming/links/link-pipe.ts'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { once } from '../../support/awaited.ts'
import { NATS_SERVER, titleWith } from '../../support/foreign-programs.ts'
import {
  committed,
  createFeed,
  createFollower,
  exportFeed,
  type Feed,
  type Followed,
  LINKED,
  linkOverNats,
  reached,
} from '../../support/linked-market.ts'
import { NatsServer } from '../../support/nats-server.ts'

/** More than one chunk of a state: some 600 KB. */
const LEVELS = 60_000

/** Connects a feed with one that follows it; `cut` breaks the connection until the returned function is called. */
interface Link {
  follow(feed: Feed): Promise<Followed>
  cut?(): Promise<() => Promise<void>>
}

const pipe: Link = {
  async follow(feed) {
    const [near, far] = await connectedSockets()
    const exporter = exportFeed(feed, {
      sendMessages: (_market, bytes) => sending.send('messages', bytes),
      sendHeartbeats: (bytes) => sending.send('heartbeats', bytes),
      sendDigest: (bytes) => sending.send('digest', bytes),
    })
    const sending = new PipeLink(near, (name, bytes) => {
      if (name === 'commitRequest') feed.bus.requestCommit(decodeCommitRequest(bytes).market)
      else
        exporter.onStateRequest(decodeStateRequest(bytes), (states) => {
          for (const state of states) sending.send('state', state)
        })
    })
    const follower = createFollower({
      requestState: (request) => receiving.send('stateRequest', encodeStateRequest(request)),
      requestCommit: (request) => receiving.send('commitRequest', encodeCommitRequest(request)),
    })
    const receiving = new PipeLink(far, (name, bytes) => {
      if (name === 'messages') follower.importer.onMessages(bytes)
      else if (name === 'heartbeats') follower.importer.onHeartbeats(bytes)
      else if (name === 'digest') follower.importer.onDigest(bytes)
      else follower.importer.onState(bytes)
    })
    return follower
  },
}

async function connectedSockets(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), 'pipe-'))
  const server = createServer().listen(join(folder, 'socket'))
  await once(server, 'listening')
  const far = createConnection(join(folder, 'socket'))
  const [near] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    near.destroy()
    far.destroy()
    server.close()
    rmSync(folder, { recursive: true })
  })
  return [near, far]
}

let server: NatsServer

const nats: Link = {
  follow: async (feed) => linkOverNats(feed, server.url),
  async cut() {
    await server.kill()
    return () => server.restart()
  },
}

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })

describe.each([
  ['a pipe', pipe],
  ['NATS', nats],
] as const)('over %s', (name, link) => {
  const skips = name === 'NATS' && NATS_SERVER.isSkipped
  describe.skipIf(skips)(name === 'NATS' ? titleWith('a market', NATS_SERVER, 'nats-server') : 'a market', () => {
    if (name === 'NATS') {
      beforeAll(async () => {
        server = await NatsServer.start()
      })
      afterAll(() => server?.remove())
    }

    test('a market over a link is followed from its first commit on', async () => {
      const feed = createFeed()
      const followed = await link.follow(feed)
      feed.sequencer.offer({ type: 'snapshot', levels: [bid(100, 2n ** 70n)] })
      await committed(feed)
      await reached(followed, feed)
      const executions = [{ price: 100, amount: 3, id: 'a', side: 'buy' as const }]
      feed.sequencer.offer({ type: 'update', changes: [bid(99, 1)], executions })
      await committed(feed)
      await reached(followed, feed)
      expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
      expect(followed.replica.executions.at(1).execution).toEqual(executions[0])
    })

    test('a market that runs already is followed over a link from its state on, however large', async () => {
      const feed = createFeed()
      const levels = Array.from(
        { length: LEVELS },
        (_, index): LevelChange =>
          index % 2 === 0
            ? bid(1_000_000 - index, 2 ** 40 + index)
            : { side: ASK, price: 1_000_000 + index, amount: index },
      )
      feed.sequencer.offer({ type: 'snapshot', levels })
      await committed(feed)
      const followed = await link.follow(feed)
      await reached(followed, feed)
      expect(followed.replica.view.levels()).toEqual(feed.replica.view.levels())
      expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
    })

    test('a market commits when a follower asks for it over a link', async () => {
      const feed = createFeed()
      feed.sequencer.offer({ type: 'snapshot', levels: [bid(100, 1)] })
      await committed(feed)
      const followed = await link.follow(feed)
      await reached(followed, feed)
      expect(followed.bus.requestCommit(LINKED.symbol)).toBe(true)
      await committed(feed)
      await reached(followed, feed)
      expect(followed.replica.version).toBe(2)
    })

    test.skipIf(link.cut === undefined)(
      'a market over a link is repaired when the connection is back, with its executions',
      async () => {
        const feed = createFeed()
        const followed = await link.follow(feed)
        feed.sequencer.offer({ type: 'snapshot', levels: [bid(100, 1)] })
        await committed(feed)
        await reached(followed, feed)
        const restore = await link.cut?.()
        for (const [place, id] of ['a', 'b'].entries()) {
          const executions = [{ price: 100, amount: 3, id }]
          feed.sequencer.offer({ type: 'update', changes: [bid(100, 2 + place)], executions })
          await committed(feed)
        }
        await restore?.()
        await reached(followed, feed)
        expect(followed.replica.state('', 0)).toEqual(feed.replica.state('', 0))
        const ids = [1, 2].map((number) => followed.replica.executions.at(number).execution.id)
        expect([ids, followed.replica.executions.firstNumber]).toEqual([['a', 'b'], 1])
      },
    )
  })
})
