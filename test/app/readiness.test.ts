import { expect, it } from 'vitest'
import { type ReadinessInput, readinessOf } from '../../src/app/readiness.ts'

const WELL: ReadinessInput = {
  draining: false,
  storeAvailable: true,
  directoryLoaded: true,
  markets: [{ market: { symbol: 'BTCUSD' }, live: true, reason: '' }],
  starting: new Set(),
}

const failing = (input: ReadinessInput) => readinessOf(input).checks.flatMap(({ name, ok }) => (ok ? [] : [name]))

it('is ready when nothing is wrong', () => {
  expect(readinessOf(WELL)).toEqual({
    ready: true,
    checks: ['draining', 'store', 'directory', 'market BTCUSD'].map((name) => ({ name, ok: true, detail: 'ok' })),
  })
})

it.each([
  ['draining', { draining: true }],
  ['store', { storeAvailable: false }],
  ['directory', { directoryLoaded: false }],
])('is not ready because of %s', (name, difference) => {
  expect(readinessOf({ ...WELL, ...difference }).ready).toBe(false)
  expect(failing({ ...WELL, ...difference })).toEqual([name])
})

it('names a market without a source, but waits only for one that has not spoken', () => {
  const lost = { ...WELL, markets: [{ market: { symbol: 'BTCUSD' }, live: false, reason: 'disconnected' }] }
  expect(readinessOf(lost).ready).toBe(true)
  expect(readinessOf(lost).checks.at(-1)).toEqual({ name: 'market BTCUSD', ok: false, detail: 'disconnected' })
  expect(readinessOf({ ...lost, starting: new Set(['BTCUSD']) }).ready).toBe(false)
})
