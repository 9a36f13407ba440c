/**
 * Browsers in which an operator has signed in with a password. Such a browser has a signed cookie, which opens nothing:
 * attempts with it in this operator's name are checked first and have their own budget, so guesses from elsewhere do
 * not delay them. The signature's key is the password's stored form, which every node reads and no client has: a new
 * password and a reset make the cookies worthless, and nothing is stored for them.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The operator whose browser it is. */
export interface PasswordHolder {
  readonly id: string
  /** As it is stored. */
  readonly password: string
}

export const KNOWN_SECONDS = 180 * 86_400
const ID_BYTES = 12
const FORM = /^([\w-]{16})\.(\d{1,12})\.([\w-]{43})$/

/** The cookie value for a browser in which the operator has signed in now. */
export function knownBrowserValue(holder: PasswordHolder, nowMilliseconds: number): string {
  const id = randomBytes(ID_BYTES).toString('base64url')
  const endSeconds = Math.floor(nowMilliseconds / 1000) + KNOWN_SECONDS
  return `${id}.${endSeconds}.${signatureOf(holder, id, endSeconds)}`
}

/** The browser's id. Undefined unless this operator got the value with this password. */
export function knownBrowserId(
  holder: PasswordHolder,
  value: string | undefined,
  nowMilliseconds: number,
): string | undefined {
  const [, id = '', end = '', signature = ''] = FORM.exec(value ?? '') ?? []
  if (Number(end) * 1000 <= nowMilliseconds) return undefined
  const expected = Buffer.from(signatureOf(holder, id, Number(end)))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined
}

/** What the cookie's name ends with: people who share a browser have one each, and the name does not show whose it is. */
export function knownBrowserSuffix(operatorName: string): string {
  return createHash('sha256').update(operatorName).digest('hex').slice(0, 16)
}

function signatureOf({ id, password }: PasswordHolder, browserId: string, endSeconds: number): string {
  return createHmac('sha256', password).update(`known browser ${id} ${browserId} ${endSeconds}`).digest('base64url')
}
