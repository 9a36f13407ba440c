/**
 * Sends deliveries to a payment endpoint with the service's own signatures and requests, and reads the answers as the
 * service does. It can also send what the service never does: altered requests, and requests on cut connections.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { outcomeOf } from '../../money/deliveries/webhook-answer.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { postWebhook } from '../../platform/webhooks/request.ts'
import type { Cut, PaymentSender } from '../judge/executor/executor-checks.ts'
import type { Change, Sent } from '../judge/signed-request.ts'
import { changedRequest } from './changed-request.ts'

const ANSWER_MILLISECONDS_MAX = 10_000

export function createPaymentSender(url: string, secrets: readonly string[], clock: Clock): PaymentSender {
  const requestOf = (delivery: Sent, change: Change) => changedRequest(delivery, change, { secrets, clock })
  return {
    url,
    clock,
    secrets,
    async send(delivery, change) {
      const reply = await postWebhook({ ...requestOf(delivery, change), url, allowPrivate: true }, { clock })
      return { outcome: outcomeOf(reply), body: reply.kind === 'answered' ? reply.body : undefined }
    },
    async sendAndCut(delivery, when) {
      const seen = await answerUntilCut(url, requestOf(delivery, {}), when, clock)
      return outcomeOf({ kind: 'answered', status: 200, body: seen })
    },
    async probe() {
      const reply = await postWebhook({ url, headers: {}, body: '{}', allowPrivate: true }, { clock })
      return reply.kind === 'answered' ? reply.status : undefined
    },
  }
}

/** Sends a request and cuts its connection. Returns the bytes received before the cut. */
function answerUntilCut(
  address: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  when: Cut,
  clock: Clock,
): Promise<string> {
  const url = new URL(address)
  const request = url.protocol === 'http:' ? requestHttp : requestHttps
  return new Promise((resolve) => {
    let seen = ''
    // A socket's own time limit restarts with each byte of a header.
    const late = clock.schedule(ANSWER_MILLISECONDS_MAX, () => outgoing.destroy())
    const end = () => {
      late.cancel()
      resolve(seen)
    }
    const outgoing = request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      agent: false,
    })
    outgoing.on('error', end)
    outgoing.on('close', end)
    outgoing.on('response', (response) => {
      response.on('error', end)
      response.once('data', (part: Buffer) => {
        seen = part.toString()
        outgoing.destroy()
      })
    })
    // The kernel has all bytes by then, so the endpoint reads the request and finds its client gone.
    outgoing.end(body, () => {
      if (when === 'before the answer') outgoing.destroy()
    })
  })
}
