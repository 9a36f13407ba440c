/** The REST API's settings: limits, the sandbox, and rule approval. */
import { choice, integer, toggle } from '../setting-kinds.ts'

export const REST_SETTINGS = {
  'rest.rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning: 'requests per second, client and operation (burst: twice as many). Further ones get 429',
  }),
  'rest.sandbox': toggle({
    initial: false,
    meaning: 'serves an operation that creates test deposits, and settles deliveries without paying',
  }),
  'rest.rules_field': toggle({
    initial: true,
    live: true,
    meaning: 'whether a list of rules has the deprecated member `rules` beside `items`',
  }),
  'rules.approval': choice({
    initial: 'auto',
    values: ['auto', 'required'],
    live: true,
    meaning: 'whether a new rule is ACTIVE at once, or PENDING until the operator approves it',
  }),
} as const
