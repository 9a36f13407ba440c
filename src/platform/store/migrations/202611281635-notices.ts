/** Customers' security contacts, and the notices to them. */
import type { Migration } from './migration.ts'

export const notices: Migration = {
  name: '202611281635-notices',
  text: `
    -- Mail addresses.
    alter table customers add column security_contacts text[] not null default '{}';

    create table notices (
      id uuid primary key,
      customer_id uuid not null references customers,
      type text not null,
      -- The id of the record that it is about.
      subject text not null,
      -- With its members in reading order, which jsonb does not keep.
      facts json not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index notices_by_time on notices (created_at, id);
    create index notices_of_customer on notices (customer_id, created_at, id);
    create index notices_of_subject on notices (subject, type, created_at);

    -- A notice on its way to one mail address, or to the operator's webhook.
    create table notice_sends (
      id uuid primary key default gen_random_uuid(),
      notice_id uuid not null references notices,
      channel text not null constraint notice_sends_channel check (channel in ('mail', 'webhook')),
      -- The mail address. Empty for the webhook.
      recipient text not null,
      status text not null default 'WAITING'
        constraint notice_sends_status check (status in ('WAITING', 'SENT', 'FAILED', 'SKIPPED')),
      attempt integer not null default 0,
      -- Null: nothing more is sent.
      next_attempt_at timestamptz default clock_timestamp(),
      last_error text,
      sent_at timestamptz(3),
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      constraint notice_sends_recipient unique (notice_id, channel, recipient)
    );
    create index notice_sends_due on notice_sends (next_attempt_at) where next_attempt_at is not null;
    create index notice_sends_waiting on notice_sends (created_at) where status = 'WAITING';
    create index notice_sends_by_status on notice_sends (status, notice_id) where status <> 'SENT';
  `,
}
