/**
 * The token endpoint, the revocation endpoint and the issuer's metadata as OpenAPI paths, and the keys for receipts.
 * Their parameters are forms, which no route schema describes, and their errors come from the table in
 * `access/clients/token-endpoint/token-errors`.
 */
import { TOKEN_ERRORS, type TokenErrorCode } from '../../access/clients/token-endpoint/token-errors.ts'
import { RECEIPT_KEYS_PATH } from '../../contract/receipt.ts'
import { headersOf, type Json } from './answers.ts'

const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data']

const CREDENTIALS = {
  client_id: { type: 'string', description: 'Unless sent as HTTP Basic' },
  client_secret: { type: 'string', format: 'password', description: 'Unless sent as HTTP Basic' },
}

const TOKEN_REQUEST = {
  type: 'object',
  required: ['grant_type', 'scope'],
  properties: {
    grant_type: { type: 'string', const: 'client_credentials' },
    ...CREDENTIALS,
    scope: { type: 'string', description: 'One scope, or several separated by spaces' },
  },
  examples: [
    {
      grant_type: 'client_credentials',
      client_id: '01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01',
      client_secret: 'shown-once-when-it-was-created',
      scope: 'identity:read_account',
    },
  ],
}

export const TOKEN_SCHEMAS = {
  Token: {
    type: 'object',
    required: ['access_token', 'expires_in', 'token_type', 'scope'],
    properties: {
      access_token: { type: 'string', description: 'Opaque to clients' },
      expires_in: { type: 'integer', description: 'Seconds' },
      token_type: { type: 'string', const: 'bearer' },
      scope: { type: 'string' },
    },
    examples: [
      { access_token: 'eyJhbGciOiJFUzI1NiJ9…', expires_in: 3600, token_type: 'bearer', scope: 'identity:read_account' },
    ],
  },
  TokenError: {
    type: 'object',
    required: ['error', 'error_description'],
    properties: {
      error: { type: 'string', enum: Object.keys(TOKEN_ERRORS) },
      error_description: { type: 'string' },
    },
  },
}

/** Each status's error codes. Some codes have a more specific HTTP status than RFC 6749 assigns. */
const TOKEN_STATUSES: Readonly<Record<number, readonly TokenErrorCode[]>> = {
  400: ['invalid_request', 'unsupported_grant_type', 'invalid_scope'],
  401: ['invalid_client'],
  413: ['invalid_request'],
  415: ['invalid_request'],
  429: ['temporarily_unavailable'],
  500: ['server_error'],
  503: ['temporarily_unavailable'],
}

const REVOKED = 'The token is no longer accepted. Also sent for an unknown or expired token, or another client’s'

const TEXTS = { type: 'array', items: { type: 'string' } }

const KEY_SET = {
  type: 'object',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', required: ['kty', 'kid'] } } },
}

export const TOKEN_PATHS: Json = {
  '/oauth2/token': {
    post: {
      operationId: 'grantToken',
      summary: 'Get an access token',
      description: 'OAuth 2 client credentials grant (RFC 6749 section 4.4). A body has at most 64 KiB.',
      tags: ['Tokens'],
      security: [{}, { client: [] }],
      requestBody: { required: true, content: contents(FORMS, TOKEN_REQUEST) },
      responses: { 200: answer('A token', { $ref: '#/components/schemas/Token' }), ...tokenErrors(TOKEN_STATUSES) },
    },
  },
  '/oauth2/revoke': {
    post: {
      operationId: 'revokeToken',
      summary: 'Revoke an access token',
      description:
        'RFC 7009. Revokes one of the client’s own tokens and closes its streams. A body has at most 64 KiB.',
      tags: ['Tokens'],
      security: [{}, { client: [] }],
      requestBody: {
        required: true,
        content: contents(FORMS, {
          type: 'object',
          required: ['token'],
          properties: { token: { type: 'string' }, token_type_hint: { type: 'string' }, ...CREDENTIALS },
        }),
      },
      responses: {
        200: { description: REVOKED, headers: headersOf(['X-Request-Id']) },
        ...tokenErrors({ ...TOKEN_STATUSES, 400: ['invalid_request'] }),
      },
    },
  },
  '/.well-known/oauth-authorization-server': {
    get: {
      operationId: 'getAuthorizationServer',
      summary: 'Token endpoint metadata',
      description: 'RFC 8414.',
      tags: ['Tokens'],
      security: [],
      responses: {
        200: answer('The metadata', {
          type: 'object',
          required: ['issuer', 'token_endpoint', 'revocation_endpoint', 'jwks_uri', 'scopes_supported'],
          properties: {
            issuer: { type: 'string' },
            token_endpoint: { type: 'string', format: 'uri' },
            revocation_endpoint: { type: 'string', format: 'uri' },
            jwks_uri: { type: 'string', format: 'uri' },
            scopes_supported: TEXTS,
            response_types_supported: { ...TEXTS, description: 'Empty: there is no authorization endpoint' },
            grant_types_supported: TEXTS,
            token_endpoint_auth_methods_supported: TEXTS,
            revocation_endpoint_auth_methods_supported: TEXTS,
          },
        }),
        503: { $ref: '#/components/responses/503.unavailable' },
      },
    },
  },
  '/.well-known/jwks.json': {
    get: {
      operationId: 'getKeys',
      summary: 'Public keys for verifying tokens',
      description: 'RFC 7517.',
      tags: ['Tokens'],
      security: [],
      responses: {
        200: {
          ...answer('The keys', undefined),
          content: contents(['application/jwk-set+json'], KEY_SET),
        },
        503: { $ref: '#/components/responses/503.unavailable' },
      },
    },
  },
}

export const RECEIPT_PATHS: Json = {
  [RECEIPT_KEYS_PATH]: {
    get: {
      operationId: 'getReceiptKeys',
      summary: 'Public keys for verifying book receipts',
      description: 'RFC 7517. Every key that has signed receipts. None is ever removed. No token is signed with them.',
      tags: ['Markets'],
      security: [],
      responses: {
        200: {
          ...answer('The keys', undefined),
          content: contents(['application/jwk-set+json'], KEY_SET),
        },
        404: {
          description: '`not_found`: this service has not signed any receipts',
          headers: headersOf(['X-Request-Id']),
          content: contents(['application/problem+json'], { $ref: '#/components/schemas/Problem' }),
        },
        503: { $ref: '#/components/responses/503.unavailable' },
      },
    },
  },
}

function contents(mediaTypes: readonly string[], schema: Json): Json {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]))
}

function answer(description: string, schema: Json | undefined): Json {
  const content = schema === undefined ? {} : { content: contents(['application/json'], schema) }
  return { description, headers: headersOf(['X-Request-Id']), ...content }
}

function tokenErrors(statuses: Readonly<Record<number, readonly TokenErrorCode[]>>): Json {
  return Object.fromEntries(
    Object.entries(statuses).map(([status, codes]) => {
      const description = codes.map((code) => `\`${code}\`: ${TOKEN_ERRORS[code].meaning}`).join('. ')
      const error = { type: 'object', properties: { error: { type: 'string', enum: codes } } }
      return [status, answer(description, { allOf: [{ $ref: '#/components/schemas/TokenError' }, error] })]
    }),
  )
}
