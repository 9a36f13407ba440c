/** Which time without a sign of life counts as hanging. */
import { expect, it } from 'vitest'
import { HangMeter, readThreadStat } from '../../../src/service/process/hang-meter.ts'

const PERIOD = 1_000

/** The hang that is measured after each period without a sign of life, in which the thread computed for so long. */
function measure(periods: readonly { computed: number; isBlocked?: boolean; isAlive?: boolean }[]): number[] {
  const meter = new HangMeter({ processorMilliseconds: 500, isBlocked: false })
  let processorMilliseconds = 500
  return periods.map(({ computed, isBlocked = false, isAlive = false }) => {
    processorMilliseconds += computed
    return meter.observe(PERIOD, { processorMilliseconds, isBlocked }, isAlive)
  })
}

it('a thread that computes without a sign of life hangs from its last sign', () => {
  const endless = { computed: 1_000 }
  expect(measure([endless, endless, { computed: 40, isAlive: true }, endless, endless])).toEqual([
    1_000, 2_000, 0, 1_000, 2_000,
  ])
})

it('a thread that is blocked in a system call hangs', () => {
  expect(measure([{ computed: 10 }, { computed: 0, isBlocked: true }, { computed: 0, isBlocked: true }])).toEqual([
    10, 1_010, 2_010,
  ])
})

it('a thread that is ready to run and gets a tenth of a processor needs ten times as long to hang', () => {
  expect(measure(Array.from({ length: 30 }, () => ({ computed: 100 }))).at(-1)).toBe(3_000)
})

it('a thread that gets no processor at all, or waits for a disk, does not hang', () => {
  expect(measure(Array.from({ length: 3_600 }, () => ({ computed: 0 }))).at(-1)).toBe(0)
})

it('a thread that was sleeping when it was read, but has computed, is not blocked', () => {
  expect(measure([{ computed: 20, isBlocked: true }])).toEqual([20])
})

it('the status of a thread is read whatever its name contains', () => {
  const rest = '23723 23723 1036 0 -1 4194304 128 0 0 0 312 45 0 0 20 0 1 0 151564'
  const reading = { processorMilliseconds: 3_570, isBlocked: true }
  expect(readThreadStat(`42 (node) S ${rest}`)).toEqual(reading)
  expect(readThreadStat(`42 (a) R (b c) S ${rest}`)).toEqual(reading)
  expect(readThreadStat(`42 (node) R ${rest}`)).toEqual({ ...reading, isBlocked: false })
  expect(readThreadStat('')).toBeUndefined()
})
