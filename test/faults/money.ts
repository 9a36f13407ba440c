/** Faults in deposits, conversions and payments: the guards of the ledger and its workers, one at a time. */
import type { Fault } from './fault.ts'

const LEDGER_SCHEMA = 'src/platform/store/migrations/202611221500-ledger.ts'
const project = 'postgres'

export const MONEY_FAULTS: readonly Fault[] = [
  {
    name: 'unique-payment',
    wrong: 'The store accepts two deposits for one payment.',
    file: 'src/platform/store/migrations/202611221510-deposits.ts',
    text: 'create unique index deposits_payment on',
    replacement: 'create index deposits_payment on',
    suite: 'test/money/deposits/identity.test.ts',
    project,
  },
  {
    name: 'lock-order',
    wrong: 'Balances are locked in any order.',
    file: 'src/money/ledger/ledger.ts',
    text: `order by profile_id, asset collate "C"
    \${forUpdate(`,
    replacement: `order by random()
    \${forUpdate(`,
    suite: 'test/money/ledger/ledger.test.ts',
    project,
  },
  {
    name: 'balance-check',
    wrong: 'The store accepts a negative balance.',
    file: LEDGER_SCHEMA,
    text: ' constraint balances_available check (available >= 0)',
    replacement: '',
    suite: 'test/money/ledger/ledger.test.ts',
    project,
  },
  {
    name: 'postings-final',
    wrong: 'The store lets postings be changed and deleted.',
    file: LEDGER_SCHEMA,
    text: 'before update or delete or truncate on postings',
    replacement: 'before truncate on postings',
    suite: 'test/money/ledger/ledger.test.ts',
    project,
  },
  {
    name: 'work-fence',
    wrong: 'A worker finishes work whose claim another worker has taken.',
    file: 'src/money/orchestrations/queue.ts',
    text: `delete from orchestration_queue as queue using \${listed(claims)}
    where queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt`,
    replacement: `delete from orchestration_queue as queue using \${listed(claims)}
    where queue.orchestration_id = claims.orchestration_id`,
    suite: 'test/money/orchestrations/convert.test.ts',
    project,
  },
  {
    name: 'reversal-state',
    wrong: "A deposit's reversal fails its orchestration after the conversion too.",
    file: 'src/money/orchestrations/reverse.ts',
    text: " and status = 'PROCESSING' and step = 'convert'",
    replacement: '',
    suite: 'test/money/orchestrations/start.test.ts',
    project,
  },
  {
    name: 'work-fence-and-state',
    wrong: 'A worker converts an orchestration whatever its claim and its state.',
    file: 'src/money/orchestrations/step-store.ts',
    text: 'on queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt',
    replacement: 'on queue.orchestration_id = claims.orchestration_id',
    also: [
      {
        file: 'src/money/orchestrations/step-store.ts',
        text: "from locked where status = 'PROCESSING' and step = 'convert'",
        replacement: 'from locked',
      },
    ],
    suite: 'test/money/orchestrations/convert.test.ts',
    project,
  },
  {
    name: 'payment-fence',
    wrong: "A delivery's later claims have the number of its first attempt.",
    file: 'src/money/deliveries/hand-out.ts',
    text: 'attempt = attempt + 1, executor',
    replacement: 'attempt = greatest(attempt, 1), executor',
    also: [
      {
        file: 'src/platform/store/migrations/202611221530-deliveries.ts',
        text: 'primary key (delivery_id, attempt)',
        replacement: 'check (attempt > 0)',
      },
    ],
    suite: 'test/money/deliveries/unknown-attempts.test.ts',
    project,
  },
  {
    name: 'desk-lock',
    wrong: "Two workers check the desk's limit at the same moment.",
    file: 'src/money/orchestrations/pricing/price.ts',
    text: 'select pg_advisory_xact_lock(space, key)',
    replacement: 'select pg_sleep(0.02)',
    suite: 'test/money/orchestrations/pricing/price.test.ts',
    project,
  },
  {
    name: 'earlier-attempt',
    wrong: 'A payment is reported as failed although an earlier attempt may have been paid.',
    file: 'src/money/deliveries/unknown-attempts.ts',
    text: 'rows.filter((row) => !isKnown(row))',
    replacement: 'rows.filter((row) => row.is_present && !isKnown(row))',
    suite: 'test/money/deliveries/unknown-attempts.test.ts',
    project,
  },
]
