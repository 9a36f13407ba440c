/** The settings of orchestrations: what they accept, and what must hold between them and the assets. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'

function load(flags: Readonly<Record<string, string>>) {
  return loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
}

describe('orchestrations.*', () => {
  it('orchestrations.* settings charge nothing, have no minimum and end after a day unless they are set', () => {
    const result = load({})
    expect(result.ok && result.config).toMatchObject({
      'orchestrations.convert_seconds_max': 86_400,
      'orchestrations.fee_bps': 0,
      'orchestrations.minimums': new Map(),
    })
  })

  it('orchestrations.* settings keep minimums as they were written', () => {
    const result = load({ 'orchestrations.minimums': '{USDC: 10, BTC: "0.0001"}' })
    const minimums = result.ok ? result.config['orchestrations.minimums'] : undefined
    expect(minimums).toEqual(new Map(Object.entries({ USDC: '10', BTC: '0.0001' })))
  })

  it.each([
    ['orchestrations.minimums', '{XYZ: 1}', 'orchestrations.minimums.XYZ'],
    ['orchestrations.minimums', '{USD: "0.001"}', 'orchestrations.minimums.USD'],
    ['orchestrations.minimums', '{USD: -1}', 'orchestrations.minimums.USD'],
    ['orchestrations.fee_bps', '5001', 'orchestrations.fee_bps'],
    ['orchestrations.convert_seconds_max', '0', 'orchestrations.convert_seconds_max'],
  ])('orchestrations.* settings refuse %s %s', (key, value, place) => {
    const result = load({ [key]: value })
    expect(result.ok ? [] : result.problems.map((problem) => problem.key)).toEqual([place])
  })
})
