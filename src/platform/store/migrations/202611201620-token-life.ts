/** The life of what verifies tokens: when a key signs, when it ends, and which tokens were revoked before their time. */
import type { Migration } from './migration.ts'

export const tokenLife: Migration = {
  name: '202611201620-token-life',
  text: `
    -- Successive keys: each signs from one instant until its successor does. A key that has ended keeps its row and
    -- loses its private part.
    alter table signing_keys
      alter column private_jwk drop not null,
      add column signs_from timestamptz(3),
      add column signs_until timestamptz(3),
      add column retired_at timestamptz(3),
      add column revoked_at timestamptz(3);
    update signing_keys set signs_from = created_at;
    alter table signing_keys
      alter column signs_from set not null,
      add constraint signing_keys_ended
        check ((private_jwk is null) = (retired_at is not null or revoked_at is not null));
    create index signing_keys_by_time on signing_keys (created_at, id);

    -- Tokens issued before this whole second are revoked.
    alter table clients add column tokens_valid_from timestamptz(3);

    -- By the token's own id; a row goes when no token with it can be valid any more.
    create table revoked_tokens (
      token_id uuid primary key,
      client_id uuid not null references clients,
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index revoked_tokens_by_client on revoked_tokens (client_id);
    create index revoked_tokens_by_expiry on revoked_tokens (expires_at);
  `,
}
