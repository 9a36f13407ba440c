/** What operators note about the accounts and rules that they review. */
import type { Migration } from './migration.ts'

export const reviewNotes: Migration = {
  name: '202611231210-review-notes',
  text: `
    -- Rows are only added. Each belongs to one account or one rule.
    create table review_notes (
      id uuid primary key,
      account_id uuid references accounts,
      rule_id uuid references rules,
      text text not null,
      -- Name of the operator.
      author text not null,
      created_at timestamptz(3) not null,
      constraint review_notes_subject check (num_nonnulls(account_id, rule_id) = 1)
    );
    create index review_notes_of_account on review_notes (account_id, created_at, id) where account_id is not null;
    create index review_notes_of_rule on review_notes (rule_id, created_at, id) where rule_id is not null;
  `,
}
