/** A kind of setting: the secrets that sign the requests to a webhook. */
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import type { Setting } from '../setting-kinds.ts'

const SECRETS_ACCEPTED = 'one secret, or two separated by a space, each `whsec_` and 24 to 64 random bytes in base64'

/** A list in YAML, or text separated by spaces or line breaks. Kept as text with single spaces. */
export function webhookSecrets(urlKey: string): Setting<string> {
  return {
    initial: '',
    live: true,
    meaning: `signing secrets for \`${urlKey}\`, two during a rotation`,
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
}
