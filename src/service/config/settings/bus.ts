/** The settings for a process's roles and for the bus between processes. */
import { FEED_GROUP, FEED_GROUP_RULE } from '../markets.ts'
import { ROLES } from '../roles.ts'
import { list, natsUrl, text } from '../setting-kinds.ts'

const path = { initial: '', accepts: 'a path', pattern: /^[^\0]{0,4096}$/ } as const

export const BUS_SETTINGS = {
  roles: list({
    initial: ROLES,
    meaning:
      'this process’s work: `feed` runs the sources and writes the books, `gateway` serves the stream, `api` the REST API and tokens, `worker` conversions and deliveries',
    accepts: ROLES.join(', '),
    fits: (entry) => (ROLES as readonly string[]).includes(entry),
  }),
  'bus.url': natsUrl({
    initial: '',
    meaning:
      'address of NATS 2.9 or newer, which carries the books between processes. Empty = only this process has them',
  }),
  'feed.groups': list({
    meaning: 'feed groups this process may lead (empty = all). With `bus.url`, one process leads a group at a time',
    accepts: `names of feed groups (${FEED_GROUP_RULE})`,
    fits: (entry) => FEED_GROUP.test(entry),
  }),
  'bus.credentials_file': text({
    ...path,
    meaning: 'credentials file (`.creds`) for NATS. Empty = those in bus.url, or none',
  }),
  'bus.tls.ca_file': text({
    ...path,
    meaning: 'PEM file with the authorities for NATS’s certificate. Empty = Node.js’s authorities',
  }),
  'bus.tls.cert_file': text({
    ...path,
    meaning: 'PEM file with this process’s client certificate for NATS. Empty = none',
  }),
  'bus.tls.key_file': text({ ...path, meaning: 'PEM file with that certificate’s private key' }),
} as const
