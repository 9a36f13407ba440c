/** The settings of the REST API: limits, the sandbox, and the approval of rules. */
import { UNREAD_LIMITS } from '../../../platform/http/unread-answers.ts'
import { choice, integer, toggle } from '../setting-kinds.ts'

export const REST_SETTINGS = {
  'rest.rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning: 'requests per second, client and operation (burst: twice that); more are answered with 429',
  }),
  'rest.unread_bytes_per_client_max': integer({
    initial: UNREAD_LIMITS.clientBytesMax,
    min: 4_194_304,
    max: 1_073_741_824,
    meaning:
      'bytes of responses that one client has not read, at most a quarter of those of all; above it its requests are answered with 429',
  }),
  'rest.unread_bytes_max': integer({
    initial: UNREAD_LIMITS.bytesMax,
    min: 4_194_304,
    max: 17_179_869_184,
    meaning: 'bytes of responses that all clients together have not read; above it requests are answered with 503',
  }),
  'rest.read_bytes_per_second_min': integer({
    initial: UNREAD_LIMITS.bytesPerSecondMin,
    min: 0,
    max: 10_000_000,
    meaning:
      'slowest rate at which a client may read responses, over 30 seconds, before its connection is closed; 0 = never',
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
