/** Controls that were never changed have no time of a change; they had that of the build of the empty store. */
import type { Migration } from './migration.ts'

export const unchangedControls: Migration = {
  name: '202611232210-unchanged-controls',
  text: `
    alter table controls alter column updated_at drop not null;
    update controls set updated_at = null
      where not exists (select from audit where subject = 'controls' and action = 'controls.change');
  `,
}
