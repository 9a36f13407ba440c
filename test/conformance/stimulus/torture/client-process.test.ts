/** The program under test as `torture` starts and stops it. */
import { expect, it } from 'vitest'
import { ClientProcess } from '../../../../src/conformance/stimulus/torture/client-process.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { awaited } from '../../../support/awaited.ts'

it('a client program that a shell has started is stopped with the shell', async () => {
  // The shell waits for the program, and passes no signal on to it. The program has the shell's stderr.
  const client = new ClientProcess(
    ['/bin/sh', '-c', 'sleep 60; true'],
    process.env,
    createSystemClock(),
    () => undefined,
  )
  client.start()
  await new Promise((resolve) => setTimeout(resolve, 500))
  await awaited('the end of the program', client.stop(), 20_000)
  expect(client.isRunning).toBe(false)
  expect(client.ending).toBe('it ended by SIGTERM')
})
