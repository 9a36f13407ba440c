/**
 * Derives a payment's outcome from the executor's answer. Only a success (2xx) with an explicit status is a result. Any
 * other success means the executor has accepted the payment. Any other answer leaves the outcome unknown.
 */
import { membersOf, parseJson } from '../../platform/base/json-value.ts'
import type { WebhookReply } from '../../platform/webhooks/request.ts'

export type WebhookOutcome =
  | { readonly kind: 'settled'; readonly reference: string }
  /** Not paid, and it never will be. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** Accepted by the executor, not paid yet. */
  | { readonly kind: 'accepted'; readonly detail: string }
  /** It may or may not have been paid. */
  | { readonly kind: 'unknown'; readonly detail: string }

/** The stored part of an answer. */
const DETAIL_CHARACTERS_MAX = 500
const REFERENCE_CHARACTERS_MAX = 200

export function outcomeOf(reply: WebhookReply): WebhookOutcome {
  if (reply.kind === 'failed') return { kind: 'unknown', detail: reply.reason }
  const { status: httpStatus, body } = reply
  // An error status proves nothing: a proxy may send it although the executor has the payment.
  if (httpStatus < 200 || httpStatus > 299) return { kind: 'unknown', detail: `answered with status ${httpStatus}` }
  const { status, code, detail, reference } = membersOf(parseJson(body))
  switch (status) {
    case 'REFUSED': {
      const reasons = [code, detail].flatMap((text) => (typeof text === 'string' && text !== '' ? [text] : []))
      return { kind: 'refused', detail: storable(reasons.join(': ') || 'the executor gave no reason') }
    }
    case 'SETTLED':
      if (typeof reference === 'string' && isReference(reference)) return { kind: 'settled', reference }
      return { kind: 'accepted', detail: 'answered SETTLED without a reference (1 to 200 characters)' }
    case 'ACCEPTED':
      return { kind: 'accepted', detail: 'ACCEPTED' }
    default:
      return { kind: 'accepted', detail: `answered with status ${httpStatus} and no known result` }
  }
}

function isReference(text: string): boolean {
  return text !== '' && text.length <= REFERENCE_CHARACTERS_MAX && storable(text) === text
}

/** The text in a form that the store accepts: bounded, without U+0000 and lone surrogates. */
function storable(text: string): string {
  return text.slice(0, DETAIL_CHARACTERS_MAX).replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
