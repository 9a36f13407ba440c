/**
 * A process for the lifecycle tests: it runs a service that stops when told, on a clock that stands still until told.
 * Lines on stdin: `advance MILLISECONDS`, `stopped true|false`, `throw`, `reject`, `start`, `give-up`,
 * `fail`. Lines on stdout: what
 * happened.
 */
import { createInterface } from 'node:readline'
import { runUntilSignal } from '../../src/app/lifecycle.ts'
import { createLog } from '../../src/base/log.ts'
import { VirtualClock } from './virtual-clock.ts'

const clock = new VirtualClock()
const say = (line: string) => process.stdout.write(`${line}\n`)
let finishStart: () => void = () => undefined
let giveUp: () => void = () => undefined
let fail: () => void = () => undefined
let finishStop: (clean: boolean) => void = () => undefined

createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, argument] = line.split(' ')
  if (verb === 'advance') clock.advance(Number(argument))
  if (verb === 'stopped') finishStop(argument === 'true')
  if (verb === 'start') finishStart()
  if (verb === 'give-up') giveUp()
  if (verb === 'fail') fail()
  if (verb === 'throw') throw new Error('thrown on purpose')
  if (verb === 'reject') void Promise.reject(new Error('rejected on purpose'))
  say(`did ${line}`)
})

const started = runUntilSignal(createLog('info'), clock, async (signal) => {
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
// Registered after the ones under test, so it speaks when they have run.
let signals = 0
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => say(`signal ${++signals}`))
await started
