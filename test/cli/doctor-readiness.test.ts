import { expect, it } from 'vitest'
import { readinessFindings } from '../../src/service/doctor/readiness.ts'

const row = (name: string, ok: boolean, detail = 'ok') => ({ name, ok, detail })
const next = 'see its source, and the service’s log'

it('readiness is one line when every check passes', () => {
  const checks = [row('store', true), row('market BTCUSD', true), row('market ETHUSD', true)]
  expect(readinessFindings({ ready: true, checks })).toEqual([
    { verdict: 'ok', name: 'readiness', detail: 'ready, 2 markets live' },
  ])
})

it('readiness names lost markets and sources, and those with further details', () => {
  const checks = [
    row('deposit addresses', true, 'no key in custody.* for BASE'),
    row('market BTCUSD', true),
    row('market BTCUSD source kraken:BTC/USD', true, 'post_only'),
    row('market BTCUSD source okx:BTC-USD', false, 'gap'),
    row('market ETHUSD', false, 'not listed'),
  ]
  expect(readinessFindings({ ready: true, checks })).toEqual([
    { verdict: 'ok', name: 'readiness', detail: 'ready, 1 markets live' },
    { verdict: 'warn', name: 'market ETHUSD', detail: 'not live: not listed', next },
    { verdict: 'warn', name: 'market BTCUSD source kraken:BTC/USD', detail: 'live; post_only', next },
    { verdict: 'warn', name: 'market BTCUSD source okx:BTC-USD', detail: 'not in the book: gap', next },
  ])
})

it('readiness names the gates that are closed, and no market', () => {
  const checks = [row('store', false, 'away'), row('feed', false, 'silent'), row('market BTCUSD', false, 'x')]
  expect(readinessFindings({ ready: false, checks })[0]?.detail).toBe('not ready (store: away, feed: silent)')
})
