/** Customers' webhook endpoints, the events waiting for them, and the log of requests to them. */
import type { Migration } from './migration.ts'

export const webhookEndpoints: Migration = {
  name: '202611281940-webhook-endpoints',
  text: `
    create table webhook_endpoints (
      id uuid primary key,
      customer_id uuid not null references customers,
      -- It receives what this client may read.
      client_id uuid not null references clients,
      url text not null,
      -- Empty: all types.
      types text[] not null,
      status text not null default 'ACTIVE'
        constraint webhook_endpoints_status check (status in ('ACTIVE', 'PAUSED', 'DISABLED', 'DELETED')),
      disabled_reason text,
      -- The valid ones, the oldest first: [{"created_at", "text"}], where the text is encrypted.
      secrets jsonb not null,
      -- Events up to it were answered, wait in webhook_backlogs, or are not for the endpoint.
      passed_sequence bigint not null,
      -- A replay that the sender has not begun yet starts after this sequence.
      replay_after bigint,
      -- A requested test that was not sent yet: its event's id.
      test_id uuid,
      -- Failed requests since the last successful one.
      failures integer not null default 0,
      -- New events wait until next_attempt_at too.
      waits boolean not null default false,
      -- Fencing token: each claim has its own.
      attempt bigint not null default 0,
      leased_until timestamptz not null default '-infinity',
      -- When there is work apart from new events. Null: none.
      next_attempt_at timestamptz,
      -- The last change after which it is tried at once.
      restarted_at timestamptz,
      created_at timestamptz(3) not null,
      constraint webhook_endpoints_reason check ((status = 'DISABLED') = (disabled_reason is not null))
    ) with (fillfactor = 50);
    create index webhook_endpoints_due on webhook_endpoints (next_attempt_at) where next_attempt_at is not null;
    create index webhook_endpoints_of_customer on webhook_endpoints (customer_id, created_at, id);

    -- One object's events that wait: its first one failed, or was not sent yet.
    create table webhook_backlogs (
      endpoint_id uuid not null references webhook_endpoints,
      object_type text not null,
      object_id uuid not null,
      -- Ascending, and never empty.
      sequences bigint[] not null,
      -- Failed requests for the first one.
      attempts integer not null,
      first_failed_at timestamptz,
      next_attempt_at timestamptz not null,
      primary key (endpoint_id, object_type, object_id)
    ) with (fillfactor = 50);

    -- Requests to endpoints. Rows are deleted after 14 days.
    create table webhook_requests (
      id uuid not null,
      endpoint_id uuid not null references webhook_endpoints,
      event_id uuid,
      -- Null for a test.
      sequence bigint,
      attempt integer not null,
      -- The answer's status. Null: there was no answer.
      status integer,
      error text,
      milliseconds integer not null,
      created_at timestamptz(3) not null,
      primary key (endpoint_id, created_at, id)
    );
    create index webhook_requests_by_time on webhook_requests (created_at);

    create function note_disabled_webhook_endpoint() returns trigger language plpgsql as $$
      begin
        perform note_events(json_build_object('customer_id', new.customer_id, 'type', 'webhook.endpoint.disabled',
          'object_type', 'webhook_endpoint', 'object_id', new.id, 'ref_id', null, 'status', new.status,
          'changed_at', date_trunc('milliseconds', clock_timestamp()))::text);
        return null;
      end
    $$;
    create trigger webhook_endpoints_disabled after update of status on webhook_endpoints for each row
      when (new.status = 'DISABLED' and old.status <> 'DISABLED') execute function note_disabled_webhook_endpoint();
    create constraint trigger webhook_endpoints_number after update on webhook_endpoints
      deferrable initially deferred for each row
      when (new.status = 'DISABLED' and old.status <> 'DISABLED') execute function number_events();
  `,
}
