/** Where notices about the security of customers are sent. */
import { type Setting, text } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'
import { webhookSecrets } from './webhook-secrets.ts'

const SMTP_ACCEPTED = 'an address such as smtp://user:password@host:587 or smtps://host'

/** A mail server. Messages never quote it, because it may contain a password. */
const smtpUrl: Setting<string> = {
  initial: '',
  live: true,
  meaning:
    'mail server for notices to customers’ security contacts. `smtp://` needs STARTTLS, except on a loopback address. Empty = no mail',
  accepts: SMTP_ACCEPTED,
  secret: true,
  structured: false,
  show: (value) => value,
  read(raw) {
    if (raw === '' || (typeof raw === 'string' && isServer(raw))) return { value: raw }
    return { problems: [{ path: '', message: `is not ${SMTP_ACCEPTED}` }] }
  },
}

function isServer(value: string): boolean {
  if (!/^smtps?:\/\/[\x21-\x7e]{1,2048}$/.test(value) || !URL.canParse(value)) return false
  const { hostname, pathname, search, hash, username, password } = new URL(value)
  const areEncoded = [username, password].every((part) => /^([^%]|%[0-9a-f]{2})*$/i.test(part))
  return hostname !== '' && /^\/?$/.test(pathname) && search + hash === '' && areEncoded
}

export const NOTICES_SETTINGS = {
  'notices.smtp_url': smtpUrl,
  'notices.from': text({
    initial: '',
    live: true,
    meaning:
      'sender of these mails. Empty = the user in `notices.smtp_url` if it is a mail address, otherwise `tidegate` at its host',
    accepts: 'a mail address, or empty',
    pattern: /^$|^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/,
  }),
  'notices.url': outsideAddress({
    initial: '',
    live: true,
    meaning: 'address that receives every notice as a signed request. Empty = none',
  }),
  'notices.secrets': webhookSecrets('notices.url'),
} as const
