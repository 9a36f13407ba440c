/** The ingest listener's settings. Engines publish the markets with the source `ingest` to it. */
import { integer, optionalInteger, text } from '../setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/

export const INGEST_SETTINGS = {
  'ingest.host': text({
    initial: '127.0.0.1',
    meaning: 'address that the ingest listener binds to',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'ingest.port': optionalInteger({
    initial: '',
    min: 0,
    max: 65_535,
    meaning:
      'port of the ingest listener, to which engines publish the markets with the source `ingest`; 0 = any free port, empty = no listener, and the scope `exchange:publish_marketdata` does not exist',
  }),
  'ingest.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the certificate of the ingest listener and its chain; empty = no TLS',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.tls.key_file': text({
    initial: '',
    meaning: 'PEM file with the private key of that certificate, without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.tls.client_ca_file': text({
    initial: '',
    meaning:
      'PEM file with certificates of authorities: publishers then need a client certificate that one of them signed, besides the token; empty = no client certificates',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.line_wait_ms': integer({
    initial: 1_000,
    min: 0,
    max: 60_000,
    live: true,
    meaning:
      'how long a line of two waits, unread, for the other line to fill a gap, in milliseconds; then a snapshot is requested',
  }),
  'ingest.connections_max': integer({
    initial: 64,
    min: 1,
    max: 10_000,
    live: true,
    meaning:
      'publishers that are connected at once, those of `POST /publish` included, of one client at most a quarter; more are answered with 503',
  }),
  'ingest.message_bytes_max': integer({
    initial: 16_777_216,
    min: 1_024,
    max: 67_108_864,
    meaning: 'largest message of a publisher, or line of `POST /publish`; a larger one closes the connection with 1009',
  }),
} as const
