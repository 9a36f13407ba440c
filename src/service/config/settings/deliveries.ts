/** The settings for outgoing payments. */
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import { type Setting, toggle } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'

const SECRETS_ACCEPTED = 'one secret, or two separated by a space, each `whsec_` and 24 to 64 random bytes in base64'

/** A list in YAML, or text separated by spaces or line breaks. Kept as text with single spaces. */
const webhookSecrets: Setting<string> = {
  initial: '',
  live: true,
  meaning: 'signing secrets for `deliveries.webhook_url`, two during a rotation',
  accepts: SECRETS_ACCEPTED,
  secret: true,
  structured: false,
  show: (value) => value,
  read(raw) {
    const text = Array.isArray(raw) ? raw.join(' ') : raw
    const secrets = typeof text === 'string' ? secretsOf(text) : undefined
    if (secrets !== undefined) return { value: secrets.join(' ') }
    return { problems: [{ path: '', message: `is not ${SECRETS_ACCEPTED}` }] }
  },
}

export const DELIVERIES_SETTINGS = {
  'deliveries.webhook_url': outsideAddress({
    initial: '',
    live: true,
    meaning:
      'address to which payments are sent for execution. Empty = executors claim them (`POST /admin/v1/deliveries/claim`)',
  }),
  'deliveries.webhook_secrets': webhookSecrets,
  'deliveries.allow_private': toggle({
    initial: false,
    live: true,
    meaning: 'whether `deliveries.webhook_url` may resolve to an address outside the public internet',
  }),
} as const
