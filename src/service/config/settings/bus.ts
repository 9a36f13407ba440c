/** The settings for a process's roles and for the bus between processes. */
import { FEED_GROUP, FEED_GROUP_RULE } from '../markets.ts'
import { ROLES } from '../roles.ts'
import { list, natsUrl, text } from '../setting-kinds.ts'

const path = { initial: '', accepts: 'a path', pattern: /^[^\0]{0,4096}$/ } as const

export const BUS_SETTINGS = {
  roles: list({
    initial: ROLES,
    meaning:
      'what this process does: `feed` runs the sources and writes the books, `gateway` serves the stream, `api` the REST API and tokens, `worker` conversions and deliveries',
    accepts: ROLES.join(', '),
    fits: (entry) => (ROLES as readonly string[]).includes(entry),
  }),
  'bus.url': natsUrl({
    initial: '',
    meaning:
      'address of NATS 2.9 or newer, which carries the books between processes; empty = this process alone has them',
  }),
  'feed.groups': list({
    meaning:
      'the feed groups that this process may lead; empty = those of all markets. With `bus.url`, of all processes that may lead a group one does at a time, and another takes over when it ends',
    accepts: `names of feed groups (${FEED_GROUP_RULE})`,
    fits: (entry) => FEED_GROUP.test(entry),
  }),
  'bus.credentials_file': text({
    ...path,
    meaning: 'credentials file (`.creds`) for NATS; empty = those in bus.url, or none',
  }),
  'bus.tls.ca_file': text({
    ...path,
    meaning: 'PEM certificates that the certificate of NATS is verified with; empty = those of Node.js',
  }),
  'bus.tls.cert_file': text({ ...path, meaning: 'PEM certificate that this process presents to NATS; empty = none' }),
  'bus.tls.key_file': text({ ...path, meaning: 'PEM private key of bus.tls.cert_file' }),
} as const
