/**
 * The stream's AsyncAPI 3 document: one WebSocket at `/`, the messages in both directions, made from the contract's
 * tables. Seen from the service, as AsyncAPI wants it: it receives requests and sends data. Pure.
 */
import {
  BEARER_SUBPROTOCOL_PREFIX,
  CHANNELS,
  EXTENDED_SUBPROTOCOL,
  REQUEST_TYPES,
  SUBPROTOCOLS,
} from '../../contract/channels.ts'
import { SCOPES, STREAM_SCOPE } from '../../contract/scopes.ts'
import { CLOSE_CODES, STREAM_ERRORS } from '../../contract/stream-codes.ts'
import type { Json } from './answers.ts'
import { nameSchemas } from './named-schemas.ts'
import { ANSWERS, DATA, ERROR, REQUESTS, type StreamMessage } from './stream-messages.ts'

export interface AsyncApiOptions {
  /** The public HTTP address, without a trailing slash. */
  readonly url: string
  /** The stream's address, where it has another one. */
  readonly streamUrl?: string | undefined
  /** The program's version. */
  readonly version: string
  /** Whether this service issues tokens, not an external issuer. */
  readonly issuesTokens: boolean
}

const DESCRIPTION = `Exact live order books, trades and a heartbeat over one WebSocket. All messages are JSON text.

The handshake carries an access token with the scope \`${STREAM_SCOPE}\` in \`Authorization: Bearer TOKEN\`. A browser,
which cannot set headers, offers it as the subprotocol \`${BEARER_SUBPROTOCOL_PREFIX}TOKEN\` next to \`${SUBPROTOCOLS[0]}\`.

Requests are answered in the order received, and their entries independently. A lagging subscriber stays connected with a
correct book: it receives one exact UPDATE for all missed changes, and every trade.

With the subprotocol \`${EXTENDED_SUBPROTOCOL}\`, the extended protocol, every data message carries its cursor and its predecessor’s,
params may contain a depth, an interval or a cursor to resume from, and heartbeats carry book digests. Members and params
marked with it exist only there: the base protocol sends no such member and rejects such a param as unknown.`

const CHANNEL = { $ref: '#/channels/stream' }

export function asyncApiDocument({ url, streamUrl, version, issuesTokens }: AsyncApiOptions): Json {
  const address = streamUrl || url.replace(/^http/, 'ws')
  const [, protocol = '', host = '', pathname = ''] = /^(wss?):\/\/([^/]*)(.*)$/.exec(address) ?? []
  const messages = messageTable()
  const schemas = new Map<string, Json>()
  const described = Object.fromEntries(
    [...messages].map(([name, message]) => [name, nameSchemas(messageObject(name, message), ['payload'], schemas)]),
  )
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Tidegate stream',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      service: {
        host,
        ...(pathname === '' ? {} : { pathname }),
        protocol,
        security: [{ $ref: '#/components/securitySchemes/token' }],
      },
    },
    channels: {
      stream: {
        address: '/',
        description: 'The one connection',
        messages: Object.fromEntries(
          [...messages.keys()].map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
        'x-errors': STREAM_ERRORS,
        'x-close-codes': Object.values(CLOSE_CODES),
      },
    },
    operations: operations(),
    components: {
      messages: described,
      schemas: Object.fromEntries(schemas),
      securitySchemes: { token: securityScheme(url, issuesTokens) },
    },
  }
}

/** Every message by its name among the components. */
function messageTable(): ReadonlyMap<string, StreamMessage> {
  return new Map([
    ...REQUEST_TYPES.map((type) => [requestName(type), REQUESTS[type]] as const),
    ...REQUEST_TYPES.map((type) => [answerName(type), ANSWERS[type]] as const),
    ['error', ERROR] as const,
    ...channelTypes().map((type) => [type, DATA[type]] as const),
  ])
}

function operations(): Json {
  const received = REQUEST_TYPES.map((type) => [
    type,
    {
      action: 'receive',
      channel: CHANNEL,
      summary: REQUESTS[type].summary,
      messages: [reference(requestName(type))],
      reply: { channel: CHANNEL, messages: [reference(answerName(type)), reference('error')] },
    },
  ])
  const sent = channelTypes().map((type) => [
    type,
    { action: 'send', channel: CHANNEL, summary: DATA[type].summary, messages: [reference(type)] },
  ])
  const ended = {
    action: 'send',
    channel: CHANNEL,
    summary: 'A market was removed or changed: its subscriptions have ended. Subscribe again',
    messages: [reference(answerName('unsubscribe'))],
  }
  return { ...Object.fromEntries([...received, ...sent]), subscriptions_ended: ended }
}

function messageObject(name: string, { summary, payload, example, extendedExample }: StreamMessage): Json {
  if (extendedExample === undefined) return { name, summary, payload, examples: [{ payload: example }] }
  const [base] = SUBPROTOCOLS
  const examples = [
    { name: base, payload: example },
    { name: EXTENDED_SUBPROTOCOL, payload: extendedExample },
  ]
  return { name, summary, payload, examples }
}

function securityScheme(url: string, issuesTokens: boolean): Json {
  if (!issuesTokens) return { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  const availableScopes = { [STREAM_SCOPE]: SCOPES[STREAM_SCOPE] }
  const flows = { clientCredentials: { tokenUrl: `${url}/oauth2/token`, availableScopes } }
  return { type: 'oauth2', flows, scopes: [STREAM_SCOPE] }
}

function channelTypes() {
  return Object.keys(CHANNELS) as (keyof typeof CHANNELS)[]
}

function requestName(type: string): string {
  return `${type}.request`
}

function answerName(type: string): string {
  return `${type}.answer`
}

function reference(name: string): Json {
  return { $ref: `#/channels/stream/messages/${name}` }
}
