/** Defaults that a store keeps from its first start, and those that a store in use had before the settings existed. */
import type { Migration } from './migration.ts'

export const settingDefaults: Migration = {
  name: '202611281630-setting-defaults',
  text: `
    create table setting_defaults (
      key text primary key,
      -- As in a configuration file.
      value jsonb not null,
      -- Whether the store was in use before the setting existed.
      is_earlier boolean not null
    );
    insert into setting_defaults (key, value, is_earlier)
    select key, value, true from (values
      ('accounts.approval', '"auto"'::jsonb),
      ('destinations.required', 'false'),
      ('destinations.approval', '"auto"'),
      ('destinations.cooling_hours', '0')
    ) as earlier (key, value)
    where exists (select from customers);
  `,
}
