/** Fiat networks whose accounts have one kind of number need no account type. */
import type { Migration } from './migration.ts'

export const fiatAccountTypes: Migration = {
  name: '202611221240-fiat-account-types',
  text: 'alter table fiat_instructions alter column account_type drop not null;',
}
