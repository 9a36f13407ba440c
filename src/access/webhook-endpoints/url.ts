/** Which addresses an endpoint may have. The addresses behind a name are checked with each request. */
import { isLoopbackHost } from '../../platform/webhooks/addresses.ts'

const URL_CHARACTERS_MAX = 2_000

/** Why an endpoint may not have the address, or undefined when it may. */
export function urlFault(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > URL_CHARACTERS_MAX || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    return `must be a URL with at most ${URL_CHARACTERS_MAX} ASCII characters`
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) return 'must begin with https://'
  if (url.username + url.password !== '') return 'must not contain a user name or password'
  if (url.hash !== '') return 'must not contain a fragment'
  if (!allowPrivate && isLoopbackHost(url)) return 'must be an address on the public internet'
  return undefined
}
