import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NO_PLANS } from '../../../src/access/clients/plans/plan.ts'
import {
  entriesReply,
  errorReply,
  internalErrorReply,
  isProblem,
  marketListText,
  noEffect,
  parseRequest,
  type RequestRules,
} from '../../../src/streaming/gateway/protocol.ts'
import { propertySettings } from '../../support/property.ts'

const MARKETS = ['AAAUSD', 'BBBUSD']

const ENTRIES_MAX = 1_000
const RULES: RequestRules = {
  isMarket: (symbol) => MARKETS.includes(symbol),
  marketList: () => marketListText(MARKETS, NO_PLANS),
  entriesMax: ENTRIES_MAX,
  extended: undefined,
}

function parse(text: string | Buffer, isBinary = false) {
  return parseRequest(Buffer.from(text as string), isBinary, RULES)
}

/** The reply to a request of which every entry that is sound has an effect. */
function reply(text: string | Buffer, isBinary = false): string {
  const request = parse(text, isBinary)
  if (request.type === 'error') return errorReply(request.error, request.message)
  if (request.type === 'subscription_list') return 'list'
  const outcomes = request.entries.map(({ echo, meaning }) => ({
    echo,
    problem: isProblem(meaning) ? meaning : undefined,
  }))
  return entriesReply(request.type, outcomes)
}

function whole(error: string, message: string): string {
  return `{"type":"error","error":"${error}","message":"${message}"}`
}

const NOT_JSON = whole('MALFORMED_REQUEST', 'the message is not valid JSON')
const NOT_OBJECT = whole('MALFORMED_REQUEST', 'the message is not a JSON object')
const NOT_ARRAY = whole('MALFORMED_REQUEST', 'channels must be an array of objects')
const NO_ENTRY = whole('MALFORMED_REQUEST', 'channels must not be empty')
const NOT_OBJECTS = whole('MALFORMED_REQUEST', 'every entry of channels must be an object')
const action = (found: string) =>
  whole('UNKNOWN_ACTION', `type must be one of subscribe, unsubscribe, subscription_list: ${found}`)

describe('a request that fails as a whole', () => {
  test.each([
    ['nothing', '', NOT_JSON],
    ['half an object', '{"type":"subscribe"', NOT_JSON],
    ['two objects', '{"type":"subscription_list"}{}', NOT_JSON],
    ['single quotes', "{'type':'subscription_list'}", NOT_JSON],
    ['a byte order mark', '\ufeff{"type":"subscription_list"}', NOT_JSON],
    ['a number', '1', NOT_OBJECT],
    ['null', 'null', NOT_OBJECT],
    ['a string', '"subscribe"', NOT_OBJECT],
    ['an array', '[{"type":"subscription_list"}]', NOT_OBJECT],
    ['no type', '{}', action('it is missing')],
    ['no type, and channels that are wrong too', '{"channels":7}', action('it is missing')],
    ['type null', '{"type":null}', action('it is not a string')],
    ['type a number', '{"type":1,"channels":[]}', action('it is not a string')],
    ['type a list of the right word', '{"type":["subscribe"]}', action('it is not a string')],
    ['type unknown', '{"type":"subscribed","channels":[{"type":"heartbeat"}]}', action('it is unknown')],
    ['type in other case', '{"type":"Subscribe"}', action('it is unknown')],
    ['type with a blank', '{"type":"subscribe "}', action('it is unknown')],
    ['type that every object has', '{"type":"constructor"}', action('it is unknown')],
    ['Type instead of type', '{"Type":"subscription_list"}', action('it is missing')],
    ['type only in a prototype', '{"__proto__":{"type":"subscription_list"}}', action('it is missing')],
    ['channels missing', '{"type":"subscribe"}', NOT_ARRAY],
    ['channels null', '{"type":"subscribe","channels":null}', NOT_ARRAY],
    ['channels an object', '{"type":"unsubscribe","channels":{"type":"heartbeat"}}', NOT_ARRAY],
    ['channels an object with a length', '{"type":"subscribe","channels":{"length":1}}', NOT_ARRAY],
    ['channels empty', '{"type":"subscribe","channels":[]}', NO_ENTRY],
    ['channels empty with blanks', '{"type":"subscribe","channels":[ \n]}', NO_ENTRY],
    ['an entry null', '{"type":"subscribe","channels":[{"type":"heartbeat"},null]}', NOT_OBJECTS],
    ['an entry a string', '{"type":"subscribe","channels":["heartbeat"]}', NOT_OBJECTS],
    ['an entry an array', '{"type":"subscribe","channels":[[]]}', NOT_OBJECTS],
  ])('a request fails as a whole with %s', (_, sent, expected) => {
    expect(reply(sent)).toBe(expected)
  })

  test('a binary frame is a request that fails as a whole, whatever it holds', () => {
    const expected = whole('MALFORMED_REQUEST', 'binary frames are not supported: send JSON text')
    expect(reply('{"type":"subscription_list"}', true)).toBe(expected)
    expect(reply(Buffer.from([0xff]), true)).toBe(expected)
  })

  test('a request that fails by a bug names the code and nothing else', () => {
    expect(internalErrorReply()).toBe(whole('INTERNAL_SERVER_ERROR', 'Unexpected server error'))
  })
})

const CHANNEL_NAMES = 'market_data, market_data.top_of_book, execution_data, heartbeat'
const UNKNOWN_CHANNEL = `"success":false,"error":"UNKNOWN_CHANNEL","message":"the channel type must be one of ${CHANNEL_NAMES}"`
const CHANNEL_NOT_STRING = '"success":false,"error":"UNKNOWN_CHANNEL","message":"the channel type must be a string"'
const params = (message: string) =>
  `"success":false,"error":"UNKNOWN_CHANNEL_PARAMS_CONFIGURATION","message":${JSON.stringify(message)}`
const LIST = 'the markets are AAAUSD, BBBUSD'
const NO_PARAMS = params('params must be an object with the member market')

/** An entry as sent, as echoed (without the outcome), and the outcome. */
const ENTRIES: readonly (readonly [title: string, sent: string, echo: string, outcome: string])[] = [
  ['no type', '{}', '', CHANNEL_NOT_STRING],
  ['no type, right params', '{"params":{"market":"AAAUSD"}}', '"params":{"market":"AAAUSD"}', CHANNEL_NOT_STRING],
  ['type null', '{"type":null}', '"type":null', CHANNEL_NOT_STRING],
  ['type a number with its digits', '{"type":1.0}', '"type":1.0', CHANNEL_NOT_STRING],
  ['type unknown', '{"type":"trades"}', '"type":"trades"', UNKNOWN_CHANNEL],
  ['type in other case', '{"type":"Heartbeat"}', '"type":"Heartbeat"', UNKNOWN_CHANNEL],
  ['type that every object has', '{"type":"constructor"}', '"type":"constructor"', UNKNOWN_CHANNEL],
  ['type __proto__', '{"type":"__proto__"}', '"type":"__proto__"', UNKNOWN_CHANNEL],
  ['params absent', '{"type":"market_data"}', '"type":"market_data"', NO_PARAMS],
  ['params null', '{"type":"market_data","params":null}', '"type":"market_data","params":null', NO_PARAMS],
  ['params an array', '{"type":"market_data","params":[]}', '"type":"market_data","params":[]', NO_PARAMS],
  ['params a string', '{"type":"market_data","params":"x"}', '"type":"market_data","params":"x"', NO_PARAMS],
  [
    'params empty',
    '{"type":"market_data","params":{}}',
    '"type":"market_data","params":{}',
    params('params.market must be a string'),
  ],
  [
    'market null',
    '{"type":"execution_data","params":{"market":null}}',
    '"type":"execution_data","params":{"market":null}',
    params('params.market must be a string'),
  ],
  [
    'market only in a prototype',
    '{"type":"market_data","params":{"__proto__":{"market":"AAAUSD"}}}',
    '"type":"market_data","params":{"__proto__":{"market":"AAAUSD"}}',
    params('params has the unknown member "__proto__"'),
  ],
  [
    'market in other case',
    '{"type":"market_data","params":{"market":"aaausd"}}',
    '"type":"market_data","params":{"market":"aaausd"}',
    params(`params.market names no market: "aaausd"; ${LIST}`),
  ],
  [
    'market empty',
    '{"type":"market_data","params":{"market":""}}',
    '"type":"market_data","params":{"market":""}',
    params(`params.market names no market: ""; ${LIST}`),
  ],
  [
    'a param that is not known',
    '{"type":"market_data","params":{"market":"AAAUSD","depth":5}}',
    '"type":"market_data","params":{"market":"AAAUSD","depth":5}',
    params('params has the unknown member "depth"'),
  ],
  [
    'a param that every object has',
    '{"type":"market_data","params":{"market":"AAAUSD","constructor":1}}',
    '"type":"market_data","params":{"market":"AAAUSD","constructor":1}',
    params('params has the unknown member "constructor"'),
  ],
  [
    'a long name is not repeated whole',
    `{"type":"market_data","params":{"market":"${'M'.repeat(300)}"}}`,
    `"type":"market_data","params":{"market":"${'M'.repeat(300)}"}`,
    params(`params.market names no market: "${'M'.repeat(40)}…"; ${LIST}`),
  ],
  [
    'a member in heartbeat',
    '{"type":"heartbeat","params":{"market":"AAAUSD"}}',
    '"type":"heartbeat","params":{"market":"AAAUSD"}',
    params('heartbeat takes no params: "market"'),
  ],
  [
    'params of heartbeat a list',
    '{"type":"heartbeat","params":[]}',
    '"type":"heartbeat","params":[]',
    params('params of heartbeat must be absent or empty'),
  ],
  [
    'params of heartbeat false',
    '{"type":"heartbeat","params":false}',
    '"type":"heartbeat","params":false',
    params('params of heartbeat must be absent or empty'),
  ],
  ['heartbeat', '{"type":"heartbeat"}', '"type":"heartbeat"', '"success":true'],
  ['heartbeat with null', '{"type":"heartbeat","params":null}', '"type":"heartbeat","params":null', '"success":true'],
  ['heartbeat with {}', '{"type":"heartbeat","params":{}}', '"type":"heartbeat","params":{}', '"success":true'],
  [
    'other members are neither minded nor echoed, and type comes first',
    '{"id":7,"params":{"market":"AAAUSD"},"success":false,"type":"market_data","error":"x"}',
    '"type":"market_data","params":{"market":"AAAUSD"}',
    '"success":true',
  ],
  [
    'of a repeated member the last counts',
    '{"type":"x","type":"market_data","params":1,"params":{"market":"x","market":"AAAUSD"}}',
    '"type":"market_data","params":{"market":"x","market":"AAAUSD"}',
    '"success":true',
  ],
  [
    'escapes in names and values are read, and repeated as sent',
    '{"\\u0074ype":"\\u006darket_data","p\\u0061rams":{"m\\u0061rket":"\\u0041AAUSD"}}',
    '"type":"\\u006darket_data","params":{"m\\u0061rket":"\\u0041AAUSD"}',
    '"success":true',
  ],
  [
    'blanks inside a value stay',
    '{ "type" :\t"market_data" , "params" : { "market" :\n "AAAUSD" } }',
    '"type":"market_data","params":{ "market" :\n "AAAUSD" }',
    '"success":true',
  ],
  [
    'quotes, backslashes and brackets in strings',
    '{"type":"a\\"]}\\\\","params":{"x":"}]\\\\\\"","y":["[{"]}}',
    '"type":"a\\"]}\\\\","params":{"x":"}]\\\\\\"","y":["[{"]}',
    UNKNOWN_CHANNEL,
  ],
  [
    'digits of numbers',
    '{"type":"x","params":[1.0,12345678901234567890,1E+2,-0,0.10]}',
    '"type":"x","params":[1.0,12345678901234567890,1E+2,-0,0.10]',
    UNKNOWN_CHANNEL,
  ],
  ['true, false', '{"type":true,"params":false}', '"type":true,"params":false', CHANNEL_NOT_STRING],
  [
    'unicode and escapes of lone surrogates',
    '{"type":"\u{1F600}é\\ud800","params":"\\udc00\u2028"}',
    '"type":"\u{1F600}é\\ud800","params":"\\udc00\u2028"',
    UNKNOWN_CHANNEL,
  ],
]

describe('an entry', () => {
  test.each(ENTRIES)('an entry is answered with its own outcome: %s', (_, sent, echo, outcome) => {
    const body = echo === '' ? outcome : `${echo},${outcome}`
    expect(reply(`{"type":"subscribe","channels":[${sent}]}`)).toBe(`{"type":"subscribe","channels":[{${body}}]}`)
    expect(reply(`{"type":"unsubscribe","channels":[${sent}]}`)).toBe(`{"type":"unsubscribe","channels":[{${body}}]}`)
  })

  test('each entry is answered on its own, in the order of the request', () => {
    const sent = ENTRIES.map(([, entry]) => entry)
    // The markets are listed once.
    const first = ENTRIES.findIndex(([, , , outcome]) => outcome.includes(LIST))
    const answered = ENTRIES.map(([, , echo, outcome], index) => {
      const said = index === first ? outcome : outcome.replace(`; ${LIST}`, '')
      return `{${echo === '' ? said : `${echo},${said}`}}`
    })
    expect(reply(`{"channels":[${sent.join(' , ')}],"type":"subscribe","more":[{}]}`)).toBe(
      `{"type":"subscribe","channels":[${answered.join()}]}`,
    )
  })

  test('an entry with repeated members has the last one', () => {
    const sent = '{"channels":[{}],"type":"x","type":"subscribe","channels":[{"type":"heartbeat"}]}'
    expect(reply(sent)).toBe('{"type":"subscribe","channels":[{"type":"heartbeat","success":true}]}')
  })

  test('a market named like a member of every object is just unknown', () => {
    for (const market of ['constructor', '__proto__', 'toString']) {
      const request = parse(`{"type":"subscribe","channels":[{"type":"market_data","params":{"market":"${market}"}}]}`)
      expect(request).toMatchObject({ entries: [{ meaning: { error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION' } }] })
    }
  })

  test('an entry that is nested 32,000 deep is echoed as sent', () => {
    const deep = `${'['.repeat(32_000)}${']'.repeat(32_000)}`
    const answered = reply(`{"type":"subscribe","channels":[{"type":"market_data","params":${deep}}]}`)
    expect(answered).toBe(`{"type":"subscribe","channels":[{"type":"market_data","params":${deep},${NO_PARAMS}}]}`)
    const objects = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
    expect(reply(`{"type":"subscribe","channels":[{"params":${objects}}]}`)).toContain(`{"params":${objects},"success"`)
  })

  test('1,000 empty entries are 1,000 replies; one more fails the request as a whole', () => {
    const request = (count: number) => `{"type":"subscribe","channels":[${new Array(count).fill('{}').join()}]}`
    const answered = JSON.parse(reply(request(ENTRIES_MAX)))
    expect(answered.channels).toHaveLength(ENTRIES_MAX)
    expect(answered.channels[ENTRIES_MAX - 1]).toEqual(JSON.parse(`{${CHANNEL_NOT_STRING}}`))
    const tooMany = 'channels has 1001 entries; 1000 are the most in one message'
    expect(reply(request(ENTRIES_MAX + 1))).toBe(whole('MALFORMED_REQUEST', tooMany))
    expect(parse(request(21_000))).toMatchObject({ type: 'error', entryCount: 21_000 })
    expect(reply(request(ENTRIES_MAX + 1).replace('subscribe', 'unsubscribe'))).toContain('MALFORMED_REQUEST')
    // What comes after the number of entries is not looked at.
    expect(reply(request(ENTRIES_MAX + 1).replace('{}', 'null'))).toContain('are the most in one message')
  })

  test('an entry adds at most 220 bytes to its echo, and one list of markets to the reply', () => {
    const markets = Array.from({ length: 2_000 }, (_, index) => `${index}`.padStart(20, 'M'))
    const rules = {
      ...RULES,
      isMarket: (symbol: string) => markets.includes(symbol),
      marketList: () => marketListText(markets, NO_PLANS),
    }
    const control = JSON.stringify('\u0001'.repeat(60))
    const sent = [
      ...ENTRIES.map(([, entry]) => entry),
      `{"type":"market_data","params":{${control}:1}}`,
      `{"type":"market_data","params":{"market":${control}}}`,
      '{"type":"market_data","params":{"market":"X"}}',
    ].filter((entry) => entry.length < 1_000)
    for (const entry of sent) {
      const replyTo = (count: number): number => {
        const text = `{"type":"subscribe","channels":[${new Array(count).fill(entry).join()}]}`
        const request = parseRequest(Buffer.from(text), false, { ...rules, extended: { publishedDepth: () => 10 } })
        if (request.type !== 'subscribe') throw new Error(text)
        const outcomes = request.entries.map(({ echo, meaning }) => {
          return { echo, problem: isProblem(meaning) ? meaning : noEffect('x'.repeat(60)).problem }
        })
        return Buffer.byteLength(entriesReply('subscribe', outcomes))
      }
      const bytes = Buffer.byteLength(entry)
      expect((replyTo(101) - replyTo(1)) / 100, entry).toBeLessThan(2 * bytes + 220)
      expect(replyTo(1), entry).toBeLessThan(2 * bytes + 900)
    }
  })
})

test('the list of markets has twenty names and the number of the others', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `M${String(index).padStart(2, '0')}`)
  expect(marketListText([], NO_PLANS)).toBe('there are no markets')
  expect(marketListText(['A', 'B'], NO_PLANS)).toBe('the markets are A, B')
  expect(marketListText(names(20), NO_PLANS)).toBe(`the markets are ${names(20).join(', ')}`)
  expect(marketListText(names(23), NO_PLANS)).toBe(`the markets are ${names(20).join(', ')} and 3 more`)
})

test('subscription_list ignores all other members', () => {
  expect(parse('{"type":"subscription_list","channels":7,"id":1}')).toEqual({ type: 'subscription_list' })
})

describe('whatever is sent', () => {
  const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 3 })
  const key = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('type', 'params', '__proto__', 'market', ''))
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.constantFrom('AAAUSD', 'market_data', 'heartbeat'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value

  test('the echo of an entry parses to the entry that was sent', () => {
    const member = fc.option(json, { nil: undefined })
    const entries = fc.array(fc.record({ type: member, other: member, params: member }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(entries, fc.nat(2), blank, (sent, indent, space) => {
        const text = JSON.stringify({ channels: sent, type: 'subscribe' }, null, indent).replace(/^\{/, `{${space}`)
        const answered = JSON.parse(reply(text))
        expect(answered.channels).toHaveLength(sent.length)
        for (const [index, { success, error, message, ...echo }] of answered.channels.entries()) {
          const { type, params: sentParams } = JSON.parse(JSON.stringify(sent[index]))
          const expected = {
            ...(type !== undefined && { type }),
            ...(sentParams !== undefined && { params: sentParams }),
          }
          expect(echo).toStrictEqual(expected)
          expect(typeof success).toBe('boolean')
          expect([typeof error, typeof message]).toEqual(success ? ['undefined', 'undefined'] : ['string', 'string'])
        }
      }),
      propertySettings(300),
    )
  })

  test('no bytes make the parser throw', () => {
    const nearly = fc
      .tuple(fc.constantFrom(...ENTRIES.map(([, sent]) => sent)), fc.nat(), fc.nat(), fc.string({ maxLength: 3 }))
      .map(([sent, start, length, filler]) => {
        const text = `{"type":"subscribe","channels":[${sent}]}`
        const at = start % text.length
        return Buffer.from(text.slice(0, at) + filler + text.slice(at + (length % 4)))
      })
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
    fc.assert(
      fc.property(fc.oneof(nearly, bytes), (data) => {
        const answered = reply(data)
        if (answered !== 'list') expect(typeof JSON.parse(answered).type).toBe('string')
      }),
      propertySettings(2_000),
    )
  })
})

describe('the params of the extended protocol', () => {
  const published: Readonly<Record<string, number>> = { AAAUSD: 25, BBBUSD: 0 }
  const meaningOf = (type: string, sent: Record<string, unknown>) => {
    const text = JSON.stringify({ type: 'subscribe', channels: [{ type, params: { market: 'AAAUSD', ...sent } }] })
    const extended = { publishedDepth: (market: string) => published[market] as number }
    const request = parseRequest(Buffer.from(text), false, { ...RULES, extended })
    return request.type === 'subscribe' ? request.entries[0]?.meaning : undefined
  }
  const refusal = (message: string) => ({ error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION', message })
  const DEPTHS = 'params.depth must be one of 1, 5, 10, 25, 50, 100, 500, 1000'
  const INTERVALS = 'params.interval_ms must be one of 50, 100, 250, 500, 1000'

  test.each([
    ['market_data', {}, {}],
    ['market_data', { depth: 25 }, { depth: 25 }],
    ['market_data', { market: 'BBBUSD', depth: 1000 }, { market: 'BBBUSD', depth: 1000 }],
    ['market_data', { attribution: true }, { attribution: true }],
    ['market_data', { attribution: false, depth: 5 }, { attribution: false, depth: 5 }],
    ['market_data', { interval_ms: 1000, resume: '' }, { intervalMilliseconds: 1000, resume: '' }],
    ['market_data.top_of_book', { interval_ms: 50, resume: 'x' }, { intervalMilliseconds: 50, resume: 'x' }],
    ['execution_data', { resume: 'x' }, { resume: 'x' }],
  ])('the channel %s takes the params %j', (type, sent, meaning) => {
    expect(meaningOf(type, sent)).toEqual({ type, market: 'AAAUSD', ...meaning })
  })

  test.each([
    ['market_data', { depth: 50 }, 'params.depth must not be above the 25 levels that the market publishes'],
    ['market_data', { depth: 2 }, DEPTHS],
    ['market_data', { depth: 0 }, DEPTHS],
    ['market_data', { depth: '5' }, DEPTHS],
    ['market_data', { depth: null }, DEPTHS],
    ['market_data', { depth: 5.5 }, DEPTHS],
    ['market_data', { depth: [5] }, DEPTHS],
    ['market_data', { interval_ms: 60 }, INTERVALS],
    ['market_data', { interval_ms: 0 }, INTERVALS],
    ['market_data.top_of_book', { interval_ms: '50' }, INTERVALS],
    ['market_data', { attribution: 'true' }, 'params.attribution must be true or false'],
    ['market_data', { attribution: null }, 'params.attribution must be true or false'],
    ['market_data.top_of_book', { attribution: true }, 'params has the unknown member "attribution"'],
    ['market_data', { resume: null }, 'params.resume must be a string'],
    ['execution_data', { resume: 7 }, 'params.resume must be a string'],
    ['market_data.top_of_book', { depth: 5 }, 'params has the unknown member "depth"'],
    ['execution_data', { interval_ms: 50 }, 'params has the unknown member "interval_ms"'],
    ['execution_data', { depth: 5 }, 'params has the unknown member "depth"'],
    ['market_data', { Depth: 5 }, 'params has the unknown member "Depth"'],
    ['market_data', { market: 'CCCUSD', depth: 5 }, `params.market names no market: "CCCUSD"; ${LIST}`],
    ['heartbeat', { resume: 'x' }, 'heartbeat takes no params: "market"'],
  ])('the channel %s refuses the params %j', (type, sent, message) => {
    expect(meaningOf(type, sent)).toEqual(refusal(message))
  })
})
