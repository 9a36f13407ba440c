/** The descriptions and examples of the operations on webhook endpoints. Pure. */
const ENDPOINT = {
  id: '01932b70-1a2b-7c3d-8e4f-9a8b7c6d5e01',
  url: 'https://example.com/tidegate',
  types: ['transfer.deposit.completed', 'orchestration.orchestration.completed'],
  status: 'ACTIVE',
  last_sequence: 41,
  secrets: [{ created_at: '2026-11-20T10:15:00.000Z' }],
  created_at: '2026-11-20T10:15:00.000Z',
}

const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDxvbL5zMhcnkZ'

export const WEBHOOK_EXAMPLES = {
  listWebhookEndpoints: {
    description: '',
    answered: 'One page of webhook endpoints',
    answer: { items: [ENDPOINT] },
  },
  createWebhookEndpoint: {
    description:
      'It receives the next events, of its types, that its client may read: POST requests with the event as body, signed ' +
      'by Standard Webhooks 1.0. Any answer with 2xx within 10 seconds accepts an event. One object’s events arrive in ' +
      'order, several objects’ in parallel, and an event may arrive again with the same `webhook-id`. Failed requests ' +
      'are repeated for 3 days, then the endpoint is DISABLED. `secret` is returned once.',
    answered: 'The endpoint, with its secret',
    request: { url: ENDPOINT.url, types: ENDPOINT.types },
    answer: { ...ENDPOINT, secret: SECRET },
  },
  getWebhookEndpoint: { description: '', answered: 'The endpoint', answer: ENDPOINT },
  updateWebhookEndpoint: {
    description:
      'Absent members stay. `PAUSED` stops the requests, `ACTIVE` continues after the last accepted event, also for a ' +
      'DISABLED endpoint. `rotate_secret` adds a second secret, which signs beside the first one until `end_rotation`.',
    answered: 'The endpoint, with a new secret',
    request: { rotate_secret: true },
    answer: {
      ...ENDPOINT,
      secrets: [...ENDPOINT.secrets, { created_at: '2026-11-21T10:15:00.000Z' }],
      secret: SECRET,
    },
  },
  deleteWebhookEndpoint: {
    description: 'Nothing more is sent to it. Deleting it again is 200 and changes nothing.',
    answered: 'The deleted endpoint',
    answer: { ...ENDPOINT, status: 'DELETED', secrets: [] },
  },
  testWebhookEndpoint: {
    description:
      'Sends an event with `is_test`, the type `webhook.endpoint.test` and the sequence 0, within seconds and in any ' +
      'status. The list of deliveries shows the answer.',
    answered: 'The test event’s id',
    answer: { event_id: '01932b70-2b3c-7d4e-8f5a-0b9c8d7e6f02' },
  },
  replayWebhookEndpoint: {
    description: 'Sends all events after a sequence again, in order, and continues from there.',
    answered: 'The endpoint',
    request: { after: 12 },
    answer: { ...ENDPOINT, last_sequence: 12 },
  },
  listWebhookDeliveries: {
    description: 'Kept for 14 days. Answers’ bodies are neither read nor kept.',
    answered: 'One page of requests',
    answer: {
      items: [
        {
          id: '01932b70-3c4d-7e5f-8a6b-1c0d9e8f7a03',
          event_id: '00000000-0029-8c1d-a2e3-f4a5b6c7d8e9',
          sequence: 41,
          attempt: 2,
          status: 204,
          milliseconds: 31,
          created_at: '2026-11-20T12:00:05.000Z',
        },
      ],
    },
  },
} as const
