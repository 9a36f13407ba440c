/** Which database server the store is on, so that a restored or promoted one is noticed before a payment leaves again. */
import type { Migration } from './migration.ts'

export const storeIdentity: Migration = {
  name: '202611240145-store-identity',
  text: `
    -- One row.
    create table store_origin (
      id integer primary key constraint store_origin_one check (id = 1),
      -- What store_identity() was at the first start, or when a person last resumed deliveries. Null before the first start.
      identity text
    );
    insert into store_origin values (1, null);

    -- The server (kept by a copy of its files, not by a dump), the timeline (another one after each promotion and each
    -- restore to a moment), the database and the table (others after a dump was restored). '-' where a managed server
    -- does not tell.
    create function store_identity() returns text language plpgsql stable as $$
      declare
        server text := '-';
        timeline text := '-';
      begin
        begin
          select system_identifier::text into server from pg_control_system();
        exception when insufficient_privilege or undefined_function or feature_not_supported then
          null;
        end;
        begin
          timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
        exception when insufficient_privilege or undefined_function or feature_not_supported then
          null;
        end;
        return concat_ws('/', server, timeline,
          (select oid from pg_database where datname = current_database()), 'store_origin'::regclass::oid);
      end
    $$;

    -- How far the log has been written; it only grows, except when an older copy of the files comes back. Null where a
    -- managed server does not tell.
    create function store_position() returns pg_lsn language plpgsql stable as $$
      begin
        return pg_current_wal_flush_lsn();
      exception when insufficient_privilege or undefined_function or feature_not_supported then
        return null;
      end
    $$;
  `,
}
