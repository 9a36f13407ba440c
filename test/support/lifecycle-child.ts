/**
 * A process for the lifecycle and watchdog tests. It runs a service that stops on request, on a clock that advances
 * only on command. With the argument `watchdog SECONDS` it has a watchdog, which counts real time. Lines on stdin:
 * `advance MILLISECONDS`, `stopped true|false`, `throw`, `reject`, `start`, `give-up`, `fail`, `ask`, and ways to hang:
 * `hang loop|regex|microtasks|system-call`. Lines on stdout report what happened.
 */
import { execFileSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createLog } from '../../src/platform/base/log.ts'
import { runUntilSignal } from '../../src/service/process/lifecycle.ts'
import { startWatchdog } from '../../src/service/process/watchdog.ts'
import { VirtualClock } from './virtual-clock.ts'

const clock = new VirtualClock()
const say = (line: string) => process.stdout.write(`${line}\n`)
let finishStart: () => void = () => undefined
let giveUp: () => void = () => undefined
let fail: () => void = () => undefined
let finishStop: (clean: boolean) => void = () => undefined

function hangForEver(how: string | undefined): void {
  if (how === 'regex') /^(a+)+$/.test(`${'a'.repeat(60)}b`)
  else if (how === 'microtasks')
    void (async () => {
      for (;;) await undefined
    })()
  else if (how === 'system-call') execFileSync('cat', { stdio: ['inherit', 'ignore', 'ignore'] })
  else for (;;);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, argument] = line.split(' ')
  if (verb === 'advance') clock.advance(Number(argument))
  if (verb === 'stopped') finishStop(argument === 'true')
  if (verb === 'start') finishStart()
  if (verb === 'give-up') giveUp()
  if (verb === 'fail') fail()
  if (verb === 'throw') throw new Error('thrown on purpose')
  if (verb === 'reject') void Promise.reject(new Error('rejected on purpose'))
  if (verb === 'hang') hangForEver(argument)
  say(`did ${line}`)
})

const log = createLog('info')
const [watchdog, hangSeconds] = process.argv.slice(2)
if (watchdog === 'watchdog') startWatchdog(log, Number(hangSeconds))
const started = runUntilSignal(log, clock, async (signal) => {
  say('starting')
  await new Promise<void>((resolve, reject) => {
    finishStart = resolve
    giveUp = () => reject(signal.reason)
    fail = () => reject(new Error('failed on purpose'))
  })
  say('running')
  return {
    stopMillisecondsMax: 30_000,
    reload: () => say('reload called'),
    stop() {
      say('stop called')
      return new Promise<boolean>((resolve) => {
        finishStop = resolve
      })
    },
  }
})
// Registered after the handlers under test, so it reports when they have run.
let signals = 0
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => say(`signal ${++signals}`))
await started
