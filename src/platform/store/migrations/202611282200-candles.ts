/** Candles: bars of one minute and one hour per market, and how far each market's executions are counted. */
import type { Migration } from './migration.ts'

export const candles: Migration = {
  name: '202611282200-candles',
  text: `
    -- All times are milliseconds since the epoch.
    create table candle_markets (
      market text primary key,
      -- The fencing token: the writer's lease epoch, 0 where there is no lease. It never decreases.
      lease_epoch bigint not null check (lease_epoch >= 0),
      -- Each of the market's bars and gaps includes everything up to this execution. Null before the first write.
      epoch text,
      execution_number bigint,
      counted_at bigint,
      first_executed_at bigint,
      last_executed_at bigint,
      check (num_nulls(epoch, execution_number, counted_at) in (0, 3))
    );

    -- A bar without executions has no row. Rows change about once a second while they are the last ones.
    create table candles (
      market text not null,
      -- Length in milliseconds.
      step integer not null check (step in (60000, 3600000)),
      start bigint not null,
      opened_at bigint not null,
      closed_at bigint not null,
      open numeric not null,
      high numeric not null,
      low numeric not null,
      close numeric not null,
      first_id text not null,
      last_id text not null,
      volume numeric not null,
      quote_volume numeric not null,
      trades bigint not null,
      -- Executions committed after the bar's end.
      revision bigint not null,
      primary key (market, step, start)
    ) with (fillfactor = 90);

    -- Times in which executions may be missing.
    create table candle_gaps (
      market text not null,
      from_at bigint not null,
      until_at bigint not null,
      primary key (market, from_at)
    );
  `,
}
