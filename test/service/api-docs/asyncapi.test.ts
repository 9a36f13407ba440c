/** The AsyncAPI document: complete, equal to the contract tables, and valid for real messages of the stream. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Directory } from '../../../src/access/clients/directory.ts'
import { EventsExpired } from '../../../src/access/events/read.ts'
import { CHANNELS, channelsOf, EXTENDED_SUBPROTOCOL, REQUEST_TYPES } from '../../../src/contract/channels.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { CLOSE_CODES, STREAM_ERRORS } from '../../../src/contract/stream-codes.ts'
import { asyncApiDocument } from '../../../src/service/api-docs/asyncapi.ts'
import { EventStreams } from '../../../src/streaming/gateway/event-subscription.ts'
import { ASK } from '../../../src/streaming/market/event.ts'
import { LiveStream, levels } from '../../streaming/gateway/live-stream.ts'
import { ApiDocument, type Node, structureFaults } from '../../support/api-document.ts'
import { openPublicListener } from '../../support/public-listener.ts'

const committed: Node = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/reference/asyncapi.json'), 'utf8'),
)
const document = new ApiDocument(committed)
const { messages } = committed.components

/** The document with objects that allow no members except those described. */
const strict = new ApiDocument(
  JSON.parse(JSON.stringify(committed), (_name, value) =>
    value?.type === 'object' && value.properties !== undefined ? { ...value, additionalProperties: false } : value,
  ),
)

describe('the AsyncAPI document', () => {
  it('the AsyncAPI document has the structure of AsyncAPI 3.0', async () => {
    expect(await structureFaults(committed)).toEqual([])
    const broken = structuredClone(committed)
    broken.operations.subscribe.action = 'take'
    expect(await structureFaults(broken)).toEqual([expect.stringContaining('#/operations/subscribe/action')])
  })

  it('the AsyncAPI document has no dangling reference, and no message without an operation', () => {
    const references = document.references()
    for (const reference of references) expect(document.at(reference.slice(1))).toBeTypeOf('object')
    const named = Object.keys(messages).filter((name) => references.includes(`#/channels/stream/messages/${name}`))
    expect(named).toEqual(Object.keys(messages))
  })

  it('the AsyncAPI document receives every request and sends every channel of the tables', () => {
    const byAction = (action: string) =>
      Object.entries<Node>(committed.operations)
        .filter(([, operation]) => operation.action === action)
        .map(([name]) => name)
    expect(byAction('receive')).toEqual(REQUEST_TYPES)
    expect(byAction('send')).toEqual([...Object.keys(CHANNELS), 'subscriptions_ended'])
  })

  it('the AsyncAPI document names every error code, every close code, and the scope', () => {
    const { stream } = committed.channels
    expect(stream['x-errors']).toEqual(STREAM_ERRORS)
    expect(stream['x-close-codes']).toEqual(Object.values(CLOSE_CODES))
    expect(committed.components.schemas.ErrorCode.enum).toEqual(Object.keys(STREAM_ERRORS))
    expect(committed.components.securitySchemes.token.scopes).toEqual([STREAM_SCOPE])
  })

  it('the AsyncAPI document names every object, union and enum, so that generators invent no names', () => {
    const { schemas } = committed.components
    const isNamed = (name: string) => /^[A-Z][A-Za-z]+$/.test(name)
    expect(Object.keys(schemas).filter((name) => !isNamed(name))).toEqual([])
    const unnamed: string[] = []
    const look = (schema: Node, place: string, isTop: boolean) => {
      const { $ref, type, enum: words, oneOf = [], properties = {}, items } = schema
      if ($ref !== undefined) return
      if (!isTop && (type === 'object' || words !== undefined || oneOf.length > 0)) unnamed.push(place)
      for (const [name, inner] of Object.entries<Node>(properties)) look(inner, `${place}.${name}`, false)
      for (const inner of [...oneOf, ...(items === undefined ? [] : [items])]) look(inner, `${place}[]`, false)
    }
    for (const [name, schema] of Object.entries<Node>(schemas)) look(schema, name, true)
    for (const [name, { payload }] of Object.entries<Node>(messages)) look(payload, name, false)
    expect(unnamed).toEqual([])
    const references = document.references()
    expect(Object.keys(schemas).filter((name) => !references.includes(`#/components/schemas/${name}`))).toEqual([])
  })

  it('the AsyncAPI document has examples that conform to their schemas', () => {
    for (const [name, message] of Object.entries<Node>(messages)) {
      for (const { payload } of message.examples) {
        expect([name, strict.faults(message.payload, payload)]).toEqual([name, []])
      }
    }
  })

  it('the AsyncAPI document names wss where the service uses https, and the configured outside issuer', () => {
    const about = { url: 'https://api.example', version: '1', issuesTokens: false }
    const other = asyncApiDocument(about) as Node
    expect(other.servers.service).toMatchObject({ host: 'api.example', protocol: 'wss' })
    expect(other.components.securitySchemes.token.type).toBe('http')
    const apart = asyncApiDocument({ ...about, streamUrl: 'wss://stream.example/feed' }) as Node
    expect(apart.servers.service).toMatchObject({ host: 'stream.example', pathname: '/feed', protocol: 'wss' })
  })
})

const SAMPLE_EVENTS = new EventStreams(
  {
    start: async (_customerId, after) => {
      if (after === 7n) throw new EventsExpired(9n)
      return after ?? 0n
    },
    read: async () => {
      const event = { ...CHANNELS.events.example, type: 'transfer.deposit.completed', objectType: 'secret' } as const
      const sample = { ...event, sequence: 1n, objectId: '', text: JSON.stringify(CHANNELS.events.example) }
      return { events: [sample, sample], examinedTo: 2n, isEnd: true }
    },
    follow: () => () => undefined,
  },
  new Directory(),
)

describe('a message of the stream', () => {
  /** Returns the described messages that a text conforms to; requests are sent by the client. */
  const kindsOf = (text: string) =>
    Object.keys(messages)
      .filter((name) => !name.endsWith('.request'))
      .filter((name) => strict.faults(messages[name].payload, JSON.parse(text)).length === 0)

  /** Takes texts, each of which must conform to one of the messages, and counts them by message name. */
  const takeInto =
    (seen: Map<string, number>) =>
    (texts: readonly string[]): void => {
      for (const text of texts) {
        const kinds = kindsOf(text)
        expect([text, kinds]).toEqual([text, [expect.any(String)]])
        seen.set(kinds[0]!, (seen.get(kinds[0]!) ?? 0) + 1)
      }
    }

  it('a stream message conforms to one of the described messages', () => {
    const stream = new LiveStream()
    stream.snapshot(levels([[10_000, 15_000]], [[10_001, 10_000]]))
    const client = stream.connect()
    const seen = new Map<string, number>()
    const take = takeInto(seen)
    const all = channelsOf(false).map((type) => (type === 'heartbeat' ? type : `AAAUSD ${type}`))
    take(client.subscribe(...all))
    take(client.subscribe('NOSUCH market_data', 'heartbeat', 'nothing'))
    take(client.ask('{'))
    take(client.ask({ type: 'subscribe', channels: [{}, { type: null, params: 1 }] }))
    take(client.ask({ type: 'subscription_list' }))
    stream.update([{ side: ASK, price: 10_001, amount: 0 }], [{ price: 10_001, amount: 10_000 }])
    stream.clock.advance(1_000)
    take(client.read())
    take(client.unsubscribe('heartbeat', 'heartbeat'))
    stream.removeMarket('AAAUSD')
    take(client.read())
    take(client.ask({ type: 'subscription_list' }))
    expect([...seen.keys()].sort()).toEqual(
      Object.keys(messages)
        .filter((name) => !name.endsWith('.request') && name !== 'publication' && name !== 'events')
        .sort(),
    )
  })

  it('a stream message conforms in the extended protocol too, with every specific member, and requests with every param', async () => {
    const stream = new LiveStream({ depth: 5, events: SAMPLE_EVENTS })
    stream.snapshot(levels([[10_000, 15_000]], [[10_001, 10_000]]))
    const token = { outsideClientName: 'client', scopes: new Set(['events:read_event']) }
    const client = stream.connect({ subprotocol: EXTENDED_SUBPROTOCOL, token })
    const seen = new Map<string, number>()
    const texts: string[] = []
    const take = (taken: readonly string[]) => {
      takeInto(seen)(taken)
      texts.push(...taken)
    }
    const ask = (request: Node) => {
      expect(document.faults(messages[`${request.type}.request`].payload, request)).toEqual([])
      take(client.ask(request))
    }
    const entry = (type: string, params: Node = {}) => ({ type, params: { market: 'AAAUSD', ...params } })
    const channels = [
      entry('market_data', { depth: 1, interval_ms: 50 }),
      entry('market_data.top_of_book', { interval_ms: 100 }),
      entry('execution_data'),
      entry('publication'),
      { type: 'heartbeat' },
    ]
    ask({ type: 'subscribe', channels })
    for (const params of [{ after: 7 }, { after: 0 }]) {
      ask({ type: 'subscribe', channels: [{ type: 'events', params }] })
      await new Promise(setImmediate)
      take(client.read())
      await new Promise(setImmediate)
      take(client.read())
    }
    ask({ type: 'subscription_list' })
    for (let commit = 1; commit <= 3; commit++) {
      stream.sequencers.get('AAAUSD')?.setInstrument({ state: 'HALTED', reason: `reason ${commit}` })
      stream.update(
        [{ side: ASK, price: 10_001, amount: 10_000 + commit }],
        [{ price: 10_001, amount: 10_000, id: `T${commit}`, side: 'sell' }],
      )
      stream.clock.advance(1_000)
      take(client.read())
    }
    const cursorOf = (channel: string) =>
      texts.map((text) => JSON.parse(text)).findLast((message) => message.channel === channel).stream.cursor
    const resumed = ['market_data', 'market_data.top_of_book', 'execution_data'].map((type) =>
      entry(type, { resume: cursorOf(type), ...(type === 'market_data' ? { depth: 1 } : {}) }),
    )
    ask({ type: 'unsubscribe', channels: resumed.map(({ type }) => entry(type)) })
    ask({ type: 'subscribe', channels: resumed })
    ask({ type: 'unsubscribe', channels: [entry('execution_data')] })
    stream.miss()
    stream.lose()
    stream.clock.advance(1_000)
    take(client.read())
    const members = ['"stream":', '"prev":', '"digest":', '"resumed":true', '"depth":1', '"interval_ms":100']
    for (const member of [
      ...members,
      '"side":"sell"',
      '"instrument":',
      '"missed":',
      '"LOST"',
      '"origin":',
      '"oldest_sequence":',
    ]) {
      expect(
        texts.some((text) => text.includes(member)),
        member,
      ).toBe(true)
    }
    for (const channel of Object.keys(CHANNELS)) expect(seen.get(channel), channel).toBeGreaterThan(1)
  })

  it('a stream message does not conform with a param of another channel or an invalid value', () => {
    const { payload } = messages['subscribe.request']
    const faultsOf = (type: string, params: Node) =>
      document.faults(payload, { type: 'subscribe', channels: [{ type, params: { market: 'AAAUSD', ...params } }] })
    expect(faultsOf('market_data', { depth: 10 })).toEqual([])
    expect(faultsOf('market_data.top_of_book', { depth: 10 })).not.toEqual([])
    expect(faultsOf('execution_data', { interval_ms: 50 })).not.toEqual([])
    expect(faultsOf('market_data', { depth: 11 })).not.toEqual([])
    expect(faultsOf('market_data', { interval_ms: 60 })).not.toEqual([])
    expect(faultsOf('execution_data', { resume: 7 })).not.toEqual([])
  })

  it('a stream message does not conform with a malformed member', () => {
    const { payload, examples } = messages.market_data
    const [{ payload: example }] = examples
    for (const change of [{ time: 'now' }, { type: 'TOP_OF_BOOK' }, { bids: [{ price: 1, amount: '1' }] }]) {
      expect(document.faults(payload, { ...example, payload: { ...example.payload, ...change } })).not.toEqual([])
    }
    for (const stream of [null, {}, { cursor: 'a.1' }, { cursor: 'a.1', covers: -1 }, { cursor: 1, covers: 1 }]) {
      expect(document.faults(payload, { ...example, stream })).not.toEqual([])
    }
  })
})

describe('/asyncapi.json', () => {
  it('/asyncapi.json is the committed document with the requested address', async () => {
    const listener = await openPublicListener()
    const response = await fetch(`${listener.url}/asyncapi.json`)
    const served = await response.json()
    await listener.close()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    const { host } = new URL(listener.url)
    expect(served).toEqual(JSON.parse(JSON.stringify(committed).replaceAll(committed.servers.service.host, host)))
  })
})
