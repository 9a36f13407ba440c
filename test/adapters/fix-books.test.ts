/** The three forms of books of the FIX adapter, crossed books and trading states, over both connections. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Field, FixAcceptor } from './fix-acceptor.ts'
import { incremental, type Stage, type StageOptions, startStage } from './fix-stage.ts'

const SYMBOL = 'BTC/USD'
const stages: Stage[] = []

afterEach(async () => {
  for (const stage of stages.splice(0)) {
    await stage.stop()
    expect([...stage.ingest.violations, ...stage.acceptor.violations]).toEqual([])
  }
})

/** `first` are the entries of every full refresh. */
async function start(first: readonly (readonly Field[])[], market: StageOptions['market'] = {}) {
  let requestId = ''
  const prepare: StageOptions['prepare'] = ({ acceptor }) => {
    acceptor.onSubscribe = (symbol, id) => {
      requestId = id
      acceptor.send('W', [[262, id], [55, symbol], [268, first.length], ...first.flat()])
    }
  }
  const stage = await startStage({ market, prepare })
  stages.push(stage)
  const { acceptor, ingest } = stage
  const book = ingest.book('BTCUSD')
  /** Sends entries and returns the book after the message that they cause. */
  const send = async (...entries: readonly (readonly Field[])[]) => {
    const { updates, snapshots } = book
    acceptor.send('X', incremental(SYMBOL, requestId, entries))
    await ingest.until('the update', () => book.updates + book.snapshots > updates + snapshots)
    return show()
  }
  const show = () =>
    (['buy', 'sell'] as const).map((side) =>
      book
        .side(side)
        .map(({ price, amount }) => `${amount}@${price}`)
        .join(' '),
    )
  const status = async (fields: readonly Field[]) => {
    acceptor.send('f', [[324, 's'], [55, SYMBOL], ...fields])
  }
  return { ...stage, book, send, show, status }
}

/** Entry fields: the action, if any, then type, price and amount, then others. */
function level(action: number | undefined, type: number, price: string, amount: string, ...others: readonly Field[]) {
  const fields: Field[] = action === undefined ? [] : [[279, action]]
  return [...fields, [269, type] as const, [270, price] as const, [271, amount] as const, ...others]
}

describe('a book by position', () => {
  const place = (position: number): Field => [1023, position]
  const first = [
    level(undefined, 0, '100', '1', place(1)),
    level(undefined, 0, '99', '2', place(2)),
    level(undefined, 0, '98', '3', place(3)),
    level(undefined, 1, '101', '4', place(1)),
  ]

  it('a book by position shifts levels as entries are inserted, deleted and replaced, and drops what leaves the depth', async () => {
    const { ingest, book, send, acceptor } = await start(first, { keyedBy: 'position', depth: 3 })
    await ingest.until('the book', () => book.snapshots === 1)
    expect(await send(level(0, 0, '99.5', '7', place(2)))).toEqual(['1@100 7@99.5 2@99', '4@101'])
    expect(await send(level(1, 0, '99.5', '8', place(2)))).toEqual(['1@100 8@99.5 2@99', '4@101'])
    expect(await send(level(2, 0, '100', '0', place(1)))).toEqual(['8@99.5 2@99', '4@101'])
    expect(await send(level(5, 0, '99.6', '9', [290, 1]))).toEqual(['9@99.6 2@99', '4@101'])
    expect(await send(level(3, 0, '99.6', '0', place(1)), level(4, 1, '101', '0', place(1)))).toEqual(['2@99', ''])
    expect(acceptor.of('V')).toHaveLength(1)
    expect(acceptor.of('V')[0]?.get(264)).toBe('3')
  })

  it('a book by position is requested again when a position does not exist', async () => {
    const { ingest, book, acceptor, send } = await start(first, { keyedBy: 'position' })
    await ingest.until('the book', () => book.snapshots === 1)
    expect(await send(level(2, 0, '90', '0', place(7)))).toEqual(['1@100 2@99 3@98', '4@101'])
    expect([book.snapshots, acceptor.of('V').length]).toEqual([2, 3])
  })
})

describe('a book by order', () => {
  const id = (text: string): Field => [278, text]
  const first = [level(undefined, 0, '100', '1', id('a')), level(undefined, 0, '100', '2', id('b'))]

  it('a book by order publishes orders as they are added, changed, replaced and deleted', async () => {
    const { ingest, book, send, acceptor } = await start(first, { keyedBy: 'order' })
    await ingest.until('the book', () => book.snapshots === 1)
    expect(await send(level(0, 1, '101', '5', [37, 'c']))).toEqual(['3@100', '5@101'])
    expect(await send([[279, 1], [269, 0], id('a'), [271, '0.5']])).toEqual(['2.5@100', '5@101'])
    expect(await send([[279, 1], [269, 0], id('d'), [280, 'b'], [270, '99'], [271, '2']])).toEqual([
      '0.5@100 2@99',
      '5@101',
    ])
    expect(await send([[279, 2], id('a')], [[279, 2], id('d')])).toEqual(['', '5@101'])
    expect([book.snapshots, acceptor.of('V')[0]?.get(266)]).toEqual([1, 'N'])
  })

  it('a book by order that is lost through an order with control characters is reported without them', async () => {
    const { ingest, book, log, send } = await start(first, { keyedBy: 'order' })
    await ingest.until('the book', () => book.snapshots === 1)
    await send([[279, 1], [269, 0], [280, '\u009b2Jx'], id('c'), [271, '1']])
    expect(log.find((line) => line.includes('the book is lost'))).toContain('the order ?2Jx is unknown')
  })

  it('a book by order is published without its orders that have no amount, until a change gives them one', async () => {
    const empty = level(undefined, 0, '99', '0.00', id('c'))
    const { ingest, book, send } = await start([...first, empty], { keyedBy: 'order' })
    await ingest.until('the book', () => book.snapshots === 1)
    expect(await send(level(0, 1, '101', '0', id('d')), level(0, 1, '102', '5', id('e')))).toEqual(['3@100', '5@102'])
    expect(await send([[279, 1], id('c'), [271, '7']], [[279, 2], id('d')])).toEqual(['3@100 7@99', '5@102'])
    expect(await send([[279, 1], id('e'), [271, '0']])).toEqual(['3@100 7@99', ''])
    expect(await send([[279, 2], id('e')], [[279, 2], id('c')])).toEqual(['3@100', ''])
    expect(book.snapshots).toBe(1)
  })

  it.each([
    [
      'an unknown order',
      [
        [279, 2],
        [269, 0],
        [278, 'z'],
      ] as const,
    ],
    ['an order added twice', level(0, 0, '100', '1', [278, 'a'])],
    ['an order without an identifier', level(0, 0, '100', '1')],
  ])('a book by order is requested again after %s', async (_, entry) => {
    const { ingest, book, acceptor, send } = await start(first, { keyedBy: 'order' })
    await ingest.until('the book', () => book.snapshots === 1)
    expect(await send(entry)).toEqual(['3@100', ''])
    expect([book.snapshots, acceptor.of('V').length]).toEqual([2, 3])
  })
})

describe('a book by price', () => {
  it('a book by price is requested again after a deletion that names only an identifier', async () => {
    const first = [level(undefined, 0, '100', '1', [278, 'a']), level(undefined, 1, '101', '4', [278, 'b'])]
    const { ingest, book, acceptor, send } = await start(first)
    await ingest.until('the book', () => book.snapshots === 1)
    expect(
      await send([
        [279, 2],
        [278, 'a'],
      ]),
    ).toEqual(['1@100', '4@101'])
    expect([book.snapshots, acceptor.of('V').length]).toEqual([2, 3])
  })
})

describe('the trading state', () => {
  const first = [level(undefined, 0, '100', '1'), level(undefined, 0, '99', '2'), level(undefined, 1, '101', '4')]

  it('the trading state is waited for, published, and orders that cross in an auction are held back until it ends', async () => {
    const { ingest, book, send, status, show, acceptor } = await start(first, { securityStatus: true })
    await acceptor.until('the request', () => acceptor.of('e').length === 1 && acceptor.of('V').length === 1)
    expect(book.snapshots).toBe(0)
    await status([
      [326, 21],
      [58, 'opening'],
    ])
    await ingest.until('the book', () => book.snapshots === 1)
    expect(book.instrument).toMatchObject({ state: 'AUCTION', reason: 'opening' })
    // 101.5 crosses 101, and 101 crosses 101.5: what is left is not crossed.
    expect(await send(level(0, 0, '101.5', '9'))).toEqual(['1@100 2@99', ''])
    expect(await send(level(2, 0, '101.5', '0'))).toEqual(['1@100 2@99', '4@101'])
    await status([[326, 17]])
    await ingest.until('OPEN', () => book.instrument?.state === 'OPEN')
    expect(book.instrument?.reason).toBe('')
    await status([[326, 7]])
    await status([
      [326, 2],
      [625, 3],
      [58, 'news'],
    ])
    await ingest.until('HALTED', () => book.instrument?.state === 'HALTED')
    await status([[625, 5]])
    await ingest.until('CLOSED', () => book.instrument?.state === 'CLOSED')
    expect(show()).toEqual(['1@100 2@99', '4@101'])
    expect(book.snapshots).toBe(1)
  })
})

describe('a book that is crossed while trading is open', () => {
  const firstRequest = (acceptor: FixAcceptor) => acceptor.of('V')[0]?.get(262) ?? ''
  const first = [level(undefined, 0, '100', '1'), level(undefined, 1, '101', '4')]

  it('a book that is crossed while trading is open is lost until the engine uncrosses it', async () => {
    const { ingest, book, acceptor, send, waiters } = await start(first)
    await ingest.until('the book', () => book.snapshots === 1)
    acceptor.send('X', incremental(SYMBOL, firstRequest(acceptor), [level(0, 0, '101', '1')]))
    await waiters.until('the loss', () => book.state === 'lost')
    expect(await send(level(2, 1, '101', '0'))).toEqual(['1@101 1@100', ''])
    expect([book.snapshots, acceptor.of('V').length]).toEqual([2, 1])
  })

  it('a book that is crossed while trading is open is requested again if that does not come', async () => {
    const { ingest, book, acceptor, clock, show } = await start(first)
    await ingest.until('the book', () => book.snapshots === 1)
    acceptor.send('X', incremental(SYMBOL, firstRequest(acceptor), [level(0, 0, '102', '1')]))
    await ingest.until('the loss', () => book.state === 'lost')
    clock.advance(5_000)
    await ingest.until('the book', () => book.snapshots === 2)
    expect(show()).toEqual(['1@100', '4@101'])
    expect(acceptor.of('V')).toHaveLength(3)
  })
})

it('a refused market data request is repeated', async () => {
  let refusals = 0
  const stage = await startStage({
    prepare: ({ acceptor }) => {
      const { onSubscribe } = acceptor
      acceptor.onSubscribe = (symbol, id) => {
        if (refusals++ < 2)
          acceptor.send('Y', [
            [262, id],
            [281, 0],
            [58, 'unknown symbol'],
          ])
        else onSubscribe(symbol, id)
      }
    },
  })
  stages.push(stage)
  await stage.settled()
  expect(stage.log.filter((line) => line.includes('unknown symbol (281=0)'))).toHaveLength(2)
})
