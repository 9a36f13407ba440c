/** The public listener's settings. */
import { isProxyRange } from '../../../platform/http/client-address.ts'
import { integer, list, seconds, text, url } from '../setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/
const PORT_MAX = 65_535

export const HTTP_SETTINGS = {
  'http.host': text({
    initial: '127.0.0.1',
    meaning: 'address that the public listener (token endpoint, REST API and stream) binds to',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'http.port': integer({
    initial: 8080,
    min: 0,
    max: PORT_MAX,
    meaning: 'port of the public listener; 0 = any free port',
  }),
  'http.public_url': url({
    initial: '',
    schemes: ['http', 'https'],
    optional: true,
    meaning: 'address that customers use when a proxy forwards to the listener; empty = that of the listener',
  }),
  'http.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the certificate of the public listener and its chain; empty = no TLS',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.tls.key_file': text({
    initial: '',
    meaning: 'PEM file with the private key of that certificate, without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.trusted_proxies': list({
    meaning: 'proxies whose `X-Forwarded-For` is trusted; empty = none',
    accepts: 'addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`',
    fits: isProxyRange,
  }),
  'http.cors_origins': list({
    meaning: 'browser origins that may call the token endpoint and REST; empty = none',
    accepts: 'origins (`https://app.example.com`) or `*`',
    fits: isCorsOrigin,
  }),
  'http.header_bytes_max': integer({
    initial: 524_288,
    min: 8_192,
    max: 16_777_216,
    meaning: 'largest request head; larger ones are answered with 431',
  }),
  'http.unfinished_bytes_max': integer({
    initial: 67_108_864,
    min: 1_048_576,
    max: 17_179_869_184,
    meaning: 'bytes of incomplete requests on all connections of the public listener; above it the oldest are closed',
  }),
  'http.drain_delay_seconds': seconds({
    initial: 0,
    min: 0,
    max: 3_600,
    live: true,
    meaning: 'time between reporting not ready and closing the listener, so that load balancers notice',
  }),
} as const

/** An `Origin` header's form: scheme, host and port. `*` means every origin. */
function isCorsOrigin(text: string): boolean {
  return text === '*' || (/^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text)
}
