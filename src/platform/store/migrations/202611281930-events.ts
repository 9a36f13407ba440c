/**
 * Customers' events: one for each object whose visible state a transaction has changed.
 *
 * Triggers note the changes, so that no writer can forget one. Each statement appends its changes to a setting that
 * lives as long as the transaction (`tidegate.events`). A deferred trigger runs within COMMIT, when all other locks are
 * held. It numbers the events per customer and inserts them. So a customer's counter is locked for the commit alone,
 * never during a round trip, and its number order is the commit order. Customers are locked in the order of their ids.
 *
 * `eventTriggers` writes a table's triggers. A later table has its own, in its migration, which call `note_events` and
 * `number_events` likewise: see `webhook-endpoints`. Since `lighter-events`, a noted line is a row's text, not JSON.
 */
import type { Migration } from './migration.ts'

/** The rows that make events. Each expression is SQL over the row `r`. */
export interface EventSource {
  readonly table: string
  readonly customerId: string
  readonly objectType: string
  readonly refId: string
  /** The event's type: its last part is the visible state. A change that keeps it makes no event. */
  readonly type: string
  readonly status: string
  readonly changedAt: string
  /** Columns in `type`. */
  readonly columns: readonly string[]
  /** The type for a later change of `changedAt` alone. */
  readonly updateType?: string
  /** Another event about the same object: its type, and when `r` has it. */
  readonly also?: { readonly type: string; readonly columns: readonly string[]; readonly condition: string }
}

/** The SQL of a `note_events` line about the row `r`. `name`: the event's type, as SQL. */
type NotedText = (source: EventSource, name: string) => string

const asJson: NotedText = ({ customerId, objectType, refId, status, changedAt }, name) =>
  `json_build_object('customer_id', ${customerId}, 'type', ${name},
    'object_type', ${objectType}, 'object_id', r.id, 'ref_id', ${refId}, 'status', ${status},
    'changed_at', ${changedAt})::text`

function isOther(names: readonly string[]): string {
  return `(${names.map((name) => `r.${name}`).join()}) is distinct from (${names.map((name) => `previous.${name}`).join()})`
}

/** The body of a table's trigger function, which notes a statement's changes. */
export function noteBody(source: EventSource, textOf: NotedText): string {
  const { type, updateType, also } = source
  const typeOf = (row: string) => type.replaceAll(/\br\./g, `${row}.`)
  const changedType =
    updateType === undefined ? type : `case when ${type} = ${typeOf('previous')} then ${updateType} else ${type} end`
  const changes = [
    `select ${textOf(source, changedType)} as event from changed as r join previous using (id)
     where ${typeOf('r')} <> ${typeOf('previous')}${updateType === undefined ? '' : ` or ${isOther(['updated_at'])}`}`,
    ...(also === undefined
      ? []
      : [
          `select ${textOf(source, also.type)} from changed as r join previous using (id)
           where ${also.condition} and ${isOther(also.columns)}`,
        ]),
  ]
  return `
      begin
        if tg_op = 'INSERT' then
          perform note_events((select string_agg(event, e'\\n') from (
            select ${textOf(source, type)} as event from changed as r) as noted));
        else
          perform note_events((select string_agg(event, e'\\n') from (${changes.join(' union all ')}) as noted));
        end if;
        return null;
      end
    `
}

/** Creates a table's triggers. Rows are never deleted. */
function eventTriggers(source: EventSource): string {
  const { table, columns, updateType, also } = source
  const deferred = (name: string, operation: string, condition: string) => `
    create constraint trigger ${table}_${name} after ${operation} on ${table} deferrable initially deferred
      for each row ${condition} execute function number_events();`
  const noted = [
    ...new Set([...columns, ...(updateType === undefined ? [] : ['updated_at']), ...(also?.columns ?? [])]),
  ]
  return `
    create function note_${table}() returns trigger language plpgsql as $$${noteBody(source, asJson)}$$;
    create trigger ${table}_created after insert on ${table} referencing new table as changed
      for each statement execute function note_${table}();
    create trigger ${table}_changed after update on ${table} referencing old table as previous new table as changed
      for each statement execute function note_${table}();
    ${deferred('number_created', 'insert', '')}
    ${deferred('number_changed', 'update', `when ((${noted.map((name) => `old.${name}`).join()}) is distinct from (${noted.map((name) => `new.${name}`).join()}))`)}`
}

export const EVENT_SOURCES: readonly EventSource[] = [
  {
    table: 'accounts',
    customerId: 'r.customer_id',
    objectType: `'account'`,
    refId: 'r.ref_id',
    type: `'identity.account.' || case when r.admin_disabled or r.user_disabled then 'disabled' else lower(r.review_status) end`,
    status: `case when r.admin_disabled or r.user_disabled then 'DISABLED' else r.review_status end`,
    changedAt: 'r.updated_at',
    columns: ['review_status', 'admin_disabled', 'user_disabled'],
    updateType: `'identity.account.updated'`,
  },
  {
    table: 'deposit_addresses',
    customerId: 'r.customer_id',
    objectType: `'deposit_address'`,
    refId: 'r.ref_id',
    type: `'transfer.deposit_address.created'`,
    status: 'null',
    changedAt: 'r.created_at',
    columns: ['id'],
  },
  {
    table: 'destinations',
    customerId: 'r.customer_id',
    objectType: `case r.kind when 'CRYPTO' then 'crypto_destination_address' else 'fiat_account' end`,
    refId: 'r.ref_id',
    type: `'transfer.destination.' || lower(r.status)`,
    status: 'r.status',
    changedAt: 'r.updated_at',
    columns: ['status'],
  },
  {
    table: 'rules',
    customerId: 'r.customer_id',
    objectType: `'orchestration_rule'`,
    refId: 'r.ref_id',
    type: `'orchestration.rule.' || lower(r.status)`,
    status: 'r.status',
    changedAt: `date_trunc('milliseconds', clock_timestamp())`,
    columns: ['status'],
  },
  {
    table: 'transfers',
    customerId: 'r.customer_id',
    objectType: `'transfer'`,
    refId: 'null',
    type: `case when r.type in ('CRYPTO_DEPOSIT', 'WIRE_DEPOSIT', 'CUBIX_DEPOSIT') then 'transfer.deposit.'
      else 'transfer.transfer.' end || lower(coalesce(r.secondary_status, r.status))`,
    status: 'coalesce(r.secondary_status, r.status)',
    changedAt: 'r.updated_at',
    columns: ['status', 'secondary_status'],
  },
  {
    table: 'orchestrations',
    customerId: 'r.customer_id',
    objectType: `'orchestration'`,
    refId: 'r.ref_id',
    type: `'orchestration.orchestration.' || case when r.status <> 'PROCESSING' then lower(r.status)
      when r.waiting_for is not null then 'waiting' else 'processing' end`,
    status: 'r.status',
    changedAt: 'r.updated_at',
    columns: ['status', 'waiting_for'],
    also: {
      type: `'transfer.limit.reached'`,
      columns: ['waiting_for'],
      condition: `r.waiting_for = 'LIMIT'`,
    },
  },
  {
    table: 'client_secrets',
    customerId: '(select customer_id from clients where clients.id = r.client_id)',
    objectType: `'secret'`,
    refId: 'null',
    type: `'auth.secret.' || case when r.hash is null then 'deleted' else 'created' end`,
    status: 'null',
    changedAt: `date_trunc('milliseconds', clock_timestamp())`,
    columns: ['hash'],
  },
]

export const events: Migration = {
  name: '202611281930-events',
  text: `
    -- Rows are never changed. The oldest are deleted after \`events.retention_days\`.
    create table events (
      customer_id uuid not null,
      -- From 1, without gaps, in the order of commits.
      sequence bigint not null,
      type text not null,
      object_type text not null,
      object_id uuid not null,
      ref_id text,
      status text,
      changed_at timestamptz(3) not null,
      -- Never before that of an earlier sequence.
      created_at timestamptz(3) not null,
      primary key (customer_id, sequence)
    );
    create index events_by_time on events (customer_id, created_at, sequence);

    create table event_counters (
      customer_id uuid primary key,
      last_sequence bigint not null,
      last_created_at timestamptz(3) not null,
      -- Until then each commit with events is announced. Readers move it on.
      watched_until timestamptz not null default '-infinity'
    );

    create function note_events(noted text) returns void language plpgsql as $$
      begin
        if noted is not null then
          perform set_config('tidegate.events',
            coalesce(nullif(current_setting('tidegate.events', true), '') || e'\\n', '') || noted, true);
        end if;
      end
    $$;

    -- The first call in a commit writes all the transaction's events, the others find nothing. Of several changes of one
    -- object it keeps the last: the others were never visible.
    create function number_events() returns trigger language plpgsql as $$
      declare
        noted text := current_setting('tidegate.events', true);
      begin
        if noted is null or noted = '' then
          return null;
        end if;
        perform set_config('tidegate.events', '', true);
        with change as (
          select distinct on (object_id, type = 'transfer.limit.reached') event.*, place
          from string_to_table(noted, e'\\n') with ordinality as line (text, place)
          cross join lateral json_to_record(line.text::json) as event (customer_id uuid, type text, object_type text,
            object_id uuid, ref_id text, status text, changed_at timestamptz)
          order by object_id, type = 'transfer.limit.reached', place desc
        ), added as (
          select customer_id, count(*) as number from change group by customer_id
        ), counted as (
          insert into event_counters as counter (customer_id, last_sequence, last_created_at)
          select customer_id, number, date_trunc('milliseconds', clock_timestamp()) from added order by customer_id
          on conflict (customer_id) do update set
            last_sequence = counter.last_sequence + excluded.last_sequence,
            last_created_at = greatest(counter.last_created_at, date_trunc('milliseconds', clock_timestamp()))
          returning customer_id, last_sequence, last_created_at, watched_until
        ), announced as (
          select pg_notify('tidegate_events', customer_id::text) from counted where watched_until > clock_timestamp()
        ), inserted as (
          insert into events (customer_id, sequence, type, object_type, object_id, ref_id, status, changed_at, created_at)
          select customer_id, last_sequence - number
              + row_number() over (partition by customer_id order by place),
            type, object_type, object_id, ref_id, status, changed_at, last_created_at
          from change join added using (customer_id) join counted using (customer_id)
        )
        select count(*) into strict noted from announced;
        return null;
      end
    $$;
    ${EVENT_SOURCES.map(eventTriggers).join('')}
  `,
}
