/** The operator listener's settings. */
import { FOUR_EYES_KINDS } from '../../../contract/operator-calls.ts'
import { integer, list, type Setting, text, url } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const NAME = /^[A-Za-z0-9._-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/
const PORT_MAX = 65_535

export const OPERATOR_SETTINGS = {
  'operator.host': text({
    initial: '127.0.0.1',
    meaning: 'bind address of the operator listener (operator API, /metrics, /livez, /readyz)',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'operator.port': integer({
    initial: 8081,
    min: 0,
    max: PORT_MAX,
    meaning: 'operator listener’s port (0 = any free port)',
  }),
  'operator.allowed_hosts': list({
    live: true,
    meaning:
      'host names the operator listener accepts in `Host`, besides IP addresses, `localhost` and operator.host. Others get 421',
    accepts: 'host names without a port',
    fits: (name) => NAME.test(name),
  }),
  'operator.four_eyes': list({
    live: true,
    meaning: 'operator API calls that a second operator must confirm, by kind',
    accepts: FOUR_EYES_KINDS.join(', '),
    fits: (kind) => FOUR_EYES_KINDS.some((known) => known === kind),
  }),
  'operator.oidc.issuer': issuer({
    initial: '',
    meaning: 'OpenID Connect issuer for operators’ sign-in. Empty = passwords only',
  }),
  'operator.oidc.client_id': text({
    initial: '',
    meaning: 'this service’s client id at that issuer, with the redirect URI PUBLIC_URL/admin/v1/login/openid/callback',
    accepts: 'the client id',
    pattern: /^[\x20-\x7e]{0,512}$/,
  }),
  'operator.oidc.client_secret_file': text({
    initial: '',
    meaning: 'file with that client’s secret, readable only by the service and read for each login',
    accepts: 'a path',
    pattern: PATH,
  }),
  'operator.public_url': url({
    initial: '',
    schemes: ['http', 'https'],
    optional: true,
    meaning:
      'browsers’ address for the operator listener, needed behind a proxy in http.trusted_proxies and for an issuer. Empty = the listener’s own',
  }),
  'operator.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the operator listener’s certificate chain. Empty = no TLS',
    accepts: 'a path',
    pattern: PATH,
  }),
  'operator.tls.key_file': text({
    initial: '',
    meaning: 'that certificate’s private key (PEM), without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'operator.token': text({
    initial: '',
    meaning: 'the operator API’s bearer token. Empty = random, kept in DATA/operator-token',
    accepts: 'printable text without blanks, 16 to 512 characters',
    pattern: /^(?:[\x21-\x7e]{16,512})?$/,
    secret: true,
  }),
} as const

/** The issuer itself, from which its discovery document's address follows. */
function issuer(common: { readonly initial: string; readonly meaning: string }): Setting<string> {
  const address = outsideAddress(common)
  return {
    ...address,
    read(value) {
      const reading = address.read(value)
      if (!('value' in reading) || !/[?#]|\/\.well-known\//.test(reading.value)) return reading
      return {
        problems: [{ path: '', message: `is ${JSON.stringify(value)}, not an issuer without query and /.well-known/` }],
      }
    },
  }
}
