/** What `tidegate check-publisher URL` plays, in this order. */
import { Skipped } from '../harness.ts'
import type { Scenario } from './check-run.ts'
import type { Position } from './published-market.ts'
import type { PullConnection } from './pull-connection.ts'
import type { PullDriver } from './pull-driver.ts'

const UNKNOWN_MARKET = 'TIDEGATECHECK'
const UNKNOWN_EPOCH = 'tidegate-check'
/** Further than any publisher is ahead. */
const FUTURE_NUMBERS = 1_000_000
const CUTS = 3
/** Time for a late reaction, as a share of the time without reading. */
const AFTERMATH_SHARE = 0.1

const MALFORMED: readonly string[] = [
  '',
  'tidegate',
  '[]',
  'null',
  '{}',
  '{"type":"subscribe"}',
  '{"type":"subscribe","channels":7}',
  '{"type":"subscribe","channels":[null,7,{}]}',
  '{"type":"subscribe","channels":[{"type":"publication"}]}',
  '{"type":"subscribe","channels":[{"type":"publication","params":{"market":7}}]}',
  '{"type":"unsubscribe","channels":[{"type":"publication","params":{"market":"TIDEGATECHECK"}}]}',
  '{"type":"no-such-request","channels":[]}',
  '{"type":"subscribe","channels":[{"type":"no-such-channel","params":{}}]}',
  `{"type":"subscribe","padding":"${'x'.repeat(60_000)}"}`,
  `${'['.repeat(10_000)}`,
]

export const PULL_SCENARIOS: readonly Scenario<PullDriver>[] = [
  {
    name: 'subscribe',
    plays: 'connects and subscribes every market and the heartbeat, then only observes',
    expects: 'an acknowledgement for each channel, a SNAPSHOT, messages without a gap, heartbeats',
    play: subscribe,
  },
  { name: 'wrong-token', plays: 'connects with another token', expects: 'a refused handshake', play: wrongToken },
  {
    name: 'unknown-market',
    plays: 'subscribes an unknown market',
    expects: 'success false with a message, and no other effect',
    play: unknownMarket,
  },
  {
    name: 'two-connections',
    plays: 'subscribes on a second connection at the same time',
    expects: 'the same messages on both',
    play: twoConnections,
  },
  {
    name: 'connection-cut',
    plays: `cuts ${CUTS} subscribed connections without a close frame`,
    expects: 'the next connection is accepted, and the others continue',
    play: connectionCut,
  },
  {
    name: 'resume-last',
    plays: 'cuts a connection and resumes after its last message',
    expects: 'resumed true and the next messages, or resumed false and a SNAPSHOT',
    play: resumeLast,
  },
  {
    name: 'resume-old',
    plays: 'resumes after the oldest seen message',
    expects: 'resumed true and all messages since, or resumed false and a SNAPSHOT',
    play: resumeOld,
  },
  {
    name: 'resume-unknown',
    plays: 'resumes in an unknown epoch, and after a future number',
    expects: 'resumed false and a SNAPSHOT',
    play: resumeUnknown,
  },
  {
    name: 'snapshot-again',
    plays: 'unsubscribes and subscribes again, twice',
    expects: 'no message after the acknowledgement, then a SNAPSHOT',
    play: snapshotAgain,
  },
  {
    name: 'slow-reader',
    plays: 'reads nothing for some seconds, then continues',
    expects: 'nothing lost and in order, or a closed connection, with a bounded number of unsent bytes',
    play: slowReader,
  },
  { name: 'ping', plays: 'sends a ping', expects: 'a pong', play: ping },
  {
    name: 'malformed-requests',
    plays: `sends ${MALFORMED.length + 1} malformed requests`,
    expects: 'errors or closed connections, while the publisher continues to serve others',
    play: malformedRequests,
  },
  {
    name: 'restart',
    plays: 'restarts the publisher with --restart and resumes after the last message',
    expects: 'a new epoch with a SNAPSHOT at its start',
    play: restart,
  },
]

async function subscribe(driver: PullDriver): Promise<string> {
  const connection = await driver.first()
  await driver.run.until(() => !connection.isOpen, driver.run.options.times.observe)
  const counts = driver.symbols.map((symbol) => `${connection.line(symbol)?.numbered ?? 0} of ${symbol}`)
  return `${connection.checker.messages} messages, with numbers: ${counts.join(', ')}`
}

async function wrongToken(driver: PullDriver): Promise<undefined> {
  const { url, token } = driver.address
  if (token === undefined) throw new Skipped('no token is given')
  const connection = driver.attempt({ url, token: `${token}x` })
  if (await connection.opened()) driver.run.report('token-not-checked', undefined, 'it was accepted')
}

async function unknownMarket(driver: PullDriver): Promise<undefined> {
  const connection = await driver.open()
  const { state, message } = await connection.subscribe(UNKNOWN_MARKET)
  if (state !== 'refused') driver.run.report('unknown-market-accepted', UNKNOWN_MARKET, 'success was true')
  else if (message === '') driver.run.report('unknown-market-accepted', UNKNOWN_MARKET, 'the refusal has no message')
  await driver.subscribe(connection)
}

async function twoConnections(driver: PullDriver): Promise<string | undefined> {
  await driver.first()
  const connection = await driver.open()
  for (const symbol of driver.symbols) await driver.subscribe(connection, symbol)
  const hasMessage = await driver.numbered(connection)
  return hasMessage ? undefined : 'no message with a number arrived'
}

async function connectionCut(driver: PullDriver): Promise<undefined> {
  await driver.first()
  for (let cut = 0; cut < CUTS; cut++) {
    const connection = await driver.open()
    await driver.subscribe(connection)
    connection.cut()
  }
  await driver.subscribe(await driver.open())
}

async function resumeLast(driver: PullDriver): Promise<string> {
  await driver.first()
  const connection = await driver.open()
  await driver.subscribe(connection)
  await driver.numbered(connection)
  const last = connection.line(driver.symbol)?.last
  if (last === undefined) throw new Skipped('no message arrived')
  connection.cut()
  return resumeAfter(driver, last)
}

async function resumeOld(driver: PullDriver): Promise<string> {
  await driver.first()
  const { position, firstNumber } = driver.run.markets.get(driver.symbol) ?? {}
  if (position === undefined || firstNumber === undefined || firstNumber >= position.seq) {
    throw new Skipped('fewer than two messages with a number arrived')
  }
  return resumeAfter(driver, { epoch: position.epoch, seq: firstNumber })
}

async function resumeAfter(driver: PullDriver, position: Position): Promise<string> {
  const { symbol, run } = driver
  const connection = await driver.open()
  const market = run.markets.get(symbol)
  const known = market?.position?.seq ?? 0
  await driver.subscribe(connection, symbol, position)
  const isResumed = connection.subscription(symbol)?.isResumed === true
  if (!isResumed) return 'resumed false'
  const hasAll = () => (connection.line(symbol)?.last?.seq ?? 0) >= known
  await run.until(() => hasAll() || !connection.isOpen, run.options.times.answer)
  if (!hasAll()) {
    const last = connection.line(symbol)?.last?.seq
    run.report('resume-skips', symbol, `after message ${position.seq}, only messages up to ${last} of ${known} arrived`)
  }
  await driver.numbered(connection)
  return 'resumed true'
}

async function resumeUnknown(driver: PullDriver): Promise<undefined> {
  await driver.first()
  const { position } = driver.run.markets.get(driver.symbol) ?? {}
  const positions = [{ epoch: UNKNOWN_EPOCH, seq: 1 }]
  if (position !== undefined) positions.push({ epoch: position.epoch, seq: position.seq + FUTURE_NUMBERS })
  for (const resume of positions) {
    const connection = await driver.open()
    await driver.subscribe(connection, driver.symbol, resume, false)
  }
}

async function snapshotAgain(driver: PullDriver): Promise<undefined> {
  const connection = await driver.open()
  await driver.subscribe(connection)
  for (let repeat = 0; repeat < 2; repeat++) {
    await connection.unsubscribe(driver.symbol)
    await driver.run.until(() => !connection.isOpen, driver.run.options.times.stall * AFTERMATH_SHARE)
    await driver.subscribe(connection)
  }
}

async function slowReader(driver: PullDriver): Promise<string> {
  await driver.first()
  const { symbol, run } = driver
  const { stall, answer } = run.options.times
  const connection = await driver.open()
  await driver.subscribe(connection)
  const before = run.markets.get(symbol)?.position
  connection.pause()
  await run.pass(stall)
  const after = run.markets.get(symbol)?.position
  const { bytes } = connection.checker
  connection.resume()
  if (after === undefined || after.seq === before?.seq) throw new Skipped('nothing was published meanwhile')
  const hasAll = () => (connection.line(symbol)?.last?.seq ?? 0) >= after.seq
  await run.until(() => hasAll() || !connection.isOpen, answer)
  const backlog = connection.checker.bytes - bytes
  if (backlog > run.options.backlogBytesMax) {
    run.report('backlog-unbounded', symbol, `${backlog} bytes arrived after being kept for ${stall / 1000} s`)
  }
  if (!connection.isOpen) return 'the publisher closed the connection'
  if (!hasAll()) run.report('numbers-skipped', symbol, `the messages up to ${after.seq} did not arrive`)
  return `${after.seq - (before?.seq ?? 0)} messages, ${backlog} bytes`
}

async function ping(driver: PullDriver): Promise<undefined> {
  const connection = await driver.open()
  if (!(await connection.ping())) driver.run.report('ping-unanswered', undefined, connection.endText || 'no pong')
}

async function malformedRequests(driver: PullDriver): Promise<string> {
  const first = await driver.first()
  let closed = 0
  let connection: PullConnection = await driver.open()
  // Another scenario reports a publisher which does not answer pings.
  const answersPings = await connection.ping()
  for (const request of [...MALFORMED, Buffer.from([0, 255])]) {
    if (!connection.isOpen) {
      closed++
      connection = driver.attempt(driver.address)
      if (!(await connection.opened())) driver.run.fail('publisher-stopped', undefined, connection.endText)
    }
    connection.isMalformed = true
    if (typeof request === 'string') connection.send(request)
    else connection.sendBinary(request)
    if (answersPings) await connection.ping()
    else await driver.run.pass(driver.run.options.times.stall * AFTERMATH_SHARE)
  }
  const last = driver.attempt(driver.address)
  if (!(await last.opened())) driver.run.fail('publisher-stopped', undefined, last.endText)
  await driver.subscribe(last)
  if (!first.isOpen) {
    driver.run.report('publisher-stopped', undefined, 'another connection was ended')
    driver.forgetFirst()
  }
  return closed === 0 ? 'no connection was closed' : `${closed} connections were closed`
}

async function restart(driver: PullDriver): Promise<string> {
  const { run, symbol } = driver
  const command = run.options.restart
  if (command === undefined) throw new Skipped('give --restart COMMAND to check it')
  const first = await driver.first()
  const before = run.markets.get(symbol)?.position
  if (before === undefined) throw new Skipped('no message arrived before the restart')
  await command()
  const hasEnded = await run.until(() => !first.isOpen, run.options.times.answer)
  driver.forgetFirst()
  if (!hasEnded) throw new Skipped('the command did not end the publisher’s connections')
  const connection = await reopened(driver)
  await driver.subscribe(connection, symbol, before)
  await run.until(() => connection.line(symbol)?.hasBegun === true || !connection.isOpen, run.options.times.answer)
  const epoch = connection.line(symbol)?.last?.epoch
  if (epoch === before.epoch) run.report('epoch-kept', symbol, `the epoch is ${epoch} before and after the restart`)
  return `epoch ${before.epoch}, then ${epoch}`
}

/** A restarted publisher needs some time to listen again. */
async function reopened(driver: PullDriver): Promise<PullConnection> {
  const { run } = driver
  const end = run.now + run.options.times.connect
  for (;;) {
    const connection = driver.attempt(driver.address)
    if (await connection.opened()) return connection
    if (run.now > end) run.fail('publisher-stopped', undefined, `after the restart: ${connection.endText}`)
    await run.pass(200)
  }
}
