/** Constraints between configuration keys, checked when a configuration is loaded. */
import { canSharePorts } from '../../platform/http/shared-port.ts'
import { hasRole, ROLES } from './roles.ts'
import type { Config, SettingKey } from './settings.ts'

interface Relation {
  readonly key: SettingKey
  readonly other: SettingKey
  readonly rule: string
  holds(config: Config): boolean
}

const CUSTODY_KEYS = [
  'custody.bitcoin.xpub',
  'custody.bitcoin_cash.xpub',
  'custody.litecoin.xpub',
  'custody.dogecoin.xpub',
  'custody.evm.xpub',
] as const

const WITHOUT_SHARED_PORTS =
  'with this Node.js or system: sharing a port needs Node.js 22.12 or newer, on Linux or FreeBSD'

const BUS_FILES = ['bus.tls.ca_file', 'bus.tls.cert_file', 'bus.tls.key_file'] as const

/** Constraints between keys. A broken one is reported at its `key`. */
export const RELATIONS: readonly Relation[] = [
  {
    key: 'auth.jwks_url',
    other: 'auth.issuer',
    rule: 'must be set exactly when auth.issuer is: these keys verify its tokens',
    holds: (config) => (config['auth.jwks_url'] === '') === (config['auth.issuer'] === ''),
  },
  {
    key: 'auth.audience',
    other: 'auth.issuer',
    rule: 'must be set exactly when auth.issuer is: tokens for another audience are refused',
    holds: (config) => (config['auth.audience'] === '') === (config['auth.issuer'] === ''),
  },
  {
    key: 'deliveries.webhook_secrets',
    other: 'deliveries.webhook_url',
    rule: 'must be set when deliveries.webhook_url is: the executor must be able to verify the sender',
    holds: (config) => config['deliveries.webhook_url'] === '' || config['deliveries.webhook_secrets'] !== '',
  },
  {
    key: 'notices.secrets',
    other: 'notices.url',
    rule: 'must be set when notices.url is: the receiver must be able to verify the sender',
    holds: (config) => config['notices.url'] === '' || config['notices.secrets'] !== '',
  },
  {
    key: 'screening.secrets',
    other: 'screening.url',
    rule: 'must be set when screening.url is: the hook must be able to verify the sender',
    holds: (config) => config['screening.url'] === '' || config['screening.secrets'] !== '',
  },
  {
    key: 'http.tls.cert_file',
    other: 'http.tls.key_file',
    rule: 'must be set together with http.tls.key_file: TLS needs a certificate and its key, plain HTTP neither',
    holds: (config) => (config['http.tls.cert_file'] === '') === (config['http.tls.key_file'] === ''),
  },
  {
    key: 'roles',
    other: 'bus.url',
    rule: 'must contain feed while bus.url is empty: the books of another process arrive over NATS',
    holds: (config) => hasRole(config, 'feed') || config['bus.url'] !== '',
  },
  {
    key: 'roles',
    other: 'store.url',
    rule: `must be all of ${ROLES.join(', ')} while store.url is empty: one process alone opens the embedded store`,
    holds: (config) => config.roles.length === ROLES.length || config['store.url'] !== '',
  },
  {
    key: 'roles',
    other: 'ingest.port',
    rule: 'must contain feed while ingest.port is set: the feed role builds the publishers’ books',
    holds: (config) => hasRole(config, 'feed') || config['ingest.port'] === '',
  },
  {
    key: 'feed.groups',
    other: 'bus.url',
    rule: 'must be empty while bus.url is: without a bus, a process writes all its markets itself',
    holds: (config) => config['feed.groups'].length === 0 || config['bus.url'] !== '',
  },
  {
    key: 'feed.groups',
    other: 'roles',
    rule: 'must be empty while roles does not contain feed',
    holds: (config) => config['feed.groups'].length === 0 || hasRole(config, 'feed'),
  },
  {
    key: 'bus.credentials_file',
    other: 'bus.url',
    rule: 'must be empty while bus.url is: only NATS uses it',
    holds: (config) => config['bus.credentials_file'] === '' || config['bus.url'] !== '',
  },
  ...BUS_FILES.map(
    (key): Relation => ({
      key,
      other: 'bus.url',
      rule: 'must be empty unless every address in bus.url starts with tls://',
      holds: (config) => config[key] === '' || config['bus.url'].split(',').every((url) => url.startsWith('tls://')),
    }),
  ),
  {
    key: 'bus.tls.cert_file',
    other: 'bus.tls.key_file',
    rule: 'must be set together with bus.tls.key_file: a certificate needs its key',
    holds: (config) => (config['bus.tls.cert_file'] === '') === (config['bus.tls.key_file'] === ''),
  },
  {
    key: 'gateway.processes',
    other: 'stream.port',
    rule: 'must be 0 while stream.port is empty: gateway processes share a port of their own',
    holds: (config) => config['gateway.processes'] === 0 || config['stream.port'] !== '',
  },
  {
    key: 'gateway.processes',
    other: 'stream.port',
    rule: `must be 0 ${WITHOUT_SHARED_PORTS}`,
    holds: (config) => config['gateway.processes'] === 0 || canSharePorts(),
  },
  {
    key: 'gateway.processes',
    other: 'bus.url',
    rule: 'must be 0 while bus.url is set: start several processes with roles: [gateway] and stream.reuse_port',
    holds: (config) => config['gateway.processes'] === 0 || config['bus.url'] === '',
  },
  {
    key: 'stream.reuse_port',
    other: 'stream.port',
    rule: 'must be false while stream.port is empty: only the stream’s own port is shared',
    holds: (config) => !config['stream.reuse_port'] || config['stream.port'] !== '',
  },
  {
    key: 'stream.reuse_port',
    other: 'stream.port',
    rule: `must be false ${WITHOUT_SHARED_PORTS}`,
    holds: (config) => !config['stream.reuse_port'] || canSharePorts(),
  },
  ...(['http.port', 'operator.port', 'ingest.port'] as const).map(
    (other): Relation => ({
      key: 'stream.port',
      other,
      rule: `must differ from ${other}: the stream’s own port serves nothing else`,
      holds: (config) =>
        config['stream.port'] === '' || config['stream.port'] === 0 || config['stream.port'] !== config[other],
    }),
  ),
  {
    key: 'gateway.processes',
    other: 'roles',
    rule: 'must be 0 while roles does not contain gateway: gateway processes serve the stream',
    holds: (config) => config['gateway.processes'] === 0 || hasRole(config, 'gateway'),
  },
  {
    key: 'http.unfinished_bytes_max',
    other: 'http.header_bytes_max',
    rule: 'must be at least 8 times http.header_bytes_max: a few large heads must not use it up',
    holds: (config) => config['http.unfinished_bytes_max'] >= 8 * config['http.header_bytes_max'],
  },
  {
    key: 'ingest.tls.cert_file',
    other: 'ingest.tls.key_file',
    rule: 'must be set together with ingest.tls.key_file: TLS needs a certificate and its key, plain HTTP neither',
    holds: (config) => (config['ingest.tls.cert_file'] === '') === (config['ingest.tls.key_file'] === ''),
  },
  {
    key: 'ingest.tls.client_ca_file',
    other: 'ingest.tls.cert_file',
    rule: 'must be empty while ingest.tls.cert_file is: client certificates need TLS',
    holds: (config) => config['ingest.tls.client_ca_file'] === '' || config['ingest.tls.cert_file'] !== '',
  },
  {
    key: 'stream.ping_seconds',
    other: 'stream.silence_seconds',
    rule: 'must be less than stream.silence_seconds: an idle client answers pings and sends nothing else',
    holds: (config) => config['stream.ping_seconds'] < config['stream.silence_seconds'],
  },
  {
    key: 'stream.inbound_burst',
    other: 'stream.inbound_per_second',
    rule: 'must be at least stream.inbound_per_second: a burst contains at least one second’s messages',
    holds: (config) => config['stream.inbound_burst'] >= config['stream.inbound_per_second'],
  },
  {
    key: 'stream.connections_per_client_max',
    other: 'stream.connections_max',
    rule: 'must be at most stream.connections_max',
    holds: (config) => config['stream.connections_per_client_max'] <= config['stream.connections_max'],
  },
  {
    key: 'rest.sandbox',
    other: 'deliveries.webhook_url',
    rule: 'must be false while deliveries.webhook_url is set: test deposits must never be paid out',
    holds: (config) => !config['rest.sandbox'] || config['deliveries.webhook_url'] === '',
  },
  ...CUSTODY_KEYS.map(
    (other): Relation => ({
      key: 'rest.sandbox',
      other,
      rule: `must be false while ${other} is set: test deposits must not be mixed with real-money addresses`,
      holds: (config) => !config['rest.sandbox'] || config[other] === '',
    }),
  ),
  {
    key: 'operator.tls.cert_file',
    other: 'operator.tls.key_file',
    rule: 'must be set together with operator.tls.key_file: TLS needs a certificate and its key, plain HTTP neither',
    holds: (config) => (config['operator.tls.cert_file'] === '') === (config['operator.tls.key_file'] === ''),
  },
  {
    key: 'operator.public_url',
    other: 'http.trusted_proxies',
    rule: 'must be empty or start with https://, and needs operator.tls.cert_file or the proxy in http.trusted_proxies: passwords are sent to it',
    holds: (config) =>
      config['operator.public_url'] === '' ||
      (config['operator.public_url'].startsWith('https://') &&
        (config['operator.tls.cert_file'] !== '' || config['http.trusted_proxies'].length > 0)),
  },
  ...(['operator.oidc.client_id', 'operator.oidc.client_secret_file'] as const).map(
    (key): Relation => ({
      key,
      other: 'operator.oidc.issuer',
      rule: 'must be set exactly when operator.oidc.issuer is: the service is a client of the issuer',
      holds: (config) => (config[key] === '') === (config['operator.oidc.issuer'] === ''),
    }),
  ),
  {
    key: 'operator.oidc.issuer',
    other: 'operator.public_url',
    rule: 'must be empty while operator.public_url is: the issuer sends browsers back there',
    holds: (config) => config['operator.oidc.issuer'] === '' || config['operator.public_url'] !== '',
  },
  {
    key: 'operator.port',
    other: 'http.port',
    rule: 'must differ from http.port: the operator API is never on the public listener',
    holds: (config) => config['operator.port'] === 0 || config['operator.port'] !== config['http.port'],
  },
  ...(['http.port', 'operator.port'] as const).map(
    (other): Relation => ({
      key: 'ingest.port',
      other,
      rule: `must differ from ${other}: publishers have their own listener`,
      holds: (config) => config['ingest.port'] === 0 || config['ingest.port'] !== config[other],
    }),
  ),
]
