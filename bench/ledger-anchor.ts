/**
 * The reference for deposits: a ledger in the manner of the public project pgledger, written for this comparison.
 * Accounts have a balance and a version. As there, one call to a database function makes one transfer or several. It
 * locks all their accounts in id order. For each transfer it updates two accounts, and writes the transfer and two
 * entries with the balances before and after. As there, ids are texts with a prefix and the time first, but they are
 * created by a plain SQL expression, which is cheaper than the original's function.
 */
import type { Db } from '../src/platform/store/db.ts'
import { sql } from '../src/platform/store/sql.ts'
import { type Contender, perSecond } from './interleaved.ts'

/** As in that project's benchmark: every transfer contends for its accounts with others. */
const ACCOUNTS_CONTENDED = 10
/** Enough accounts that transfers hardly ever contend. */
const ACCOUNTS_SPREAD = 1_000
/** Concurrent callers: enough to keep every connection busy, as in that project's benchmark. */
const CALLERS = 20

const NEW_ID = (prefix: string) => `
  '${prefix}_' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1000000)::bigint), 14, '0')
  || substr(replace(gen_random_uuid()::text, '-', ''), 1, 18)`

const SCHEMA = [
  `create table anchor_accounts (
    id text primary key default ${NEW_ID('a')},
    name text not null,
    currency text not null,
    balance numeric not null default 0,
    version bigint not null default 0,
    may_be_negative boolean not null,
    may_be_positive boolean not null,
    metadata jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  )`,
  `create table anchor_transfers (
    id text primary key default ${NEW_ID('t')},
    from_account_id text not null references anchor_accounts,
    to_account_id text not null references anchor_accounts,
    amount numeric not null,
    created_at timestamptz not null,
    event_at timestamptz not null,
    metadata jsonb,
    check (amount > 0 and from_account_id <> to_account_id)
  )`,
  'create index on anchor_transfers (from_account_id)',
  'create index on anchor_transfers (to_account_id)',
  'create index on anchor_transfers (event_at)',
  `create table anchor_entries (
    id text primary key default ${NEW_ID('e')},
    account_id text not null references anchor_accounts,
    transfer_id text not null references anchor_transfers,
    amount numeric not null,
    balance_before numeric not null,
    balance_after numeric not null,
    account_version bigint not null,
    created_at timestamptz not null
  )`,
  'create index on anchor_entries (account_id)',
  'create index on anchor_entries (transfer_id)',
  // The accounts are locked.
  `create function anchor_move(source text, destination text, moved numeric) returns text language plpgsql as $$
    declare
      payer anchor_accounts;
      payee anchor_accounts;
      made text;
    begin
      if moved <= 0 or source = destination then
        raise exception 'a transfer moves an amount above zero between two accounts';
      end if;
      update anchor_accounts set balance = balance - moved, version = version + 1, updated_at = now()
        where id = source returning * into payer;
      update anchor_accounts set balance = balance + moved, version = version + 1, updated_at = now()
        where id = destination returning * into payee;
      if (payer.balance < 0 and not payer.may_be_negative) or (payee.balance > 0 and not payee.may_be_positive) then
        raise exception 'the balance of an account would break its limit';
      end if;
      if payer.currency <> payee.currency then
        raise exception 'a transfer is between accounts of one currency';
      end if;
      insert into anchor_transfers (from_account_id, to_account_id, amount, created_at, event_at)
        values (source, destination, moved, now(), now()) returning id into made;
      insert into anchor_entries
        (account_id, transfer_id, amount, balance_before, balance_after, account_version, created_at)
        values (source, made, -moved, payer.balance + moved, payer.balance, payer.version, now());
      insert into anchor_entries
        (account_id, transfer_id, amount, balance_before, balance_after, account_version, created_at)
        values (destination, made, moved, payee.balance - moved, payee.balance, payee.version, now());
      return made;
    end
  $$`,
  `create function anchor_transfer(source text, destination text, moved numeric) returns text language plpgsql as $$
    begin
      perform id from anchor_accounts where id = least(source, destination) for update;
      perform id from anchor_accounts where id = greatest(source, destination) for update;
      return anchor_move(source, destination, moved);
    end
  $$`,
  `create function anchor_transfers(sources text[], destinations text[], amounts numeric[]) returns text[]
    language plpgsql as $$
    declare
      locked text;
      made text[] := '{}';
    begin
      for locked in select distinct unnest(sources || destinations) order by 1 loop
        perform id from anchor_accounts where id = locked for update;
      end loop;
      for number in 1 .. array_length(sources, 1) loop
        made := array_append(made, anchor_move(sources[number], destinations[number], amounts[number]));
      end loop;
      return made;
    end
  $$`,
]

/** The reference measurement for single reports (1), or for reports in batches. */
export function anchorName(batch: number): string {
  return nameOf(ACCOUNTS_CONTENDED, batch)
}

function nameOf(accounts: number, batch: number): string {
  return `anchor: transfers among ${accounts} accounts${batch === 1 ? '' : `, ${batch} per call`}`
}

/** The ledger's transfers per second, one by one and in calls with `batch` transfers. */
export function anchorContenders(anchor: LedgerAnchor, batch: number, milliseconds: number): readonly Contender[] {
  return [ACCOUNTS_CONTENDED, ACCOUNTS_SPREAD].flatMap((accounts) => [
    {
      name: nameOf(accounts, 1),
      unit: '/s',
      run: () => perSecond(() => anchor.transfer(accounts), CALLERS, milliseconds),
    },
    {
      name: nameOf(accounts, batch),
      unit: '/s',
      run: async () => batch * (await perSecond(() => anchor.transfers(accounts, batch), CALLERS, milliseconds)),
    },
  ])
}

export interface LedgerAnchor {
  /** One transfer in its own transaction, between two random accounts among the first `accounts`. */
  transfer(accounts: number): Promise<void>
  /** This many transfers in one call, which is one transaction. */
  transfers(accounts: number, batch: number): Promise<void>
  /** Throws unless the balances equal the sums of the entries, and sum to zero. */
  verify(): Promise<void>
}

export async function createLedgerAnchor(db: Db): Promise<LedgerAnchor> {
  for (const statement of SCHEMA) await sql.raw(statement).execute(db.tables())
  const { rows } = await sql<{ id: string }>`
    insert into anchor_accounts (name, currency, may_be_negative, may_be_positive)
    select 'account ' || number, 'USD', true, true from generate_series(1, ${ACCOUNTS_SPREAD}::int) as number
    returning id
  `.execute(db.tables())
  const accounts = rows.map(({ id }) => id)
  return {
    async transfer(count) {
      const { source, destination, amount } = newTransfer(accounts, count)
      await sql`select anchor_transfer(${source}, ${destination}, ${amount}::numeric)`.execute(db.tables())
    },
    async transfers(count, batch) {
      const made = Array.from({ length: batch }, () => newTransfer(accounts, count))
      await sql`
        select anchor_transfers(${made.map(({ source }) => source)}::text[],
          ${made.map(({ destination }) => destination)}::text[], ${made.map(({ amount }) => amount)}::numeric[])
      `.execute(db.tables())
    },
    verify: () => verifyAnchor(db),
  }
}

function newTransfer(accounts: readonly string[], count: number) {
  const source = Math.floor(Math.random() * count)
  const destination = (source + 1 + Math.floor(Math.random() * (count - 1))) % count
  const amount = 1 + Math.floor(Math.random() * 1_000_000)
  return { source: accounts[source], destination: accounts[destination], amount }
}

async function verifyAnchor(db: Db): Promise<void> {
  const { rows } = await sql<{ wrong: number; total: string }>`
    select count(*) filter (where balance <> coalesce(entered, 0))::int as wrong, sum(balance)::text as total
    from anchor_accounts
    left join (select account_id, sum(amount) as entered from anchor_entries group by 1) as sums on account_id = id
  `.execute(db.tables())
  const [row] = rows
  if (row === undefined || row.wrong > 0 || Number(row.total) !== 0) throw new Error('the anchor lost money')
}
