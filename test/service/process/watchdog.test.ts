/**
 * The watchdog, on real processes whose event loop hangs, which are stopped from outside, or neither. The tests check
 * only how the process ends, not how long it takes.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { killLifecycleChildren, startRunningChild } from '../../support/lifecycle-process.ts'

afterAll(killLifecycleChildren)

const HANG_SECONDS = 1
const EVENT = 'the event loop hangs: ending the process'
const startWatched = () => startRunningChild({ args: ['watchdog', String(HANG_SECONDS)] })

// These processes mostly wait, so they run concurrently.
describe.concurrent('a process whose event loop hangs', () => {
  it.each(['regex', 'microtasks'])(
    'a process whose event loop hangs ends with 70 and one log line (%s)',
    async (how) => {
      const child = await startWatched()
      child.tell(`hang ${how}`)
      const { code, signal, log } = await child.exit
      expect([code, signal], log).toEqual([70, null])
      expect(log.trim().split('\n')).toHaveLength(1)
      expect(JSON.parse(log)).toMatchObject({ level: 'error', seconds: HANG_SECONDS, event: EVENT })
    },
  )

  it('a process whose event loop hangs ends with 70 and one log line that names the place where it hangs (loop)', async () => {
    const child = await startWatched()
    child.tell('hang loop')
    const { code, signal, log } = await child.exit
    expect([code, signal], log).toEqual([70, null])
    expect(log.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(log)).toMatchObject({ level: 'error', seconds: HANG_SECONDS, event: EVENT })
    expect(JSON.parse(log).stack).toContain('hangForEver')
  })

  it('a process whose event loop hangs is killed while it waits in a system call', async () => {
    const child = await startWatched()
    child.tell('hang system-call')
    const { code, signal, log } = await child.exit
    expect([code, signal], log).toEqual([null, 'SIGKILL'])
    expect(JSON.parse(log)).toMatchObject({ level: 'error', event: EVENT })
  })
})

it.concurrent('the watchdog does not count the time during which the process is stopped', async () => {
  const child = await startWatched()
  child.signal('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 3 * HANG_SECONDS * 1000))
  child.signal('SIGCONT')
  child.tell('advance 1')
  await child.heard('did advance 1')
  child.signal('SIGTERM')
  await child.heard('stop called')
  child.tell('stopped true')
  const { code, log } = await child.exit
  expect(code).toBe(0)
  expect(log).not.toContain(EVENT)
})

it('the watchdog does not keep the process from exiting', () => {
  const url = (path: string) => pathToFileURL(join(import.meta.dirname, '../../../src', path)).href
  const program = `
    import { startWatchdog } from '${url('service/process/watchdog.ts')}'
    import { createLog } from '${url('platform/base/log.ts')}'
    startWatchdog(createLog('info'), 3600)
    process.stdout.write('at the end')`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stdout, stderr]).toEqual([0, 'at the end', ''])
})
