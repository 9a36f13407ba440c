/** Whether customers' accounts need the operator's approval. */
import { choice } from '../setting-kinds.ts'

export const ACCOUNTS_SETTINGS = {
  'accounts.approval': choice({
    initial: 'required',
    values: ['auto', 'required'],
    live: true,
    isKeptByStore: true,
    meaning:
      'whether a PENDING account gets addresses, rules, memos and orchestrations only once the operator has approved it',
  }),
} as const
