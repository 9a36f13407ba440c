/** The verification of webhooks, against the signatures that the service makes. */
import { describe, expect, it } from 'vitest'
import { verifyDelivery, verifyWebhook } from '../../packages/client/src/index.ts'
import { signatureHeaders } from '../../src/platform/webhooks/signature.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
const NOW = 1_764_000_000
const BODY =
  '{"type":"delivery.requested","timestamp":"2026-11-22T15:52:32.045Z","data":{"id":"d-1","amount":"1.5","note":"ü"}}'
const signed = (secrets: readonly string[], body = BODY) =>
  signatureHeaders({ id: 'd-1', timestamp: NOW, body }, secrets)
const refused = { code: 'INVALID_SIGNATURE' }

describe('a webhook', () => {
  it('a webhook is accepted with a signature of the service, as text or bytes, from a record or Headers', async () => {
    const request = await verifyDelivery(signed([SECRET]), BODY, [SECRET], NOW * 1_000)
    expect(request.data).toMatchObject({ id: 'd-1', amount: '1.5' })
    const headers = new Headers(signed([SECRET]))
    expect(await verifyDelivery(headers, Buffer.from(BODY), [SECRET], (NOW + 299) * 1_000)).toEqual(request)
  })

  it('a webhook is accepted with either secret while one is replaced', async () => {
    await verifyDelivery(signed([SECRET, OTHER]), BODY, [OTHER], NOW * 1_000)
    await verifyDelivery(signed([SECRET]), BODY, [OTHER, SECRET], NOW * 1_000)
  })

  it.each([
    ['another secret', signed([OTHER]), BODY, NOW],
    ['another body', signed([SECRET]), BODY.replace('1.5', '9.5'), NOW],
    ['another id', { ...signed([SECRET]), 'webhook-id': 'd-2' }, BODY, NOW],
    ['an old time', signed([SECRET]), BODY, NOW + 301],
    ['a time to come', signed([SECRET]), BODY, NOW - 301],
    ['a time that is none', { ...signed([SECRET]), 'webhook-timestamp': 'now' }, BODY, NOW],
    ['no signature', { ...signed([SECRET]), 'webhook-signature': '' }, BODY, NOW],
    ['a signature that is no base64', { ...signed([SECRET]), 'webhook-signature': 'v1,%%' }, BODY, NOW],
    ['a signature of another version', { ...signed([SECRET]), 'webhook-signature': 'v2,AAAA' }, BODY, NOW],
  ])('a webhook is refused with %s', async (_name, headers, body, nowSeconds) => {
    await expect(verifyDelivery(headers, body, [SECRET], nowSeconds * 1_000)).rejects.toMatchObject(refused)
  })

  it('an event is accepted with either secret, and refused with another', async () => {
    const body = '{"sequence":7,"type":"auth.secret.created"}'
    const event = await verifyWebhook(body, signed([SECRET, OTHER], body), [OTHER], NOW * 1_000)
    expect(event).toEqual({ sequence: 7, type: 'auth.secret.created' })
    await expect(verifyWebhook(body, signed([SECRET], body), [OTHER], NOW * 1_000)).rejects.toMatchObject(refused)
  })

  it('the webhook check needs valid secrets', async () => {
    await expect(verifyDelivery(signed([SECRET]), BODY, ['hunter2'], NOW * 1_000)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })
})
