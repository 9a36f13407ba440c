/**
 * Derives a decision from the hook's answer. Only a success (2xx) with the question's id and a known decision is one.
 * Any other answer, such as a proxy's error page or the answer to another question, is no decision, and the hook is
 * asked again.
 */
import { membersOf, parseJson } from '../../platform/base/json-value.ts'
import type { WebhookReply } from '../../platform/webhooks/request.ts'
import { SCREENING_DECISIONS, type ScreeningDecision } from './model.ts'

export type ScreeningAnswer =
  | { readonly kind: 'decided'; readonly decision: ScreeningDecision; readonly reason: string | null }
  | { readonly kind: 'unanswered'; readonly fault: string }

/** The stored part of a provider's reason. */
const REASON_CHARACTERS_MAX = 500

/** @param questionId the id in the request */
export function answerOf(reply: WebhookReply, questionId: string): ScreeningAnswer {
  if (reply.kind === 'failed') return unanswered(reply.reason)
  const { status: httpStatus, body } = reply
  if (httpStatus < 200 || httpStatus > 299) return unanswered(`answered with status ${httpStatus}`)
  const { id, decision, reason } = membersOf(parseJson(body))
  if (id !== questionId) return unanswered(`answered with ${typeof id === 'string' ? 'another' : 'no'} id`)
  const known = SCREENING_DECISIONS.find((each) => each === decision)
  if (known === undefined) return unanswered(`answered with no decision (${SCREENING_DECISIONS.join(', ')})`)
  return {
    kind: 'decided',
    decision: known,
    reason: typeof reason === 'string' && reason !== '' ? storable(reason) : null,
  }
}

function unanswered(fault: string): ScreeningAnswer {
  return { kind: 'unanswered', fault }
}

/** The text in a form that the store accepts: bounded, without U+0000 and lone surrogates. */
function storable(text: string): string {
  return text.slice(0, REASON_CHARACTERS_MAX).replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
