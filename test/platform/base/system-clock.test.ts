/** The system's clock, as the service uses it. */
import { expect, test, vi } from 'vitest'
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

test('the system clock waits for months where a caller asks for it, and can be cancelled meanwhile', () => {
  const days = (count: number): number => count * 86_400_000
  vi.useFakeTimers()
  try {
    const clock = createSystemClock()
    let calls = 0
    clock.schedule(days(60), () => calls++)
    const cancelled = clock.schedule(days(60), () => calls++)
    vi.advanceTimersByTime(days(30))
    cancelled.cancel()
    vi.advanceTimersByTime(days(30) - 1)
    expect(calls).toBe(0)
    vi.advanceTimersByTime(1)
    expect(calls).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})
