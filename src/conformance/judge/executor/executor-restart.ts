/**
 * Restarts a payment endpoint with the operator's command. After a time in which the endpoint forgets what it keeps
 * only in memory, every test delivery is repeated, and must have its first result. The rule stays unchecked if the
 * command fails, does not end or restarts nothing, or if the endpoint does not come back.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../../platform/base/clock.ts'
import { wait, withTimeLimit } from '../../../platform/base/time-limit.ts'
import { Skipped } from '../harness.ts'
import {
  type ExecutorScenario,
  type ExecutorSession,
  nameOf,
  type PaymentSender,
  send,
  Violation,
} from './executor-checks.ts'

export interface Restart {
  /** Run by the shell. It must end when the endpoint is started. */
  readonly command: string
  /** The time between the restart and the repeats. */
  readonly memorySeconds: number
  /** Limit for the command, and again for the endpoint to come back. Default: COMES_BACK_SECONDS_MAX. */
  readonly secondsMax?: number
}

const COMES_BACK_SECONDS_MAX = 60
const POLL_MILLISECONDS = 500
/** What a proxy answers while its endpoint is down. */
const PROXY_STATUSES = [502, 503, 504]

/** @param restart undefined: the rule is not checked */
export function restartScenario(restart: Restart | undefined, report: (line: string) => void): ExecutorScenario {
  return {
    name: 'restart',
    rule: 'after a restart, every delivery is answered with its first result (--restart)',
    async play(executor) {
      const reason = await reasonNotToRepeat(executor, restart, report)
      if (reason !== undefined) throw new Skipped(reason)
      await repeatAll(executor)
    },
  }
}

/** Restarts the endpoint and waits. Returns why its results cannot be compared. */
async function reasonNotToRepeat(
  executor: ExecutorSession,
  restart: Restart | undefined,
  report: (line: string) => void,
): Promise<string | undefined> {
  if (restart === undefined) return 'whether it still knows its results after a restart was not tested'
  if (executor.results.size === 0) return 'there is no result to repeat'
  const { command, memorySeconds, secondsMax = COMES_BACK_SECONDS_MAX } = restart
  const { sender } = executor
  const before = connect(portOf(new URL(sender.url)))
  // A refused or reset connection is closed.
  before.on('error', () => undefined)
  try {
    const fault = (await run(command, sender.clock, secondsMax)) ?? (await comesBack(sender, before, secondsMax))
    if (fault !== undefined) return fault
  } finally {
    before.destroy()
  }
  report(`The endpoint was restarted. Its ${executor.results.size} results are asked for again in ${memorySeconds} s.`)
  await wait(sender.clock, memorySeconds * 1_000)
  return undefined
}

function portOf({ protocol, hostname, port }: URL) {
  const usual = protocol === 'https:' ? 443 : 80
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? usual : Number(port) }
}

/** Runs the command in its own process group, which is killed if it does not end. Returns why it failed. */
async function run(command: string, clock: Clock, secondsMax: number): Promise<string | undefined> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const ended = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>
  const result = await withTimeLimit(clock, secondsMax * 1_000, ended, async () => undefined)
  if (result === undefined) {
    process.kill(-(child.pid as number), 'SIGKILL')
    return `the restart command did not end within ${secondsMax} seconds. It must leave the endpoint in the background`
  }
  const [code, signal] = result
  if (code === 0) return undefined
  return `the restart command ended with ${code === null ? signal : `exit code ${code}`}`
}

/**
 * Waits until the endpoint answers again and has closed the earlier connection. Returns what did not happen. Its
 * requests have no signature, so nothing is paid.
 */
async function comesBack(
  { clock, probe }: PaymentSender,
  before: Socket,
  secondsMax: number,
): Promise<string | undefined> {
  const end = clock.monotonicMilliseconds() + secondsMax * 1_000
  for (;;) {
    const status = await probe()
    const isBack = status !== undefined && !PROXY_STATUSES.includes(status)
    if (isBack && before.closed) return undefined
    if (clock.monotonicMilliseconds() < end) {
      await wait(clock, POLL_MILLISECONDS)
      continue
    }
    if (!isBack) return `the endpoint did not answer within ${secondsMax} seconds after the restart command`
    return 'the endpoint kept a connection from before the restart command: it was not restarted, or this is a proxy'
  }
}

async function repeatAll(executor: ExecutorSession): Promise<void> {
  const wrong: string[] = []
  let losesMoney = false
  for (const { delivery, outcome: first } of [...executor.results.values()]) {
    const again = await send(executor, delivery)
    const isSame = again.kind === first.kind
    const isOtherPayment = again.kind === 'settled' && first.kind === 'settled' && again.reference !== first.reference
    if (isSame && !isOtherPayment) continue
    wrong.push(`${nameOf(first)} became ${isOtherPayment ? 'SETTLED with another reference' : nameOf(again)}`)
    losesMoney ||= again.kind === 'settled' || again.kind === 'refused'
  }
  if (wrong.length === 0) return
  throw new Violation(
    `${wrong.length} of ${executor.results.size} results changed: ${[...new Set(wrong)].join(', ')}`,
    losesMoney,
  )
}
