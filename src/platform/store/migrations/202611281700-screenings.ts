/** The screening of deposits and payments by the operator's hook. */
import type { Migration } from './migration.ts'

export const screenings: Migration = {
  name: '202611281700-screenings',
  text: `
    -- One row per screened movement. Written by the holder of the movement's lock, except for the requests.
    create table screenings (
      id uuid primary key,
      kind text not null constraint screenings_kind check (kind in ('deposit', 'payment')),
      -- The deposit, or the orchestration that makes the payment.
      movement_id uuid not null constraint screenings_movement unique,
      customer_id uuid not null,
      profile_id uuid not null,
      -- The terms in the question. Other terms are asked again.
      asset text not null,
      amount numeric(38,0) not null,
      destination jsonb,
      -- How often the terms have changed, plus one.
      revision integer not null default 1,
      status text not null
        constraint screenings_status check (status in ('PENDING', 'ALLOWED', 'HELD', 'REJECTED', 'CLOSED')),
      -- The webhook's id, another one for each question. Only an answer to this one counts.
      question_id uuid not null,
      asked_at timestamptz(3) not null,
      -- The facts in the question: all its requests have the same ones.
      facts jsonb,
      attempt integer not null default 0,
      -- When a request is due. Null: none is.
      next_attempt_at timestamptz,
      -- Why the last request has no answer.
      fault text,
      -- The last decision: by the hook or an operator, with the provider's reason or the operator's note.
      decided_by text,
      decided_at timestamptz(3),
      reason text,
      -- All decisions: [{at, by, decision, revision, reason}].
      decisions jsonb not null default '[]',
      created_at timestamptz(3) not null,
      constraint screenings_due check (next_attempt_at is null or status = 'PENDING')
    );
    create index screenings_due_by_time on screenings (next_attempt_at, id) where next_attempt_at is not null;
    create index screenings_undecided on screenings (status, asked_at) where status in ('PENDING', 'HELD', 'REJECTED');
    create index screenings_by_time on screenings (created_at nulls first, id nulls first);
    create index screenings_by_status on screenings (status, created_at nulls first, id)
      where status <> 'ALLOWED' and status <> 'CLOSED';
    -- So that their sizes are known without reading the values.
    alter table screenings
      alter column destination set storage external,
      alter column facts set storage external,
      alter column decisions set storage external;
  `,
}
