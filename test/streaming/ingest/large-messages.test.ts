/**
 * Messages that are read in parts, over real sockets: their order among those of the same connection, and that other
 * connections continue meanwhile.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { PublishingEngine, type WireMessage } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'
import { NodeClock } from '../../support/virtual-clock.ts'
import { Stage } from './stage.ts'

/** Each reading of this clock takes 0.4 ms: about ten parts of a message are read in a tick, however fast the machine is. */
class BusyClock extends NodeClock {
  #reads = 0

  override monotonicMilliseconds(): number {
    this.#reads += 1
    return super.monotonicMilliseconds() + this.#reads * 0.4
  }
}

const MESSAGE_BYTES_MAX = 16_777_216
const opened: Stage[] = []
afterEach(async () => {
  for (const stage of opened.splice(0)) await stage.close()
})

async function openStage(): Promise<Stage> {
  const stage = await Stage.open({ messageBytesMax: MESSAGE_BYTES_MAX }, undefined, new BusyClock())
  opened.push(stage)
  return stage
}

function engineOf(symbol: string): PublishingEngine {
  const engine = new PublishingEngine({ symbol, random: new Random(7), publishesOrders: false, keptMax: 10 })
  for (let count = 0; count < 300; count++) engine.step()
  return engine
}

/** The message with spaces after its commas: it is read in many parts. */
function padded(message: WireMessage): string {
  return JSON.stringify(message).replaceAll(',', `,${' '.repeat(200_000)}`)
}

function expectBook(stage: Stage, engine: PublishingEngine): void {
  const levels = new Map<string, string>()
  for (const [key, amount] of engine.levels()) {
    const [side, price = ''] = key.split(' ')
    levels.set(`${side} ${Number(price.replace('.', ''))}`, String(BigInt(amount.replace('.', ''))))
  }
  expect(stage.market(engine.symbol).levels).toEqual(levels)
}

const isAt = (stage: Stage, engine: PublishingEngine, seq = engine.seq) =>
  stage.market(engine.symbol).state === 'live' && stage.market(engine.symbol).origin === `${engine.epoch}.${seq}`

describe('a large SNAPSHOT', () => {
  it('a large SNAPSHOT is taken before the messages after it, and other connections continue meanwhile', async () => {
    const stage = await openStage()
    const [large, small] = [engineOf('BTCUSD'), engineOf('ETHUSD')]
    const [client, other] = [await stage.connect('engine'), await stage.connect('other')]
    other.send(small.snapshot())
    await stage.until('the other market', () => isAt(stage, small))
    const text = padded(large.snapshot())
    expect(text.length).toBeGreaterThan(3_000_000)
    const before = await stage.metric('tidegate_ingest_bytes_total')
    client.send(text)
    const updates = Array.from({ length: 50 }, () => large.step())
    for (const message of updates) client.send(message)
    await stage.untilSeen('the SNAPSHOT', async () => (await stage.metric('tidegate_ingest_bytes_total')) > before)
    let stateMeanwhile: string | undefined
    stage.market('ETHUSD').onEvent = () => {
      stateMeanwhile ??= stage.market('BTCUSD').state
    }
    other.send(small.step())
    await stage.until('the last message', () => isAt(stage, large))
    await stage.until('the message of the other market', () => isAt(stage, small))
    expect(stateMeanwhile).toBe('starting')
    const types = stage.market('BTCUSD').events.map(({ type }) => type)
    expect(types).toEqual(['snapshot', ...updates.map(() => 'update')])
    expect(stage.market('BTCUSD').missed).toBe(0)
    expectBook(stage, large)
    expectBook(stage, small)
  })

  it('a large SNAPSHOT is forgotten with its connection', async () => {
    const stage = await openStage()
    const engine = engineOf('BTCUSD')
    const client = await stage.connect('engine')
    client.send(padded(engine.snapshot()))
    await stage.untilSeen('the SNAPSHOT', async () => (await stage.metric('tidegate_ingest_bytes_total')) > 0)
    stage.revoke('engine')
    await client.untilClosed()
    const again = await stage.connect('other')
    again.send(engine.snapshot())
    await stage.until('the market', () => isAt(stage, engine))
    expect(stage.market('BTCUSD').events).toHaveLength(1)
  })

  it.each([
    ['is not JSON', (text: string) => text.replace(/\]/, ','), 'the message is not JSON'],
    ['names no market', (text: string) => text.replace('"market":', '"markt":'), 'payload.market is missing'],
  ])('a large SNAPSHOT that %s ends the connection', async (_what, change, reason) => {
    const stage = await openStage()
    const client = await stage.connect('engine')
    client.send(change(padded(engineOf('BTCUSD').snapshot())))
    await client.untilClosed()
    expect(client.received.at(-2)).toMatchObject({ type: 'rejected', message: reason })
    expect(stage.market('BTCUSD').events).toEqual([])
  })

  it('a large SNAPSHOT that breaks a rule of its market is refused, and requested again once', async () => {
    const stage = await openStage()
    const engine = engineOf('BTCUSD')
    const client = await stage.connect('engine')
    client.send(padded(engine.snapshot()).replace(/"amount":"[^"]*"/, '"amount":"0.000000001"'))
    await client.until(({ type }) => type === 'snapshot_request')
    expect(stage.market('BTCUSD')).toMatchObject({
      state: 'lost',
      reason: expect.stringContaining('more than the 8 decimals'),
    })
    client.send(padded(engine.snapshot()))
    await stage.until('the market', () => isAt(stage, engine))
    expect(client.received.filter(({ type }) => type === 'snapshot_request')).toHaveLength(1)
    expectBook(stage, engine)
  })

  it('a large SNAPSHOT may be a line of POST /publish', async () => {
    const stage = await openStage()
    const [large, small] = [engineOf('BTCUSD'), engineOf('ETHUSD')]
    const post = (lines: readonly string[]) =>
      fetch(new URL('/publish', stage.url), {
        method: 'POST',
        headers: { authorization: 'Bearer engine', 'content-type': 'application/x-ndjson' },
        body: lines.join('\n'),
      }).then((answer) => answer.json())
    const text = padded(large.snapshot())
    const seq = large.seq
    const answers = await Promise.all([
      post([text, JSON.stringify(large.step())]),
      post([JSON.stringify(small.snapshot()), padded(small.snapshot())]),
    ])
    expect(answers[0]).toEqual({ accepted: [{ market: 'BTCUSD', epoch: large.epoch, seq: seq + 1 }], problems: [] })
    expect(answers[1]).toEqual({ accepted: [{ market: 'ETHUSD', epoch: small.epoch, seq: small.seq }], problems: [] })
    expectBook(stage, large)
    expectBook(stage, small)
  })
})
