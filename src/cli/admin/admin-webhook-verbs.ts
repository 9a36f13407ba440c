/** The operator's verbs about customers' webhook endpoints. */
import { type AdminNoun, type AdminOption, type Given, pick } from './admin-verb.ts'

const TYPES: AdminOption = {
  flags: '--types <types>',
  description: 'event types, separated by commas (empty: all that its client may read)',
}

export const WEBHOOK_NOUNS: readonly AdminNoun[] = [
  {
    name: 'webhook-endpoint',
    description: 'the addresses that receive customers’ events',
    verbs: [
      {
        usage: 'list <customer>',
        description: 'lists a customer’s webhook endpoints',
        example: 'webhook-endpoint list acme',
        named: ['customer'],
        method: 'GET',
        path: '/customers/:id/webhook-endpoints',
        columns: ['id', 'url', 'status', 'disabled_reason', 'last_sequence', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <endpoint-id>',
        description: 'shows one webhook endpoint',
        example: 'webhook-endpoint show ENDPOINT_ID',
        method: 'GET',
        path: '/webhook-endpoints/:id',
      },
      {
        usage: 'create <customer> <url>',
        description: 'creates a webhook endpoint, and shows its secret once',
        example: 'webhook-endpoint create acme https://example.com/tidegate --client acme/backend',
        named: ['customer'],
        method: 'POST',
        path: '/customers/:id/webhook-endpoints',
        options: [
          {
            flags: '--client <client>',
            description: 'it receives what this client may read',
            named: 'client',
            isRequired: true,
          },
          TYPES,
        ],
        body: ({ rest: [url], options }) => ({ url, client_id: options.client, ...typesOf(options) }),
      },
      {
        usage: 'update <endpoint-id>',
        description: 'changes address, types or status, or rotates the secret',
        example: 'webhook-endpoint update ENDPOINT_ID --status ACTIVE',
        method: 'PATCH',
        path: '/webhook-endpoints/:id',
        options: [
          { flags: '--to <url>', description: 'the new address' },
          TYPES,
          { flags: '--status <status>', description: 'ACTIVE or PAUSED' },
          { flags: '--rotate-secret', description: 'creates a second secret, shown once. Both sign' },
          { flags: '--end-rotation', description: 'deletes the older of two secrets' },
        ],
        body: ({ options }) => ({
          ...(options.to === undefined ? {} : { url: options.to }),
          ...typesOf(options),
          ...pick(options, 'status'),
          ...(options.rotateSecret === true ? { rotate_secret: true } : {}),
          ...(options.endRotation === true ? { end_rotation: true } : {}),
        }),
      },
      {
        usage: 'delete <endpoint-id>',
        description: 'deletes a webhook endpoint',
        example: 'webhook-endpoint delete ENDPOINT_ID',
        method: 'DELETE',
        path: '/webhook-endpoints/:id',
      },
      {
        usage: 'test <endpoint-id>',
        description: 'sends a test event',
        example: 'webhook-endpoint test ENDPOINT_ID',
        method: 'POST',
        path: '/webhook-endpoints/:id/test',
      },
      {
        usage: 'replay <endpoint-id>',
        description: 'sends the events after a sequence again, in order',
        example: 'webhook-endpoint replay ENDPOINT_ID --after 1200',
        method: 'POST',
        path: '/webhook-endpoints/:id/replay',
        options: [{ flags: '--after <sequence>', description: 'the sequence', read: Number, isRequired: true }],
        body: ({ options }) => ({ after: options.after }),
      },
      {
        usage: 'deliveries <endpoint-id>',
        description: 'lists the requests to an endpoint',
        example: 'webhook-endpoint deliveries ENDPOINT_ID --limit 20',
        method: 'GET',
        path: '/webhook-endpoints/:id/deliveries',
        columns: ['created_at', 'sequence', 'attempt', 'status', 'error', 'milliseconds', 'event_id'],
        isPaged: true,
      },
    ],
  },
]

function typesOf({ types }: Given['options']): object {
  return typeof types === 'string' ? { types: types.split(',').filter((type) => type !== '') } : {}
}
