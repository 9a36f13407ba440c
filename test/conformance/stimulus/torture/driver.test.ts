/** What `torture` takes for its client's connection. */
import { expect, it } from 'vitest'
import type { ClientProcess } from '../../../../src/conformance/stimulus/torture/client-process.ts'
import { ScenarioDriver } from '../../../../src/conformance/stimulus/torture/driver.ts'
import type { TortureService } from '../../../../src/conformance/stimulus/torture/service.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'

it('torture does not take the connection of a program that has ended for that of the one it starts', async () => {
  const earlier = { isSettled: true, program: 'earlier' }
  const next = { isSettled: true, program: 'next' }
  const service = { current: earlier }
  const client = {
    isRunning: false,
    start() {
      this.isRunning = true
    },
  }
  const driver = new ScenarioDriver({
    service: service as unknown as TortureService,
    client: client as unknown as ClientProcess,
    clock: createSystemClock(),
    pace: 1,
    ask: () => undefined,
  })
  const connection = driver.settled()
  // The earlier program's connection ends only now.
  await new Promise(setImmediate)
  service.current = next
  driver.notify()
  expect(await connection).toBe(next)
})
