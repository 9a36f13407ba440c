/**
 * What an answer of the executor says about a payment. Only a success that names a status in so many words decides
 * anything: every other success means that the executor has the payment, and everything that is no success says nothing.
 * Pure.
 */
import { membersOf, parseJson } from '../base/json-value.ts'
import type { WebhookReply } from './webhook-request.ts'

export type WebhookOutcome =
  | { readonly kind: 'settled'; readonly reference: string }
  /** It will not be paid. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** Handed over, not paid. */
  | { readonly kind: 'accepted'; readonly detail: string }
  /** It may have been paid, or not. */
  | { readonly kind: 'unknown'; readonly detail: string }

/** What of an answer is kept. */
const DETAIL_CHARACTERS_MAX = 500
const REFERENCE_CHARACTERS_MAX = 200

export function outcomeOf(reply: WebhookReply): WebhookOutcome {
  if (reply.kind === 'failed') return { kind: 'unknown', detail: reply.reason }
  const { status: httpStatus, body } = reply
  // A status says nothing: a proxy may answer for an executor that has the payment already.
  if (httpStatus < 200 || httpStatus > 299) return { kind: 'unknown', detail: `answered with status ${httpStatus}` }
  const { status, code, detail, reference } = membersOf(parseJson(body))
  switch (status) {
    case 'REFUSED': {
      const reasons = [code, detail].flatMap((text) => (typeof text === 'string' && text !== '' ? [text] : []))
      return { kind: 'refused', detail: storable(reasons.join(': ') || 'the executor gave no reason') }
    }
    case 'SETTLED':
      if (typeof reference === 'string' && isReference(reference)) return { kind: 'settled', reference }
      return { kind: 'accepted', detail: 'SETTLED without a reference of 1 to 200 characters' }
    case 'ACCEPTED':
      return { kind: 'accepted', detail: 'ACCEPTED' }
    default:
      return { kind: 'accepted', detail: `status ${httpStatus} without a known answer` }
  }
}

function isReference(text: string): boolean {
  return text !== '' && text.length <= REFERENCE_CHARACTERS_MAX && storable(text) === text
}

/** Text that the store keeps as it is: without U+0000 and halves of surrogate pairs, and not too long. */
function storable(text: string): string {
  return text.slice(0, DETAIL_CHARACTERS_MAX).replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
