/** Notifications to systemd, through a program on PATH that records its input. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { killLifecycleChildren, startLifecycleChild, startRunningChild } from '../../support/lifecycle-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-service-manager-'))
afterEach(killLifecycleChildren)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let programs = 0

/** A `systemd-notify` in a folder of its own; `received` is a file with one message per line. */
function fakeProgram() {
  const path = mkdtempSync(join(folder, `program-${programs++}-`))
  const record = join(path, 'received')
  const file = join(path, 'systemd-notify')
  writeFileSync(file, `#!/bin/sh\necho "$@" >> '${record}'\n`)
  chmodSync(file, 0o755)
  return {
    environment: { PATH: `${path}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/systemd/notify' },
    received: () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : []),
  }
}

describe('with NOTIFY_SOCKET', () => {
  it('systemd is notified when the service is ready and when it stops', async () => {
    const { environment, received } = fakeProgram()
    const child = startLifecycleChild({ environment })
    await child.heard('starting')
    child.tell('advance 60000')
    await child.heard('did advance 60000')
    expect(received()).toEqual([])
    child.tell('start')
    await expect.poll(received).toEqual(['READY=1'])
    child.tell('advance 60000')
    child.signal('SIGTERM')
    await expect.poll(received).toEqual(['READY=1', 'STOPPING=1'])
    child.tell('stopped true')
    expect((await child.exit).code).toBe(0)
  })

  it("keep-alives are sent at half of systemd's watchdog interval, also while the service stops", async () => {
    const { environment, received } = fakeProgram()
    const child = await startRunningChild({ environment: { ...environment, WATCHDOG_USEC: '4000000' } })
    await expect.poll(received).toEqual(['READY=1'])
    child.tell('advance 1999')
    child.tell('advance 1')
    await expect.poll(received).toEqual(['READY=1', 'WATCHDOG=1'])
    child.signal('SIGTERM')
    await expect.poll(received).toEqual(['READY=1', 'WATCHDOG=1', 'STOPPING=1'])
    // Not while the previous notification is in progress.
    await expect
      .poll(() => {
        child.tell('advance 2000')
        return received().at(-1)
      })
      .toBe('WATCHDOG=1')
  })

  it('with NOTIFY_SOCKET no keep-alive is sent for another process', async () => {
    const { environment, received } = fakeProgram()
    const child = await startRunningChild({
      environment: { ...environment, WATCHDOG_USEC: '2000000', WATCHDOG_PID: '1' },
    })
    await expect.poll(received).toEqual(['READY=1'])
    child.tell('advance 10000')
    await child.heard('did advance 10000')
    child.signal('SIGTERM')
    await expect.poll(received).toEqual(['READY=1', 'STOPPING=1'])
  })

  it('a missing program causes one log line and ends nothing', async () => {
    const environment = { PATH: folder, NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '2000000' }
    const child = await startRunningChild({ environment })
    await expect.poll(() => child.log()).toContain('systemd-notify failed')
    child.tell('advance 1000')
    await child.heard('did advance 1000')
    child.signal('SIGTERM')
    await child.heard('stop called')
    child.tell('stopped true')
    const { code, log } = await child.exit
    expect(code).toBe(0)
    expect(log.match(/systemd-notify failed/g)).toHaveLength(1)
  })
})
