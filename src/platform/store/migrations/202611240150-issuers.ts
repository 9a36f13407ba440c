/** Who issued an operator's credentials, what a requested change is about, and what a token of a machine is bound to. */
import type { Migration } from './migration.ts'

export const issuers: Migration = {
  name: '202611240150-issuers',
  text: `
    -- Names of operators who issued the credentials, and of those who issued theirs: each may be the one who uses them.
    alter table operators add column issuers text[] not null default '{}';
    alter table operator_setup_links add column issuers text[] not null default '{}';
    alter table operator_tokens
      add column issuers text[] not null default '{}',
      -- Null: bound to none.
      add column sources text[],
      add column assets text[];
    -- An executor is known by the name of its token.
    create unique index operator_tokens_executor on operator_tokens (name) where role = 'executor';

    -- Of credentials that exist already, the audit trail knows the issuers.
    with recursive issued as (
      select subject as name, detail->>'token_id' as token_id,
        case when actor = 'operator' then 'token' else substr(actor, 10) end as issuer
      from audit
      where subject in (select name from operators) and (actor = 'operator' or actor like 'operator:%') and (
        action in ('operator.create', 'operator.reset', 'operator_token.create')
        or (action = 'operator.update' and detail->'openid' is not null)
      )
    ), chain (name, issuer) as (
      select name, issuer from issued where token_id is null
      union
      select chain.name, issued.issuer from chain join issued on issued.name = chain.issuer and issued.token_id is null
    ), of_operators as (
      update operators set issuers = array(
        select issuer from chain where chain.name = operators.name and issuer <> operators.name
      )
    )
    update operator_tokens set issuers = array(
      select issuer from issued where token_id = operator_tokens.id::text
      union
      select chain.issuer from issued join chain on chain.name = issued.issuer
      where token_id = operator_tokens.id::text
    );

    alter table change_requests
      -- Why; empty: requested by an earlier version.
      add column comment text not null default '',
      -- As the first operator saw it; null: it did not exist, or an earlier version requested the change.
      add column record jsonb,
      -- The issuers of the credentials with which it was requested.
      add column issuers text[] not null default '{}';
  `,
}
