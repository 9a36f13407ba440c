/**
 * Drops the indexes that most records are written to and hardly a list gains from: for filters with few values a page
 * looks at the records of the owner, and for a status that few records have an index holds only those.
 */
import type { Migration } from './migration.ts'

export const fewerIndexes: Migration = {
  name: '202611222150-fewer-indexes',
  text: `
    drop index transfers_of_asset;
    drop index transfers_of_type;
    drop index transfers_of_status;
    create index transfers_not_completed on transfers (customer_id, status, created_at nulls first, id)
      where status <> 'COMPLETED';
    -- A group is of one customer.
    drop index transfers_of_group;
    create index transfers_of_group on transfers (group_id, created_at nulls first, id);

    drop index orchestrations_of_status;
    drop index orchestrations_of_status_of_all;
    create index orchestrations_not_completed on orchestrations (customer_id, status, created_at nulls first, id)
      where status <> 'COMPLETED';
    create index orchestrations_not_completed_of_all on orchestrations (status, created_at nulls first, id)
      where status <> 'COMPLETED';

    -- The operator and the worker do nearly everything.
    drop index audit_by_actor;
    create index audit_by_actor on audit (actor, created_at, id) where actor <> 'operator' and actor <> 'worker';
  `,
}
