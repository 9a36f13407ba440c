/** The settings for outgoing payments. */
import { toggle } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'
import { webhookSecrets } from './webhook-secrets.ts'

export const DELIVERIES_SETTINGS = {
  'deliveries.webhook_url': outsideAddress({
    initial: '',
    live: true,
    meaning:
      'address to which payments are sent for execution. Empty = executors claim them (`POST /admin/v1/deliveries/claim`)',
  }),
  'deliveries.webhook_secrets': webhookSecrets('deliveries.webhook_url'),
  'deliveries.allow_private': toggle({
    initial: false,
    live: true,
    meaning: 'whether `deliveries.webhook_url` may resolve to a non-public address',
  }),
} as const
