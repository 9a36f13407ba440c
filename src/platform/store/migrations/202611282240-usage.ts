/** Metering: what clients used of the stream and the REST API. */
import type { Migration } from './migration.ts'

export const usage: Migration = {
  name: '202611282240-usage',
  text: `
    -- One process's sums in one UTC hour. A repeated write replaces them, so none is counted twice.
    create table usage_hours (
      customer_id uuid not null,
      hour timestamptz(3) not null,
      client_id text not null,
      -- Empty: no market.
      market text not null,
      channel text not null,
      run_id uuid not null,
      messages bigint not null,
      bytes bigint not null,
      connection_ms bigint not null,
      rest_requests bigint not null,
      primary key (customer_id, hour, client_id, market, channel, run_id)
    );
    create index usage_hours_by_hour on usage_hours (hour);

    -- Older usage, by UTC day.
    create table usage_days (
      customer_id uuid not null,
      day timestamptz(3) not null,
      client_id text not null,
      market text not null,
      channel text not null,
      messages bigint not null,
      bytes bigint not null,
      connection_ms bigint not null,
      rest_requests bigint not null,
      primary key (customer_id, day, client_id, market, channel)
    );
    create index usage_days_by_day on usage_days (day);

    -- Processes that write usage. One without an orderly end has lost what it counted after its last write.
    create table usage_runs (
      id uuid primary key,
      node text not null,
      -- Up to when usage is written, by the process's clock, and when it was written, by the store's.
      flushed_at timestamptz(3) not null,
      written_at timestamptz(3) not null,
      -- Set by the last write.
      ended_at timestamptz(3),
      -- Set when the node starts again after a process that did not end in order.
      lost_until timestamptz(3)
    );

    -- Times in which a process lost part of its usage and kept running.
    create table usage_gaps (
      run_id uuid not null,
      since timestamptz(3) not null,
      until timestamptz(3) not null,
      primary key (run_id, since)
    );
  `,
}
