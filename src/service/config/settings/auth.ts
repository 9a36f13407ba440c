/** The settings for tokens and their issuer. */
import { TOKEN_SECONDS_MAX } from '../../../access/clients/access-token.ts'
import { integer, text } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'

const CLAIM = /^[\x21-\x7e]{1,200}$/
const CLAIM_WORDS = 'a claim’s name, or its path with dots'

export const AUTH_SETTINGS = {
  'auth.token_seconds': integer({
    initial: 3_600,
    min: 1,
    max: TOKEN_SECONDS_MAX,
    meaning: 'access-token lifetime',
  }),
  'auth.token_rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning:
      'token requests per second and source address (burst: four times as many), with separate counts for valid and failed ' +
      'credentials. Further requests get 429',
  }),
  'auth.directory_stale_seconds': integer({
    initial: 0,
    min: 0,
    max: 86_400,
    meaning:
      'a node that reaches neither the store nor NATS, or knows fewer revocations than another node, refuses new streams after this time (0 = never). Default with `bus.url`: 60',
  }),
  'auth.issuer': text({
    initial: '',
    meaning: 'external token issuer (`iss`). Empty = this service issues the tokens',
    accepts: 'an issuer as in the tokens',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.jwks_url': outsideAddress({
    initial: '',
    meaning: 'address of the external issuer’s keys (JWK Set). Weak and malformed keys are ignored',
  }),
  'auth.audience': text({
    initial: '',
    meaning: 'required audience (`aud`) in the external issuer’s tokens',
    accepts: 'an audience as in the tokens',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.claims.client': text({
    initial: 'client_id',
    meaning: 'claim with the client’s name in external tokens. A registered client with this name limits the scopes',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.customer': text({
    initial: 'customer_id',
    meaning: 'claim with the customer’s id or exact name',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.scope': text({
    initial: 'scope',
    meaning: 'claim with the scopes, as space-separated text or as a list',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
} as const
