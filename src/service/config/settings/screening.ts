/** The operator's hook that decides about deposits and payments. */
import { integer, toggle } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'
import { webhookSecrets } from './webhook-secrets.ts'

export const SCREENING_SETTINGS = {
  'screening.url': outsideAddress({
    initial: '',
    live: true,
    meaning:
      'address that is asked about every deposit and payment. Each waits until it is allowed. Empty = nothing is screened',
  }),
  'screening.secrets': webhookSecrets('screening.url'),
  'screening.allow_private': toggle({
    initial: false,
    live: true,
    meaning: 'whether `screening.url` may resolve to a non-public address',
  }),
  'screening.valid_hours': integer({
    initial: 24,
    min: 1,
    max: 8_760,
    live: true,
    meaning: 'hours after which an ALLOW is no longer valid: what has not left by then is asked again',
  }),
} as const
