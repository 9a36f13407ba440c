/** Sends events to a customer's webhook endpoint, with the service's own signatures and requests. */
import type { Clock } from '../../platform/base/clock.ts'
import { postWebhook } from '../../platform/webhooks/request.ts'
import type { EventSender } from '../judge/webhook/webhook-checks.ts'
import { changedRequest } from './changed-request.ts'

export function createEventSender(url: string, secrets: readonly string[], clock: Clock): EventSender {
  return {
    clock,
    secrets,
    async send(event, change) {
      const request = { ...changedRequest(event, change, { secrets, clock }), url, allowPrivate: true }
      const reply = await postWebhook({ ...request, isCustomers: true }, { clock })
      if (reply.kind === 'failed') return { kind: 'refused', detail: reply.reason }
      if (reply.status >= 200 && reply.status < 300) return { kind: 'accepted' }
      return { kind: 'refused', detail: `answered with status ${reply.status}` }
    },
  }
}
