/**
 * An engine in a process of its own, to be killed: it pushes one market to an ingest listener with the library of the
 * adapters, and lets clients pull another one, which it publishes as single orders. Each message is written to the record
 * before it is sent. It writes its port to stdout when clients can connect. Options: JSON in KILLED_PUBLISHER.
 */
import { Publisher } from '../../packages/publisher/publisher.mjs'
import { type KilledPublisherOptions, PublishedRecorder } from '../support/published-record.ts'
import { membersOf, PublishingEngine } from '../support/publishing-engine.ts'
import { Random } from '../support/random.ts'
import { TestPublisher } from '../support/test-publisher.ts'

const STEP_MILLISECONDS = 20
const HEARTBEAT_MILLISECONDS = 1_000
const MESSAGES_KEPT = 1_000

const options = JSON.parse(process.env.KILLED_PUBLISHER as string) as KilledPublisherOptions
const recorder = new PublishedRecorder(options.recordPath)

function newEngine(symbol: string, publishesOrders: boolean): PublishingEngine {
  const random = new Random(options.seed + 2 * options.run + (publishesOrders ? 1 : 0))
  const name = `k${options.run}-`
  const engine = new PublishingEngine({ symbol, random, publishesOrders, keptMax: MESSAGES_KEPT, name })
  recorder.add(engine)
  return engine
}

const pushed = newEngine(options.pushed, false)
const pulled = newEngine(options.pulled, true)
const publisher = new Publisher({
  ...options.ingest,
  markets: [options.pushed],
  snapshotOf: () => membersOf<'snapshotOf'>(pushed.snapshot()),
  backoffMillisecondsMax: 1_000,
  log: (_level, message, members) => process.stderr.write(`${message} ${JSON.stringify(members)}\n`),
})
publisher.begin(options.pushed, pushed.epoch)
publisher.snapshot(options.pushed)
publisher.start()
const { port, token } = options
const listener = await TestPublisher.start([pulled], { port, token, heartbeatMilliseconds: HEARTBEAT_MILLISECONDS })
setInterval(() => {
  const update = pushed.step()
  recorder.add(pushed, update)
  publisher.update(options.pushed, membersOf<'update'>(update))
  const change = pulled.step()
  recorder.add(pulled, change)
  listener.publish(change)
}, STEP_MILLISECONDS)
process.stdout.write(`${listener.url}\n`)
