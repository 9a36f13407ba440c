/** Sends questions to a screening hook with the service's own signatures and requests, and reads answers as it does. */
import { answerOf } from '../../money/screening/answer.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { postWebhook } from '../../platform/webhooks/request.ts'
import type { QuestionSender } from '../judge/screening/screening-checks.ts'
import { changedRequest } from './changed-request.ts'

export function createQuestionSender(url: string, secrets: readonly string[], clock: Clock): QuestionSender {
  return {
    clock,
    secrets,
    async send(question, change) {
      const request = changedRequest(question, change, { secrets, clock })
      return answerOf(await postWebhook({ ...request, url, allowPrivate: true }, { clock }), question.id)
    },
  }
}
