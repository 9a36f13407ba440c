/** The executions of the client: all of them in order, and a GAP in the place of those that are lost. */
import { describe, expect, it } from 'vitest'
import { type Executions, StreamClient } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, type FakeSocket, settled } from '../support/client-platform.ts'
import { bookTime, execution } from '../support/wire.ts'

const M = 'BTCUSD'

interface Opened {
  readonly platform: FakePlatform
  readonly socket: FakeSocket
  readonly client: StreamClient
  readonly executions: Executions
  readonly loop: AsyncIterator<unknown>
}

function trade(number: number, prev = number === 1 ? undefined : `e${number - 1}`): object {
  const stream = { cursor: `e${number}`, ...(prev === undefined ? {} : { prev }), covers: 1 }
  return { ...execution(M, number, '100.00', `${number}.0`), stream }
}

async function open(protocol = 'tidegate.v1'): Promise<Opened> {
  const platform = new FakePlatform()
  const client = new StreamClient({ credentials: CREDENTIALS }, platform)
  const opening = client.executions(M)
  await settled()
  const socket = platform.socketNow
  socket.open(protocol)
  await settled()
  socket.acknowledge()
  const executions = await opening
  return { platform, socket, client, executions, loop: executions[Symbol.asyncIterator]() }
}

async function reconnect(
  { platform, socket }: Opened,
  resumed?: boolean,
  protocol = 'tidegate.v1',
): Promise<FakeSocket> {
  socket.end(4000, 'execution stream has a gap')
  await platform.pass(1_000)
  platform.socketNow.open(protocol)
  await settled()
  platform.socketNow.acknowledge(resumed === undefined ? {} : { resumed })
  return platform.socketNow
}

const next = async ({ loop }: Opened) => (await loop.next()).value

describe('executions', () => {
  it('executions come in order, with all members that the service sends', async () => {
    const opened = await open()
    const first = trade(1) as { payload: object }
    opened.socket.receive({ ...first, payload: { ...first.payload, id: 'x-1', side: 'buy', venue: 'kraken' } })
    opened.socket.receive(trade(2))
    expect(await next(opened)).toEqual({
      type: 'EXECUTION',
      price: '100.00',
      amount: '1.0',
      executedAt: bookTime(1),
      id: 'x-1',
      side: 'buy',
      venue: 'kraken',
    })
    expect(await next(opened)).toMatchObject({ amount: '2.0' })
  })

  it('executions are resumed without a gap', async () => {
    const opened = await open()
    opened.socket.receive(trade(1))
    const socket = await reconnect(opened, true)
    expect(socket.requests[0]?.channels[1]?.params?.resume).toBe('e1')
    socket.receive(trade(2))
    expect([await next(opened), await next(opened)]).toMatchObject([{ amount: '1.0' }, { amount: '2.0' }])
  })

  it.each([
    ['the service has them no longer', false, 'tidegate.v1'],
    ['the protocol cannot resume', undefined, 'tidegate.default'],
  ])('executions have a GAP where %s', async (_why, resumed, protocol) => {
    const opened = await open(protocol)
    const isExtended = protocol === 'tidegate.v1'
    opened.socket.receive(isExtended ? trade(1) : execution(M, 1, '100.00', '1.0'))
    const socket = await reconnect(opened, resumed, protocol)
    socket.receive(isExtended ? trade(7, undefined) : execution(M, 7, '100.00', '7.0'))
    expect(await next(opened)).toMatchObject({ amount: '1.0' })
    expect(await next(opened)).toEqual({ type: 'GAP', reason: 'closed with 4000 execution stream has a gap' })
    expect(await next(opened)).toMatchObject({ amount: '7.0' })
  })

  it('executions begin without a GAP when a connection was lost before the service accepted them', async () => {
    const platform = new FakePlatform()
    const client = new StreamClient({ credentials: CREDENTIALS }, platform)
    const opening = client.executions(M)
    await settled()
    platform.socketNow.open()
    await settled()
    platform.socketNow.end(1012, 'restarting')
    await platform.pass(1_000)
    const socket = platform.socketNow
    socket.open()
    await settled()
    socket.acknowledge()
    socket.receive(trade(1))
    const loop = (await opening)[Symbol.asyncIterator]()
    expect((await loop.next()).value).toMatchObject({ amount: '1.0' })
  })

  it('executions have a GAP where a message is missing', async () => {
    const opened = await open()
    const { socket, platform } = opened
    socket.receive(trade(1))
    socket.receive(trade(3))
    await platform.pass(0)
    const entry = { type: 'execution_data', params: { market: M }, success: true }
    socket.receive({ type: 'unsubscribe', channels: [entry] })
    socket.receive({ type: 'subscribe', channels: [entry] })
    socket.receive(trade(9, undefined))
    expect(await next(opened)).toMatchObject({ amount: '1.0' })
    expect(await next(opened)).toMatchObject({ type: 'GAP', reason: expect.stringContaining('missing') })
    expect(await next(opened)).toMatchObject({ amount: '9.0' })
  })

  it('executions without a reader are bounded, with a GAP for the oldest', async () => {
    const opened = await open()
    for (let number = 1; number <= 12_000; number++) opened.socket.receive(trade(number))
    expect(await next(opened)).toEqual({ type: 'GAP', reason: 'the reader did not keep up' })
    let last: unknown
    let count = 0
    opened.client.close()
    for await (const event of { [Symbol.asyncIterator]: () => opened.loop }) {
      last = event
      count++
    }
    expect(count).toBeLessThanOrEqual(10_000)
    expect(last).toMatchObject({ amount: '12000.0' })
  })

  it('executions end when they are closed', async () => {
    const opened = await open()
    const waiting = opened.loop.next()
    opened.executions.close()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(opened.socket.requests.at(-1)?.type).toBe('unsubscribe')
  })
})
