/** What `tidegate check-publisher --listen` plays, in this order. */
import { Skipped } from '../harness.ts'
import type { Scenario } from './check-run.ts'
import type { Position, PublishedMarket } from './published-market.ts'
import type { PushDriver } from './push-driver.ts'

/** Numbers by which the accepted position is behind what was sent. */
const BEHIND = 5
const CLOSE_RESTARTING = 1012
const CLOSE_POLICY = 1008

export const PUSH_SCENARIOS: readonly Scenario<PushDriver>[] = [
  {
    name: 'connect',
    plays: 'waits for the publisher, then only observes',
    expects: 'token, subprotocol, a SNAPSHOT for every market, messages without a gap, heartbeats',
    play: connect,
  },
  {
    name: 'snapshot-request',
    plays: 'requests a SNAPSHOT for every market, twice',
    expects: 'a SNAPSHOT each time, and the messages after it',
    play: snapshotRequest,
  },
  { name: 'ping', plays: 'sends a ping', expects: 'a pong', play: ping },
  {
    name: 'connection-cut',
    plays: 'cuts the connection without a close frame',
    expects: 'a new connection that continues after the accepted message, or begins with a SNAPSHOT',
    play: connectionCut,
  },
  {
    name: 'accepted-behind',
    plays: `cuts the connection and reports a message as accepted, up to ${BEHIND} behind`,
    expects: 'the messages since, or a SNAPSHOT',
    play: acceptedBehind,
  },
  {
    name: 'server-restart',
    plays: 'closes with 1012, is unavailable for some seconds, and has then accepted nothing',
    expects: 'attempts with a delay, then a SNAPSHOT',
    play: serverRestart,
  },
  {
    name: 'slow-accepted',
    plays: 'reports nothing as accepted for some seconds',
    expects: 'continued messages and heartbeats',
    play: slowAccepted,
  },
  {
    name: 'slow-reader',
    plays: 'reads nothing for some seconds, then continues',
    expects: 'nothing lost and in order, or a new connection, with a bounded number of unsent bytes',
    play: slowReader,
  },
  {
    name: 'rejected',
    plays: 'rejects the first market, then closes the connection with 1008',
    expects: 'continued heartbeats, then a new connection after a delay',
    play: rejected,
  },
  {
    name: 'restart',
    plays: 'restarts the publisher with --restart',
    expects: 'a new epoch with a SNAPSHOT at its start',
    play: restart,
  },
]

async function connect(driver: PushDriver): Promise<string> {
  const connection = await driver.connection()
  await driver.expectSnapshots(connection, new Map(), 'of the connection')
  await driver.run.until(() => !connection.isOpen, driver.run.options.times.observe)
  const counts = driver.symbols.map((symbol) => `${driver.line(connection, symbol)?.numbered ?? 0} of ${symbol}`)
  return `${connection.checker.messages} messages, with numbers: ${counts.join(', ')}`
}

async function snapshotRequest(driver: PushDriver): Promise<undefined> {
  const connection = await driver.connection()
  for (let repeat = 0; repeat < 2; repeat++) {
    const before = driver.snapshots(connection)
    for (const market of driver.symbols) {
      connection.send({ type: 'snapshot_request', market, reason: 'the check requests one' })
    }
    await driver.expectSnapshots(connection, before, 'of the request')
  }
}

async function ping(driver: PushDriver): Promise<undefined> {
  const connection = await driver.connection()
  if (!(await connection.ping())) driver.run.report('ping-unanswered', undefined, connection.endText || 'no pong')
}

async function connectionCut(driver: PushDriver): Promise<string> {
  const connection = await driver.connection()
  driver.release()
  connection.cut()
  return reconnected(driver)
}

async function acceptedBehind(driver: PushDriver): Promise<string> {
  const connection = await driver.connection()
  const positions = new Map<string, Position>()
  for (const market of driver.run.markets.values()) {
    const { position, firstNumber } = market
    if (position === undefined || firstNumber === undefined || firstNumber >= position.seq) continue
    positions.set(market.symbol, { epoch: position.epoch, seq: Math.max(firstNumber, position.seq - BEHIND) })
  }
  if (positions.size === 0) throw new Skipped('fewer than two messages with a number arrived')
  driver.server.onAccept = (next) => {
    next.accept(positions)
    driver.server.onAccept = undefined
  }
  driver.release()
  connection.cut()
  return reconnected(driver)
}

async function serverRestart(driver: PushDriver): Promise<string> {
  const connection = await driver.connection()
  const { run, server } = driver
  driver.release()
  server.isUnavailable = true
  connection.close(CLOSE_RESTARTING, 'restarting')
  await run.pass(run.options.times.stall)
  server.onAccept = (next) => {
    next.accept(new Map())
    server.onAccept = undefined
  }
  server.isUnavailable = false
  const next = await driver.connection()
  await driver.expectSnapshots(next, new Map(), 'of the connection')
  driver.checkAttempts()
  return `${server.attempts.length} attempts`
}

/** Expects the publisher to come back and continue. */
async function reconnected(driver: PushDriver): Promise<string> {
  const next = await driver.connection()
  await driver.expectContinued(next)
  driver.checkAttempts()
  const snapshots = [...driver.snapshots(next).values()].some((count) => count > 0)
  return snapshots ? 'it sent a SNAPSHOT' : 'it continued after the accepted message'
}

async function slowAccepted(driver: PushDriver): Promise<undefined> {
  const connection = await driver.connection()
  connection.isSilent = true
  await driver.run.until(() => !connection.isOpen, driver.run.options.times.stall)
}

async function slowReader(driver: PushDriver): Promise<string> {
  const connection = await driver.connection()
  const { run } = driver
  const { stall } = run.options.times
  const { bytes } = connection.checker
  connection.pause()
  await run.pass(stall)
  driver.release()
  connection.resume()
  // The pong follows what was written before.
  await connection.ping()
  const next = await driver.connection()
  const { keptBytes } = connection
  if (keptBytes > run.options.backlogBytesMax) {
    run.report('backlog-unbounded', undefined, `${keptBytes} bytes arrived after being kept for ${stall / 1000} s`)
  }
  await driver.expectContinued(next)
  if (!connection.isOpen) return 'the publisher opened a new connection'
  return `${connection.checker.bytes - bytes} bytes arrived afterwards, ${keptBytes} of them kept`
}

async function rejected(driver: PushDriver): Promise<undefined> {
  const connection = await driver.connection()
  const [market] = driver.symbols
  connection.send({ type: 'rejected', market, message: 'the check rejects this market' })
  await driver.run.until(() => !connection.isOpen, driver.run.options.times.stall)
  connection.checker.checkHeartbeat(driver.run.now)
  if (!connection.isOpen) driver.run.fail('connection-closed', undefined, connection.endText)
  connection.send({ type: 'rejected', message: 'the check closes the connection' })
  driver.release()
  connection.close(CLOSE_POLICY, 'the check closes the connection')
  await driver.connection()
  driver.checkAttempts()
}

async function restart(driver: PushDriver): Promise<string> {
  const { run } = driver
  const command = run.options.restart
  if (command === undefined) throw new Skipped('give --restart COMMAND to check it')
  const connection = await driver.connection()
  const [market] = [...run.markets.values()] as [PublishedMarket]
  const before = market.position
  driver.release()
  await command()
  const hasEnded = await run.until(() => !connection.isOpen, run.options.times.answer)
  if (!hasEnded || before === undefined) throw new Skipped('the command did not end the publisher’s connection')
  const next = await driver.connection()
  // An engine that has sent nothing yet has shown no epoch.
  const hasBegun = () => driver.line(next, market.symbol)?.hasBegun === true
  await run.until(() => hasBegun() || !next.isOpen, run.options.times.answer)
  const seen = next.isOpen ? `none within ${run.options.times.answer / 1000} s after the restart` : next.endText
  if (!hasBegun()) run.fail('snapshot-missing', market.symbol, seen)
  const epoch = market.position?.epoch
  if (epoch === before.epoch) run.report('epoch-kept', market.symbol, `it is ${epoch} before and after the restart`)
  return `epoch ${before.epoch}, then ${epoch}`
}
