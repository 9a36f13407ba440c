/**
 * The `tidegate admin` verbs as a table: each is one operator API call, and every operator API call has a verb. Each
 * module's rows are in their own file.
 */
import { ACCESS_NOUNS } from './admin-access-verbs.ts'
import { ACCOUNT_NOUNS } from './admin-account-verbs.ts'
import { ADDRESS_NOUNS } from './admin-address-verbs.ts'
import { CONTROL_NOUNS } from './admin-control-verbs.ts'
import { CONVERSION_NOUNS } from './admin-conversion-verbs.ts'
import { DELIVERY_NOUNS } from './admin-delivery-verbs.ts'
import { DEPOSIT_NOUNS } from './admin-deposit-verbs.ts'
import { DESTINATION_NOUNS } from './admin-destination-verbs.ts'
import { EVENT_NOUNS } from './admin-event-verbs.ts'
import { LEDGER_NOUNS } from './admin-ledger-verbs.ts'
import { LIMIT_NOUNS } from './admin-limit-verbs.ts'
import { OPERATOR_NOUNS } from './admin-operator-verbs.ts'
import { ORCHESTRATION_NOUNS } from './admin-orchestration-verbs.ts'
import { PLAN_NOUNS } from './admin-plan-verbs.ts'
import { RULE_NOUNS } from './admin-rule-verbs.ts'
import { SCREENING_NOUNS } from './admin-screening-verbs.ts'
import { STREAM_NOUNS } from './admin-stream-verbs.ts'
import { USAGE_NOUNS } from './admin-usage-verbs.ts'
import { type AdminNoun, textOf } from './admin-verb.ts'
import { WEBHOOK_NOUNS } from './admin-webhook-verbs.ts'

const AUDIT: AdminNoun = {
  name: 'audit',
  description: 'the audit trail',
  verbs: [
    {
      usage: 'list',
      description: 'lists changes',
      example: 'audit list --limit 20 --subject CUSTOMER_ID',
      method: 'GET',
      path: '/audit',
      options: [
        { flags: '--subject <id>', description: 'only this record’s' },
        { flags: '--actor <name>', description: 'only this actor’s' },
      ],
      query: ({ options }) => ({ subject: textOf(options.subject), actor: textOf(options.actor) }),
      columns: ['created_at', 'actor', 'action', 'subject', 'detail'],
      isPaged: true,
    },
  ],
}

export const ADMIN_NOUNS: readonly AdminNoun[] = [
  ...ACCESS_NOUNS,
  ...PLAN_NOUNS,
  ...USAGE_NOUNS,
  ...EVENT_NOUNS,
  ...WEBHOOK_NOUNS,
  ...ACCOUNT_NOUNS,
  ...ADDRESS_NOUNS,
  ...RULE_NOUNS,
  ...DESTINATION_NOUNS,
  ...ORCHESTRATION_NOUNS,
  ...CONTROL_NOUNS,
  ...LIMIT_NOUNS,
  ...DEPOSIT_NOUNS,
  ...CONVERSION_NOUNS,
  ...LEDGER_NOUNS,
  ...DELIVERY_NOUNS,
  ...SCREENING_NOUNS,
  ...STREAM_NOUNS,
  ...OPERATOR_NOUNS,
  AUDIT,
]
