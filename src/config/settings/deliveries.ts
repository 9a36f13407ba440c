/** The settings of payments that leave the service. */
import { secretsOf } from '../../deliveries/webhook-signature.ts'
import { type Setting, toggle } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'

const SECRETS_ACCEPTED =
  'one secret, or two with a blank between them, each `whsec_` and the base64 of 24 to 64 random bytes'

/** A list in YAML, or text with blanks or line breaks between; kept as text with one blank. */
const webhookSecrets: Setting<string> = {
  initial: '',
  live: true,
  meaning:
    'secrets that sign deliveries to `deliveries.webhook_url`: a second one while the executor changes from one to the other',
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
    meaning: 'where payments are sent for execution; empty = executors claim them (`POST /admin/v1/deliveries/claim`)',
  }),
  'deliveries.webhook_secrets': webhookSecrets,
  'deliveries.allow_private': toggle({
    initial: false,
    live: true,
    meaning: 'whether `deliveries.webhook_url` may resolve to an address that is not one of the public internet',
  }),
} as const
