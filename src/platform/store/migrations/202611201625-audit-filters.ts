/** What was done to one record, or by one actor, is found without reading the whole trail. */
import type { Migration } from './migration.ts'

export const auditFilters: Migration = {
  name: '202611201625-audit-filters',
  text: `
    create index audit_by_subject on audit (subject, created_at, id);
    create index audit_by_actor on audit (actor, created_at, id);
  `,
}
