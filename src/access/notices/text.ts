/**
 * A notice as a mail's subject and text, and as a webhook's body. Facts may contain a customer's own words, so each is
 * one short line without control characters: it can neither look like the notice's own text nor hide a part. Pure.
 */
import type { NoticeType } from './queue.ts'
import type { DueSend } from './sends.ts'

type Event = Omit<DueSend, 'id' | 'channel' | 'recipient' | 'attempt' | 'dueAt'>

const TITLES: Readonly<Record<NoticeType, string>> = {
  'destination.created': 'A payment destination was registered',
  'destination.approved': 'A payment destination was approved',
  'destination.deleted': 'A payment destination was deleted',
  'secret.created': 'A client secret was created',
  'limit.raised': 'A payment limit was raised',
  'sign_in.locked': 'A client failed to sign in too often',
  'webhook_endpoint.disabled': 'A webhook endpoint was disabled',
  test: 'Test notice',
}

const ADVICE = 'If you did not expect this, contact the operator at once: a stolen client secret may be in use.'
const OTHER_ADVICE: Partial<Readonly<Record<NoticeType, string>>> = {
  test: 'Notices about the security of your account will be sent to this address.',
  'webhook_endpoint.disabled': 'It receives no events until it is set to ACTIVE. Those since then follow in order.',
}

const FACT_CHARACTERS_MAX = 300

export interface MailText {
  readonly subject: string
  readonly text: string
}

export function mailTextOf({ noticeId, type, facts, createdAt, customerName }: Event): MailText {
  const title = TITLES[type]
  const lines = Object.entries(facts).map(
    ([name, value]) => `  ${oneLine(name).replaceAll('_', ' ')}: ${oneLine(value)}`,
  )
  const text = [
    `${title} (customer ${oneLine(customerName)}, ${createdAt}).`,
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
    OTHER_ADVICE[type] ?? ADVICE,
    `Notice ${noticeId}`,
  ]
  return { subject: `${title}: ${oneLine(customerName)}`, text: `${text.join('\n\n')}\n` }
}

/** The same bytes in every attempt. */
export function webhookBodyOf(event: Event): string {
  const { noticeId: id, type, subject, facts, createdAt, customerId, customerName, contacts } = event
  const data = { id, customer_id: customerId, customer_name: customerName, subject, facts, contacts }
  return JSON.stringify({ type: `notice.${type}`, timestamp: createdAt, data })
}

/** Without characters that control, format or separate lines. */
function oneLine(text: string): string {
  const characters = [...text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')]
  return characters.length > FACT_CHARACTERS_MAX
    ? `${characters.slice(0, FACT_CHARACTERS_MAX).join('')}…`
    : characters.join('')
}
