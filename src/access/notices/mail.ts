/**
 * Sends one mail over SMTP, on a connection of its own. Except to this machine, it is encrypted: with `smtp://` the
 * server must offer STARTTLS. A reason for a failure contains no credentials and no text from the server.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { withTimeLimit } from '../../platform/base/time-limit.ts'
import { isLoopbackHost } from '../../platform/webhooks/addresses.ts'
import type { SendOutcome } from './sends.ts'
import type { MailText } from './text.ts'

/** Between two answers from the server. */
const SILENCE_MILLISECONDS_MAX = 15_000
const MAIL_MILLISECONDS_MAX = 60_000

export interface Mail extends MailText {
  /** The same in every attempt, so a mail system can drop a repeated one. */
  readonly id: string
  readonly recipient: string
}

export interface MailServer {
  /** The setting `notices.smtp_url`. */
  readonly url: string
  /** The setting `notices.from`. Empty: `senderOf` the server's address. */
  readonly from: string
}

export async function sendMail(
  { url: text, from: configured }: MailServer,
  { id, recipient, subject, text: body }: Mail,
  clock: Clock,
): Promise<SendOutcome> {
  const url = new URL(text)
  const from = configured === '' ? senderOf(url) : configured
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const secure = url.protocol === 'smtps:'
  const user = decodeURIComponent(url.username)
  // Loaded with the first mail: most processes send none.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    secure,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    requireTLS: !secure && !isLoopbackHost(url),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    connectionTimeout: SILENCE_MILLISECONDS_MAX,
    greetingTimeout: SILENCE_MILLISECONDS_MAX,
    socketTimeout: SILENCE_MILLISECONDS_MAX,
    dnsTimeout: SILENCE_MILLISECONDS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const message = {
    from,
    to: recipient,
    subject,
    text: body,
    messageId: `<${id}@${from.split('@')[1]}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
  try {
    const timeOut = () => Promise.reject(new Error('time limit'))
    await withTimeLimit(clock, MAIL_MILLISECONDS_MAX, transport.sendMail(message), timeOut)
    return { kind: 'sent' }
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) }
  } finally {
    transport.close()
  }
}

/** The user in the server's address when that is a mail address, otherwise `tidegate` at its host name. */
function senderOf({ username, hostname }: URL): string {
  const user = decodeURIComponent(username)
  if (/^[^@\s<>]+@[^@\s<>]+$/.test(user)) return user
  return `tidegate@${/[a-z]/i.test(hostname) && !hostname.startsWith('[') ? hostname : 'localhost'}`
}

function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown }
  const name = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : 'no complete answer'
  return typeof responseCode === 'number'
    ? `the mail server answered ${responseCode} (${name})`
    : `the mail server: ${name}`
}
