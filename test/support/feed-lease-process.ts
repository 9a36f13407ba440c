/**
 * A process that contends for a feed lease on PostgreSQL and publishes while it may: it writes `taken EPOCH`, `deposed
 * REASON`, `resumed`, and `published EPOCH` every 10 ms. Arguments: the database's address and the process's name.
 * SIGTERM stops it gracefully.
 */
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { newId } from '../../src/platform/base/ids.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { FeedLease, LEASE_TIMING } from '../../src/streaming/markets/feed-lease.ts'
import { createLeaseRecords } from '../../src/streaming/markets/feed-lease-table.ts'

const [url = '', holderName = ''] = process.argv.slice(2)
const write = (line: string): void => void process.stdout.write(`${line}\n`)
const log = createLog('error')
const clock = createSystemClock()
const db = openPostgres({ url, connectionsMax: 2, log, clock, random: Math.random })
const { leaseMilliseconds } = LEASE_TIMING
const feedGroup = 'main'
const lease = new FeedLease({
  feedGroup,
  records: createLeaseRecords({ db, feedGroup, holder: newId(), holderName, leaseMilliseconds }),
  events: {
    onTaken: (epoch) => write(`taken ${epoch}`),
    onDeposed: (reason) => write(`deposed ${reason}`),
    onResumed: () => write('resumed'),
  },
  clock,
  log,
  random: Math.random,
})
write('started')
let isStandby = false
setInterval(() => {
  if (lease.mayPublish()) write(`published ${lease.state.epoch}`)
  if (isStandby || lease.state.holderName === undefined) return
  isStandby = true
  write('standby')
}, 10)
process.once('SIGTERM', async () => {
  await lease.stop()
  await db.close()
  process.exit(0)
})
