import { beforeEach, expect, test } from 'vitest'
import {
  createMetricsRegistry,
  type MetricsRegistry,
  metricsText,
  observeProcess,
} from '../../../src/platform/base/metrics.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let registry: MetricsRegistry

beforeEach(() => {
  clock = new VirtualClock()
  registry = createMetricsRegistry()
  observeProcess(registry, clock)
})

/** Milliseconds, from one scrape. */
async function lag<Name extends string>(...names: readonly Name[]): Promise<Readonly<Record<Name, number>>> {
  const lines = (await registry.metrics()).split('\n')
  const lineOf = (name: Name) => lines.find((line) => line.startsWith(`nodejs_eventloop_lag_${name}_seconds `))
  const entries = names.map((name) => [name, Math.round(Number(lineOf(name)?.split(' ')[1]) * 1000)])
  return Object.fromEntries(entries)
}

test('an event loop without work has no lag, and wakes up ten times a second to measure it', async () => {
  let timers = 0
  const { schedule } = clock
  clock.schedule = (milliseconds, callback) => {
    timers++
    return schedule.call(clock, milliseconds, callback)
  }
  clock.advance(10_000)
  expect(timers).toBe(100)
  expect(await lag('min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99')).toEqual({
    min: 0,
    max: 0,
    mean: 0,
    stddev: 0,
    p50: 0,
    p90: 0,
    p99: 0,
  })
})

test('an event loop that is blocked now and then shows it in the high percentiles', async () => {
  for (let block = 0; block < 5; block++) {
    clock.advance(2_000)
    clock.standStill(350)
  }
  expect(await lag('min', 'max', 'p50', 'p90', 'p99')).toEqual({ min: 0, max: 250, p50: 0, p90: 0, p99: 250 })
})

test('each scrape covers the time since the one before', async () => {
  clock.standStill(600)
  expect(await lag('max')).toEqual({ max: 500 })
  clock.advance(1_000)
  expect(await lag('max')).toEqual({ max: 0 })
})

test('a scrape at once after another one repeats its values', async () => {
  clock.standStill(600)
  expect(await lag('max')).toEqual({ max: 500 })
  expect(await lag('max')).toEqual({ max: 500 })
})

test('the open files of several processes are those of the one nearest to its limit', async () => {
  const metrics = await registry.getMetricsAsJSON()
  const withFiles = (open: number, max: number) =>
    metrics.map((metric) => {
      const value = { process_open_fds: open, process_max_fds: max }[metric.name]
      return value === undefined ? metric : { ...metric, values: [{ value, labels: {} }] }
    })
  const text = await metricsText([withFiles(40, 1_024), withFiles(1_000, 1_024)])
  expect(text).toMatch(/^process_open_fds 1000$/m)
  expect(text).toMatch(/^process_max_fds 1024$/m)
})
