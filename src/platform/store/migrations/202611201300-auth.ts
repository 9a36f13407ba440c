/** Who may come in: customers, their clients with secrets, and who signs the tokens. */
import type { Migration } from './migration.ts'

export const auth: Migration = {
  name: '202611201300-auth',
  text: `
    create table customers (
      id uuid primary key,
      name text not null constraint customers_name unique,
      enabled boolean not null default true,
      streaming boolean not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index customers_by_time on customers (created_at, id);

    create table clients (
      id uuid primary key,
      customer_id uuid not null references customers,
      name text not null,
      scopes text[] not null,
      enabled boolean not null default true,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      constraint clients_name unique (customer_id, name)
    );
    create index clients_by_time on clients (customer_id, created_at, id);

    -- A deleted secret keeps its row and loses its hash.
    create table client_secrets (
      id uuid primary key,
      client_id uuid not null references clients,
      hash bytea,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index client_secrets_live on client_secrets (client_id) where hash is not null;

    create table authority (
      single boolean primary key default true check (single),
      issuer text not null,
      pepper bytea not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );

    create table signing_keys (
      id uuid primary key,
      private_jwk jsonb not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
  `,
}
