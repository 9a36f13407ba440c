/** Requests for another customer's events and webhook endpoints. */
import type { OperationId } from '../../../src/contract/operations.ts'

export const ENDPOINTS = '/v2/webhooks/endpoints'

interface EventCase {
  readonly operation: OperationId
  readonly name: string
  ask(other: { readonly endpoint: string; readonly event: string }): readonly [path: string, body?: unknown]
}

function endpointCase(operation: OperationId, end: string, body?: unknown): EventCase {
  return {
    operation,
    name: `${operation} in the path`,
    ask: ({ endpoint }) => [`${ENDPOINTS}/${endpoint}${end}`, body],
  }
}

export const EVENT_CASES: readonly EventCase[] = [
  { operation: 'getEvent', name: 'getEvent in the path', ask: ({ event }) => [`/v2/events/${event}`] },
  endpointCase('getWebhookEndpoint', ''),
  endpointCase('updateWebhookEndpoint', '', { rotate_secret: true }),
  endpointCase('deleteWebhookEndpoint', ''),
  endpointCase('testWebhookEndpoint', '/test'),
  endpointCase('replayWebhookEndpoint', '/replay', { after: 0 }),
  endpointCase('listWebhookDeliveries', '/deliveries'),
]
