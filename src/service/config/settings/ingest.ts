/** The ingest listener's settings. Engines publish the markets with the source `ingest` to it. */
import { integer, optionalInteger, text } from '../setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/

export const INGEST_SETTINGS = {
  'ingest.host': text({
    initial: '127.0.0.1',
    meaning: 'bind address of the ingest listener',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'ingest.port': optionalInteger({
    initial: '',
    min: 0,
    max: 65_535,
    meaning:
      'ingest listener’s port (0 = any free port). Engines publish the markets with the source `ingest` to it. Empty = no listener and, with the role `feed`, no scope `exchange:publish_marketdata`',
  }),
  'ingest.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the ingest listener’s certificate chain. Empty = no TLS',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.tls.key_file': text({
    initial: '',
    meaning: 'that certificate’s private key (PEM), without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.tls.client_ca_file': text({
    initial: '',
    meaning:
      'PEM file with authorities for client certificates, which publishers then need besides the token. Empty = none',
    accepts: 'a path',
    pattern: PATH,
  }),
  'ingest.line_wait_ms': integer({
    initial: 1_000,
    min: 0,
    max: 60_000,
    live: true,
    meaning:
      'milliseconds for which one line stays unread while the other can still fill a gap. Then a snapshot is requested',
  }),
  'ingest.connections_max': integer({
    initial: 64,
    min: 1,
    max: 10_000,
    live: true,
    meaning: 'simultaneous publishers, including `POST /publish`. One client may have a quarter. Further ones get 503',
  }),
  'ingest.message_bytes_max': integer({
    initial: 16_777_216,
    min: 1_024,
    max: 67_108_864,
    meaning: 'largest publisher message, or line in `POST /publish`. A larger one closes the connection with 1009',
  }),
} as const
