/** The JSON Schema of a publisher's messages accepts what the parser accepts, and rejects what it rejects. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { readPublication } from '../../../src/streaming/sources/publication/message.ts'
import { ApiDocument, type Node, structureFaults } from '../../support/api-document.ts'
import { PublishingEngine } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'

const document = JSON.parse(
  readFileSync(new URL('../../../docs/reference/publication.schema.json', import.meta.url), 'utf8'),
)
const ajv = new Ajv2020({ strict: false })
ajv.addSchema({ ...document, $id: 'https://publication.test/' })
const validatorOf = (name: string) => ajv.compile({ $ref: `https://publication.test/#/$defs/${name}` })
const isPublisherMessage = ajv.compile({ $ref: 'https://publication.test/' })

const SEED = 20_261_123
const MUTATIONS = 20_000
/** Rules of the parser that a schema cannot express; its description names them. */
const NOT_EXPRESSED = [/is not below stream.seq/]

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const VALUES: readonly Json[] = [
  null,
  true,
  0,
  1,
  -1,
  1.5,
  2 ** 53,
  '',
  '0',
  '0.00',
  '1.5',
  '01.50',
  '1e5',
  '-1',
  '.5',
  '5.',
  'buy',
  'OPEN',
  'SNAPSHOT',
  'order_delete',
  'trade',
  'é',
  'x'.repeat(65),
  '2026-11-20T12:00:00Z',
  '2026-11-20T12:00:00.1234567890Z',
  '2026-11-20T12:00:00+01:00',
  '2026-13-20T12:00:00Z',
  [],
  [{}],
  {},
  { price: '1', amount: '0' },
]

function corpus(): Json[] {
  const messages: unknown[] = []
  for (const publishesOrders of [false, true]) {
    const random = new Random(SEED)
    const engine = new PublishingEngine({ symbol: 'BTCUSD', random, publishesOrders, keptMax: 100 })
    messages.push(engine.snapshot())
    for (let count = 0; count < 40; count++) messages.push(engine.step())
    messages.push(engine.setState('HALTED'), engine.snapshot(), engine.lost('a reason'))
  }
  const books = [
    { market: 'BTCUSD', epoch: 'a', seq: 1, digest: '0123456789abcdef' },
    { market: 'X', live: false },
  ]
  messages.push({ channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z', books } })
  messages.push({ channel: 'heartbeat', payload: {} })
  return messages as Json[]
}

/** Replaces, removes or adds one member somewhere. */
function mutate(value: Json, random: Random): Json {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (names.length === 0 || random.chance(0.1)) return random.pick(VALUES)
  const copy = structuredClone(value) as { [name: string]: Json }
  const name = random.pick(names)
  if (random.chance(0.15) && !Array.isArray(copy)) delete copy[name]
  else if (random.chance(0.1) && !Array.isArray(copy)) {
    copy[random.pick(['orders', 'bids', 'prev', 'missed', 'reason', 'state', 'books'])] = random.pick(VALUES)
  } else copy[name] = mutate(copy[name] as Json, random)
  return copy
}

describe('the schema of the messages of a publisher', () => {
  const messages = corpus()

  it('the publisher message schema accepts every message of an engine', () => {
    for (const message of messages) expect([isPublisherMessage(message), message]).toEqual([true, message])
  })

  it('the publisher message schema agrees with the parser on changed messages', () => {
    const random = new Random(SEED)
    const differing: unknown[] = []
    const counts = { accepted: 0, rejected: 0 }
    for (let count = 0; count < MUTATIONS; count++) {
      const message = mutate(random.pick(messages), random)
      const parsed = readPublication(message)
      if (parsed.type === 'problem' && NOT_EXPRESSED.some((rule) => rule.test(parsed.rule))) continue
      const accepts = parsed.type !== 'problem'
      counts[accepts ? 'accepted' : 'rejected']++
      if (isPublisherMessage(message) !== accepts) differing.push([accepts, parsed, message])
    }
    expect(differing.slice(0, 3)).toEqual([])
    expect(Math.min(counts.accepted, counts.rejected)).toBeGreaterThan(1_000)
  })

  it("the publisher message schema describes the server's messages, and the requests of a pull with their answers", () => {
    const resume = { type: 'publication', params: { market: 'BTCUSD', resume: 'run-1.18' } }
    const examples: readonly (readonly [string, unknown, boolean])[] = [
      [
        'ServerMessage',
        { type: 'accepted', markets: [{ market: 'BTCUSD', epoch: 'a', seq: 3 }, { market: 'X' }] },
        true,
      ],
      ['ServerMessage', { type: 'snapshot_request', market: 'BTCUSD', reason: 'a gap' }, true],
      ['ServerMessage', { type: 'rejected', message: 'no' }, true],
      ['ServerMessage', { type: 'rejected' }, false],
      ['PullRequest', { type: 'subscribe', channels: [resume, { type: 'heartbeat' }] }, true],
      ['PullRequest', { type: 'subscribe', channels: [{ type: 'publication' }] }, false],
      ['PullAcknowledgement', { type: 'subscribe', channels: [{ ...resume, success: true, resumed: true }] }, true],
      ['PullAcknowledgement', { type: 'subscribe', channels: [resume] }, false],
    ]
    for (const [name, value, isValid] of examples)
      expect([name, value, validatorOf(name)(value)]).toEqual([name, value, isValid])
  })
})

describe('the AsyncAPI document of publishers', () => {
  const committed = JSON.parse(
    readFileSync(new URL('../../../docs/reference/publisher-asyncapi.json', import.meta.url), 'utf8'),
  )
  const api = new ApiDocument(committed)

  it('the AsyncAPI document of publishers has the structure of AsyncAPI 3.0 and no dangling reference', async () => {
    expect(await structureFaults(committed)).toEqual([])
    for (const reference of api.references()) expect(api.at(reference.slice(1))).toBeTypeOf('object')
  })

  it('the AsyncAPI document of publishers has examples that conform to their schemas', () => {
    for (const [name, { payload, examples }] of Object.entries<Node>(committed.components.messages)) {
      for (const example of examples) expect([name, api.faults(payload, example.payload)]).toEqual([name, []])
      expect([name, api.faults(payload, { type: 'other' }).length > 0]).toEqual([name, true])
    }
  })
})
