/** The settings for tokens and their issuer. */
import { TOKEN_SECONDS_MAX } from '../../../access/clients/access-token.ts'
import { integer, text } from '../setting-kinds.ts'
import { outsideAddress } from './outside-address.ts'

const CLAIM = /^[\x21-\x7e]{1,200}$/
const CLAIM_WORDS = 'the name of a claim, or the path to it with dots'

export const AUTH_SETTINGS = {
  'auth.token_seconds': integer({
    initial: 3_600,
    min: 1,
    max: TOKEN_SECONDS_MAX,
    meaning: 'lifetime of an access token',
  }),
  'auth.token_rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning:
      'token requests per second and source address (burst: four times that), counted separately for valid and failed ' +
      'credentials; requests above it are answered with 429',
  }),
  'auth.directory_stale_seconds': integer({
    initial: 0,
    min: 0,
    max: 86_400,
    meaning:
      'how long a node may be unable to know what was revoked, reaching neither the store nor a node that does, before it refuses new streams; 0 = for ever. Default with `bus.url`: 60',
  }),
  'auth.issuer': text({
    initial: '',
    meaning: 'external issuer (`iss`) whose tokens are accepted; empty = this service issues the tokens',
    accepts: 'an issuer as in its tokens',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.jwks_url': outsideAddress({
    initial: '',
    meaning: 'address of the keys of the external issuer (JWK Set); weak and malformed keys are ignored',
  }),
  'auth.audience': text({
    initial: '',
    meaning: 'audience (`aud`) that tokens of the external issuer must name',
    accepts: 'an audience as in the tokens',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.claims.client': text({
    initial: 'client_id',
    meaning: 'claim of an external token that names the client; a registered client with that name limits its scopes',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.customer': text({
    initial: 'customer_id',
    meaning: 'claim with the id or the exact name of the customer',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.scope': text({
    initial: 'scope',
    meaning: 'claim with the scopes, as text separated by spaces or as a list',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
} as const
