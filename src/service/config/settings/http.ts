/** The public listener's settings. */
import { isProxyRange } from '../../../platform/http/client-address.ts'
import { integer, list, seconds, text, url } from '../setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/
const PORT_MAX = 65_535

export const HTTP_SETTINGS = {
  'http.host': text({
    initial: '127.0.0.1',
    meaning: 'bind address of the public listener (token endpoint, REST API and stream)',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'http.port': integer({
    initial: 8080,
    min: 0,
    max: PORT_MAX,
    meaning: 'public listener’s port (0 = any free port)',
  }),
  'http.public_url': url({
    initial: '',
    schemes: ['http', 'https'],
    optional: true,
    meaning: 'customers’ address for the listener behind a proxy. Empty = the listener’s own',
  }),
  'http.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the public listener’s certificate chain. Empty = no TLS',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.tls.key_file': text({
    initial: '',
    meaning: 'that certificate’s private key (PEM), without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.trusted_proxies': list({
    meaning: 'proxies whose `X-Forwarded-For` is trusted',
    accepts: 'addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`',
    fits: isProxyRange,
  }),
  'http.cors_origins': list({
    meaning: 'browser origins that may call the token endpoint and REST',
    accepts: 'origins (`https://app.example.com`) or `*`',
    fits: isCorsOrigin,
  }),
  'http.header_bytes_max': integer({
    initial: 524_288,
    min: 8_192,
    max: 16_777_216,
    meaning: 'largest request head. Larger ones get 431',
  }),
  'http.unfinished_bytes_max': integer({
    initial: 67_108_864,
    min: 1_048_576,
    max: 17_179_869_184,
    meaning: 'limit for all public connections’ incomplete requests. Above it, the oldest are closed',
  }),
  'http.drain_delay_seconds': seconds({
    initial: 0,
    min: 0,
    max: 3_600,
    live: true,
    meaning: 'time between reporting not ready and closing the listener',
  }),
} as const

/** An `Origin` header's form: scheme, host and port. `*` means every origin. */
function isCorsOrigin(text: string): boolean {
  return text === '*' || (/^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text)
}
