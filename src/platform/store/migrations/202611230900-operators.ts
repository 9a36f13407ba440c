/** The people who operate the service: their roles, API tokens, sessions, and links to set up a password. */
import type { Migration } from './migration.ts'

export const operators: Migration = {
  name: '202611230900-operators',
  text: `
    -- Rows are never deleted: the audit trail names operators.
    create table operators (
      id uuid primary key,
      name text not null constraint operators_name unique,
      role text not null,
      -- False: the operator that the setting operator.token belongs to, which has no password.
      is_person boolean not null default true,
      enabled boolean not null default true,
      -- Salt and scrypt hash; null before it is set up and after a reset.
      password text,
      -- The secret of the one-time codes, encrypted where the node has an encryption key.
      totp_secret text,
      -- The last time step whose code was used: no code is accepted twice.
      totp_step bigint,
      -- The subject at the outside issuer, since the first login through it.
      issuer_subject text,
      last_login_at timestamptz(3),
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index operators_by_time on operators (created_at, id);
    insert into operators (id, name, role, is_person) values (gen_random_uuid(), 'token', 'admin', false);

    create table operator_tokens (
      id uuid primary key,
      operator_id uuid not null references operators,
      name text not null,
      role text not null,
      hash bytea not null constraint operator_tokens_hash unique,
      last_used_at timestamptz(3),
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      constraint operator_tokens_name unique (operator_id, name)
    );

    create table operator_sessions (
      hash bytea primary key,
      operator_id uuid not null references operators,
      used_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    );
    create index operator_sessions_of_operator on operator_sessions (operator_id);

    create table operator_setup_links (
      hash bytea primary key,
      -- Null: the link of the first admin, who chooses the name.
      operator_id uuid references operators,
      -- Entered with the link, and stored with the operator once a code of the secret has been confirmed.
      name text,
      password text,
      totp_secret text,
      expires_at timestamptz(3) not null
    );
    create unique index operator_setup_links_of_operator on operator_setup_links (operator_id) nulls not distinct;
  `,
}
