/**
 * The AsyncAPI 3 document for the publishers' protocol (docs/how-to/feeding-your-own-book.md), seen from the publisher:
 * with `pull` it is the server, with `push` the client. Its schemas come from the table in `contract/publication`.
 * Pure.
 */
import { EXTENDED_SUBPROTOCOL } from '../../contract/channels.ts'
import { PUBLICATION_SCHEMA } from '../../contract/publication.ts'
import { PUBLISH_SUBPROTOCOL } from '../../contract/publish-codes.ts'
import { PUBLISH_SCOPE } from '../../contract/scopes.ts'
import type { Json } from './answers.ts'

const MESSAGES = {
  publication: {
    summary: 'A publisher message: SNAPSHOT, UPDATE, INSTRUMENT, LOST, or a heartbeat',
    schema: 'PublisherMessage',
    example: {
      channel: 'publication',
      payload: {
        market: 'BTCUSD',
        type: 'UPDATE',
        time: '2026-11-20T12:00:00.123456789Z',
        bids: [{ price: '60000.10', amount: '0.25' }],
        asks: [{ price: '60001.00', amount: '0' }],
        executions: [{ id: '881', side: 'buy', price: '60001.00', amount: '0.1' }],
      },
      stream: { epoch: 'run-2026-11-20-1', seq: 18 },
    },
  },
  request: {
    summary: 'Subscribes or unsubscribes markets and the heartbeat',
    schema: 'PullRequest',
    example: {
      type: 'subscribe',
      channels: [
        { type: 'publication', params: { market: 'BTCUSD', resume: 'run-2026-11-20-1.18' } },
        { type: 'heartbeat' },
      ],
    },
  },
  acknowledgement: {
    summary: 'One entry for each channel in a request',
    schema: 'PullAcknowledgement',
    example: {
      type: 'subscribe',
      channels: [
        { type: 'publication', params: { market: 'BTCUSD' }, success: true, resumed: true },
        { type: 'heartbeat', success: true },
      ],
    },
  },
  server: {
    summary: 'What the ingest listener sends: accepted, snapshot_request, rejected',
    schema: 'ServerMessage',
    example: { type: 'accepted', markets: [{ market: 'BTCUSD', epoch: 'run-2026-11-20-1', seq: 18 }] },
  },
} as const

type Way = 'pull' | 'push'

/** @param version the program's */
export function publisherAsyncApiDocument(version: string): Json {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Tidegate publisher protocol',
      version,
      description: `How a matching engine publishes its book to Tidegate, seen from the engine. ${PUBLICATION_SCHEMA.description}`,
      license: { name: 'Apache License 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      engine: { host: 'engine.internal:9001', protocol: 'wss', description: 'Pull: Tidegate connects to the engine' },
      ingest: { host: 'tidegate.internal:9443', protocol: 'wss', description: 'Push: the engine connects to Tidegate' },
    },
    channels: {
      pull: channel('engine', `The subprotocol is ${EXTENDED_SUBPROTOCOL}`, [
        'request',
        'acknowledgement',
        'publication',
      ]),
      push: channel('ingest', `The subprotocol is ${PUBLISH_SUBPROTOCOL}, the token’s scope ${PUBLISH_SCOPE}`, [
        'server',
        'publication',
      ]),
    },
    operations: {
      answer_requests: {
        ...operation('receive', 'pull', 'request'),
        reply: { channel: { $ref: '#/channels/pull' }, messages: [reference('pull', 'acknowledgement')] },
      },
      publish_to_subscriber: operation('send', 'pull', 'publication'),
      publish_to_listener: operation('send', 'push', 'publication'),
      follow_server: operation('receive', 'push', 'server'),
    },
    components: {
      messages: Object.fromEntries(
        Object.entries(MESSAGES).map(([name, { summary, schema, example }]) => [
          name,
          {
            name,
            summary,
            payload: { $ref: `#/components/schemas/${schema}` },
            examples: [{ payload: example }],
          },
        ]),
      ),
      schemas: JSON.parse(JSON.stringify(PUBLICATION_SCHEMA.$defs).replaceAll('#/$defs/', '#/components/schemas/')),
    },
  }
}

function channel(server: string, description: string, messages: readonly (keyof typeof MESSAGES)[]): Json {
  return {
    address: '/',
    description: `${description}. The handshake has the header Authorization: Bearer TOKEN`,
    servers: [{ $ref: `#/servers/${server}` }],
    messages: Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
  }
}

function operation(action: 'send' | 'receive', way: Way, message: keyof typeof MESSAGES): Json {
  return {
    action,
    channel: { $ref: `#/channels/${way}` },
    summary: MESSAGES[message].summary,
    messages: [reference(way, message)],
  }
}

function reference(way: Way, message: keyof typeof MESSAGES): Json {
  return { $ref: `#/channels/${way}/messages/${message}` }
}
