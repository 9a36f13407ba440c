/** The system's clock, as the service uses it. */
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'

test('the system clock runs a callback for a time that has passed, without a warning by Node.js', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  try {
    const clock = createSystemClock()
    await new Promise<void>((resolve) => clock.schedule(-0.5, resolve))
    expect(warnings).toEqual([])
  } finally {
    process.off('warning', note)
  }
})
