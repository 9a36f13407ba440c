/**
 * The schemas for the operator API's answers about customers, clients, keys and the audit trail. They describe and
 * never serialise.
 */
import { type Static, Type } from 'typebox'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { KEY_STATES } from './signing-keys.ts'

const Uuid = Type.String({ format: 'uuid' })
const Time = Type.String({ format: 'date-time' })
const Count = Type.Integer({ minimum: 0 })

export const Customer = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    enabled: Type.Boolean(),
    streaming: Type.Boolean({ description: 'Whether its clients may open the stream' }),
    security_contacts: Type.Array(Type.String(), {
      description: 'Mail addresses that are notified about its security: set by the operator alone',
    }),
    plan: Type.String({ description: 'Its plan’s name. `unlimited`: no bounds' }),
    created_at: Time,
  },
  { title: 'Customer' },
)

export const CustomerPage = pageOf(Customer)

export const Secret = Type.Object(
  {
    id: Uuid,
    created_at: Time,
    last_used_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it last got or revoked a token: up to a minute late' }),
    ),
  },
  { title: 'Secret' },
)

const clientMembers = {
  client_id: Uuid,
  customer_id: Uuid,
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  publish_markets: Type.Array(Type.String(), { description: 'Markets it may publish' }),
  enabled: Type.Boolean(),
  secrets: Type.Array(Secret, { description: 'The valid ones, without values' }),
  plan: Type.Optional(
    Type.String({ description: 'Its own plan’s name, which narrows its customer’s plan. Absent: none' }),
  ),
  tokens_valid_from: Type.Optional(
    Type.String({ format: 'date-time', description: 'Earlier tokens are no longer accepted' }),
  ),
  created_at: Time,
}

export const Client = Type.Object(clientMembers, { title: 'Client' })

export const ClientPage = pageOf(Client)

const SecretValue = Type.String({ description: 'Returned once' })

/** With the secret and the scopes, they make up a credentials file. */
const addressMembers = {
  base_url: Type.String({ description: 'REST API base address' }),
  auth_url: Type.String({ description: 'Token endpoint base address' }),
  ws_url: Type.String({ description: 'Stream base address' }),
}

export const NewClientAnswer = Type.Object(
  { ...clientMembers, client_secret: SecretValue, ...addressMembers },
  { title: 'NewClient' },
)

export const NewSecretAnswer = Type.Object(
  {
    secret_id: Uuid,
    client_id: Uuid,
    client_secret: SecretValue,
    scopes: clientMembers.scopes,
    ...addressMembers,
    created_at: Time,
  },
  { title: 'NewSecret' },
)

export type ServiceAddresses = Static<Type.TObject<typeof addressMembers>>

/** @param streamUrl empty: the stream has the same address */
export function addressesAt(publicUrl: string, streamUrl = ''): ServiceAddresses {
  const base = publicUrl.replace(/\/+$/, '')
  return { base_url: base, auth_url: base, ws_url: streamUrl || base.replace(/^http/, 'ws') }
}

export const SigningKey = Type.Object(
  {
    id: Type.String(),
    state: textChoice(KEY_STATES),
    algorithm: Type.String(),
    signs_from: Time,
    signs_until: Type.Optional(Time),
    retired_at: Type.Optional(Time),
    revoked_at: Type.Optional(Time),
    created_at: Time,
  },
  { title: 'SigningKey' },
)

export const SigningKeyPage = pageOf(SigningKey)

export const ReceiptKey = Type.Object(
  { id: Type.String(), state: textChoice(['signing', 'ended']), algorithm: Type.String(), created_at: Time },
  { title: 'ReceiptKey' },
)

export const ReceiptKeyPage = pageOf(ReceiptKey)

/** What was encrypted. */
export const Encryption = Type.Object({
  encryption_key_id: Type.String(),
  signing_keys: Count,
  receipt_keys: Count,
  pepper: Type.Boolean(),
})

const AuditEntry = Type.Object(
  {
    id: Type.String(),
    created_at: Time,
    actor: Type.String({
      description:
        '`operator:` and a name, `client:` and an id, `operator` for the `operator.token` token, or `worker`',
    }),
    action: Type.String({ description: 'Noun and verb, such as `customer.create`' }),
    subject: Type.String({ description: 'The changed record’s id' }),
    detail: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'AuditEntry' },
)

export const AuditPage = pageOf(AuditEntry)
