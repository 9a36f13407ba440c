/** One connection to Coinbase, frame by frame: its numbers, the answers to requests, and products that share a feed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Conversation } from '../../../../../src/streaming/sources/venues/coinbase/conversation.ts'
import type { CoinbaseMessage } from '../../../../../src/streaming/sources/venues/coinbase/message.ts'
import type { Listing } from '../../../../../src/streaming/sources/venues/venue.ts'
import { propertySettings } from '../../../../support/property.ts'

const TIME = '2026-08-09T10:00:00.123456789Z'

function frame(number: number, channel: string, ...events: unknown[]): string {
  return JSON.stringify({ channel, timestamp: TIME, sequence_num: number, events })
}

const heartbeat = (number: number) => frame(number, 'heartbeats', { current_time: TIME, heartbeat_counter: number })
const book = (number: number, product_id: string, type = 'update') =>
  frame(number, 'l2_data', { type, product_id, updates: [] })
const trade = (number: number, product_id: string, id: number) =>
  frame(number, 'market_trades', {
    type: 'update',
    trades: [{ product_id, trade_id: String(id), price: '1', size: '1', time: TIME, side: 'BUY' }],
  })
const answer = (number: number, subscriptions: object) => frame(number, 'subscriptions', { subscriptions })
const error = (message: string) => JSON.stringify({ type: 'error', message })

/** A connection on which books and trades of these symbols were asked for. */
function connected(...symbols: string[]) {
  const conversation = new Conversation()
  conversation.begin()
  if (symbols.length > 0) {
    conversation.requests('subscribe', 'book', symbols)
    conversation.requests('subscribe', 'trades', symbols)
  }
  return conversation
}

const kinds = (messages: readonly CoinbaseMessage[]) => messages.map(({ kind }) => kind)
const symbolsOf = (messages: readonly CoinbaseMessage[]) =>
  messages.map((message) => ('symbol' in message ? message.symbol : message.kind))

describe('the frames of a connection', () => {
  it('the frames of a Coinbase connection follow one another whatever their channel', () => {
    const conversation = connected('BTC-USD', 'ETH-USD')
    expect(kinds(conversation.read(book(0, 'BTC-USD', 'snapshot')))).toEqual(['book'])
    expect(conversation.read(heartbeat(1))).toEqual([])
    expect(kinds(conversation.read(trade(2, 'ETH-USD', 10)))).toEqual(['trades'])
    expect(conversation.read(frame(3, 'something new', {}))).toEqual([])
    expect(kinds(conversation.read(book(4, 'ETH-USD')))).toEqual(['book'])
  })

  it.each([
    ['a book', (number: number) => book(number, 'BTC-USD')],
    ['trades', (number: number) => trade(number, 'BTC-USD', 9)],
    ['a heartbeat', heartbeat],
    ['a channel that is not known', (number: number) => frame(number, 'something new')],
  ])('the frames of a Coinbase connection prove that one before %s was lost', (_what, made) => {
    const conversation = connected('BTC-USD')
    conversation.read(heartbeat(0))
    expect(conversation.read(made(2))).toEqual([{ kind: 'restart', reason: 'frame 2 came where frame 1 is due' }])
  })

  it('the frames of a Coinbase connection prove that two changed places, and that the numbers began again', () => {
    const conversation = connected('BTC-USD')
    for (const number of [0, 1]) conversation.read(heartbeat(number))
    expect(conversation.read(book(0, 'BTC-USD'))).toEqual([
      { kind: 'restart', reason: 'frame 0 came where frame 2 is due' },
    ])
  })

  it('the frames of a Coinbase connection that come twice are read once', () => {
    const conversation = connected('BTC-USD')
    expect(kinds(conversation.read(book(0, 'BTC-USD', 'snapshot')))).toEqual(['book'])
    expect(conversation.read(book(0, 'BTC-USD', 'snapshot'))).toEqual([])
    expect(kinds(conversation.read(book(1, 'BTC-USD')))).toEqual(['book'])
  })

  it('the frames of each Coinbase connection have numbers of their own', () => {
    const conversation = connected('BTC-USD')
    conversation.read(heartbeat(41))
    conversation.begin()
    expect(conversation.read(heartbeat(0))).toEqual([])
    expect(conversation.read(heartbeat(1))).toEqual([])
  })

  it.each([
    ['nothing', ''],
    ['half a frame', '{"channel":"l2_da'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no channel', '{"sequence_num":0,"events":[]}'],
    ['no number', '{"channel":"l2_data","events":[]}'],
    ['a number that is text', '{"channel":"l2_data","sequence_num":"0","events":[]}'],
    ['no events', '{"channel":"l2_data","sequence_num":0}'],
    ['a book of no product', '{"channel":"l2_data","sequence_num":0,"events":[{"type":"update"}]}'],
  ])('a Coinbase connection with frames that are %s cannot be trusted', (_what, text) => {
    expect(connected('BTC-USD').read(text)).toEqual([{ kind: 'unreadable', reason: expect.any(String) }])
  })

  it('an unreadable frame of a Coinbase connection names its product, also one that nothing reads', () => {
    const conversation = connected('BTC-USD')
    const bad = (number: number, product_id: string) => frame(number, 'l2_data', { type: 'update', product_id })
    expect(kinds(conversation.read(bad(0, 'BTC-USD')))).toEqual(['unreadable-book'])
    expect(symbolsOf(conversation.read(bad(1, 'BTX-USD')))).toEqual(['BTX-USD'])
    expect(conversation.read(book(2, 'BTX-USD'))).toEqual([])
  })

  it('the frames of a Coinbase connection never make the reader throw', () => {
    const member = fc.constantFrom('type', 'product_id', 'updates', 'trades', 'subscriptions', 'message', 'events')
    const members = fc.dictionary(member, fc.jsonValue({ maxDepth: 4 }))
    const channel = fc.constantFrom('l2_data', 'market_trades', 'subscriptions', 'heartbeats')
    const made = fc
      .tuple(channel, fc.array(fc.oneof(members, fc.jsonValue())), members)
      .map(([name, events, others]) => ({ sequence_num: 0, channel: name, events, ...others }))
    const take = (text: string) => {
      expect(connected('BTC-USD').read(text)).toBeInstanceOf(Array)
    }
    const texts = fc.oneof(
      made.map((one) => JSON.stringify(one)),
      fc.string(),
      fc.json(),
    )
    fc.assert(fc.property(texts, take), propertySettings(1000))
  })
})

describe('requests to Coinbase', () => {
  it('requests to Coinbase begin with the heartbeats, and name all products of a channel in one', () => {
    const conversation = new Conversation()
    expect(conversation.begin()).toEqual([{ type: 'subscribe', channel: 'heartbeats' }])
    const symbols = ['BTC-USD', 'ETH-EUR']
    expect(conversation.requests('subscribe', 'book', symbols)).toEqual([
      { type: 'subscribe', product_ids: symbols, channel: 'level2' },
    ])
    expect(conversation.requests('subscribe', 'trades', symbols)).toEqual([
      { type: 'subscribe', product_ids: symbols, channel: 'market_trades' },
    ])
    expect(conversation.requests('unsubscribe', 'book', ['BTC-USD'])).toEqual([
      { type: 'unsubscribe', product_ids: ['BTC-USD'], channel: 'level2' },
    ])
  })

  it('requests to Coinbase name 30 books at most, the limit of a connection, and any number of trades', () => {
    const conversation = new Conversation()
    conversation.begin()
    const symbols = Array.from({ length: 61 }, (_, index) => `P${index}-USD`)
    const books = conversation.requests('subscribe', 'book', symbols) as { product_ids: string[] }[]
    expect(books.map(({ product_ids }) => product_ids.length)).toEqual([30, 30, 1])
    expect(books.flatMap(({ product_ids }) => product_ids)).toEqual(symbols)
    expect(conversation.requests('subscribe', 'trades', symbols)).toHaveLength(1)
  })

  it('Coinbase refuses a request for the products that its response does not list', () => {
    const conversation = connected('BTC-USD', 'ETH-USD')
    const level2 = ['ETH-USD']
    expect(conversation.read(answer(0, { heartbeats: ['heartbeats'] }))).toEqual([])
    expect(conversation.read(answer(1, { level2 }))).toEqual([
      {
        kind: 'refused',
        symbol: 'BTC-USD',
        channel: 'book',
        reason: 'it is not among what is subscribed',
        isOfGroup: false,
      },
    ])
    expect(conversation.read(answer(2, { level2, market_trades: ['BTC-USD', 'ETH-USD'] }))).toEqual([])
    expect(conversation.read(answer(3, {}))).toEqual([])
  })

  it('requests to Coinbase for one product are refused by name, in the words of the venue', () => {
    const conversation = connected('BTC-USD')
    conversation.read(answer(0, { heartbeats: ['heartbeats'] }))
    const long = 'x'.repeat(1000)
    expect(conversation.read(error(long))).toEqual([
      { kind: 'refused', symbol: 'BTC-USD', channel: 'book', reason: 'x'.repeat(200), isOfGroup: false },
    ])
    expect(conversation.read(error(''))).toEqual([
      { kind: 'refused', symbol: 'BTC-USD', channel: 'trades', reason: 'no reason given', isOfGroup: false },
    ])
    expect(conversation.read(error('slow'))).toEqual([{ kind: 'refused', reason: 'slow' }])
    // A refusal has no number: the frames continue as before.
    expect(conversation.read(heartbeat(1))).toEqual([])
  })

  it('requests to Coinbase for several products are refused for each, to be requested alone', () => {
    const conversation = connected('BTC-USD', 'ETH-USD')
    conversation.read(answer(0, { heartbeats: ['heartbeats'] }))
    const reason = 'too many L2 streams requested in a single session'
    for (const channel of ['book', 'trades'])
      expect(conversation.read(error(reason))).toEqual([
        { kind: 'refused', symbol: 'BTC-USD', channel, reason, isOfGroup: true },
        { kind: 'refused', symbol: 'ETH-USD', channel, reason, isOfGroup: true },
      ])
  })

  it('requests to Coinbase are forgotten with their connection', () => {
    const conversation = connected('BTC-USD')
    conversation.begin()
    conversation.read(answer(0, {}))
    expect(conversation.read(answer(1, {}))).toEqual([])
    expect(conversation.read(book(2, 'BTC-USD', 'snapshot'))).toEqual([])
  })
})

describe('products that share a feed', () => {
  const listing = (symbol: string, feedSymbol?: string): Listing => ({
    symbol,
    priceDecimals: 2,
    amountDecimals: 8,
    status: 'online',
    state: 'open',
    ...(feedSymbol === undefined ? {} : { feedSymbol }),
  })
  const subscribe = { type: 'subscribe', product_ids: ['BTC-USD'], channel: 'level2' }
  const unsubscribe = { ...subscribe, type: 'unsubscribe' }

  function sharing() {
    const conversation = new Conversation()
    conversation.begin()
    conversation.noteListings([listing('BTC-USD'), listing('BTC-USDC', 'BTC-USD'), listing('USDT-USDC')])
    return conversation
  }

  it('products that share a feed are subscribed once, and each message is handed on for all of them', () => {
    const conversation = sharing()
    expect(conversation.requests('subscribe', 'book', ['BTC-USDC', 'BTC-USD'])).toEqual([subscribe])
    expect(symbolsOf(conversation.read(book(0, 'BTC-USD', 'snapshot')))).toEqual(['BTC-USDC', 'BTC-USD'])
    expect(symbolsOf(conversation.read(frame(1, 'l2_data', { type: 'update', product_id: 'BTC-USD' })))).toEqual([
      'BTC-USDC',
      'BTC-USD',
    ])
    conversation.requests('subscribe', 'trades', ['BTC-USDC'])
    expect(symbolsOf(conversation.read(trade(2, 'BTC-USD', 10)))).toEqual(['BTC-USDC'])
    expect(conversation.requests('subscribe', 'book', ['USDT-USDC'])).toEqual([
      { ...subscribe, product_ids: ['USDT-USDC'] },
    ])
  })

  it('products that share a feed begin with a snapshot for the one that comes later', () => {
    const conversation = sharing()
    conversation.requests('subscribe', 'book', ['BTC-USD'])
    expect(conversation.requests('subscribe', 'book', ['BTC-USDC'])).toEqual([unsubscribe, subscribe])
  })

  it('products that share a feed stay subscribed for the one that stays', () => {
    const conversation = sharing()
    conversation.requests('subscribe', 'book', ['BTC-USD', 'BTC-USDC'])
    expect(conversation.requests('unsubscribe', 'book', ['BTC-USD'])).toEqual([])
    expect(symbolsOf(conversation.read(book(0, 'BTC-USD')))).toEqual(['BTC-USDC'])
    expect(conversation.requests('unsubscribe', 'book', ['BTC-USDC'])).toEqual([unsubscribe])
    expect(conversation.read(book(1, 'BTC-USD'))).toEqual([])
  })

  it('products that share a feed are refused together', () => {
    const conversation = sharing()
    conversation.read(answer(0, {}))
    conversation.requests('subscribe', 'book', ['BTC-USD', 'BTC-USDC'])
    expect(symbolsOf(conversation.read(error('no')))).toEqual(['BTC-USD', 'BTC-USDC'])
  })

  it('products that share a feed are separate again when the venue separates them', () => {
    const conversation = sharing()
    conversation.noteListings([listing('BTC-USDC')])
    expect(conversation.requests('subscribe', 'book', ['BTC-USDC'])).toEqual([
      { ...subscribe, product_ids: ['BTC-USDC'] },
    ])
  })
})
