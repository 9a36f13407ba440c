import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { checkRecordings } from '../../../src/service/doctor/recording-check.ts'
import { recordingFolder, writeRecording } from '../../support/recording-file.ts'
import { market } from '../../support/running-service.ts'

const folder = recordingFolder()
const path = folder.next()

beforeAll(() => writeRecording(path, []))
afterAll(() => folder.remove())

function problemsOf(...markets: readonly object[]) {
  const flags = { markets: JSON.stringify(markets), 'simulator.allowed': 'true' }
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return checkRecordings(result.config, result.origins)
}

describe('recordings of markets', () => {
  it('recordings of markets pass when they contain the market at no finer precision', async () => {
    const checked = await problemsOf(market('BTC', 2, 10, `replay:${path}`), market('ETH', 5, 10, `replay:${path}`))
    expect(checked).toEqual({ problems: [], warnings: [] })
  })

  it('recordings of markets are reported with their position in the list when they cannot feed the market', async () => {
    const { problems } = await problemsOf(
      market('XRP', 2, 10, `replay:${path}`),
      market('ETH', 3, 10, `replay:${path}`),
      market('BTC', 2, 10, 'replay:/nowhere/at.all'),
      market('SOL', 2, 10),
    )
    const message = 'cannot be replayed: the recording'
    expect(problems).toMatchObject([
      { key: 'markets[0].sources[0]', message: `${message} ${path} has no market XRPUSD, only BTCUSD, ETHUSD` },
      {
        key: 'markets[1].sources[0]',
        message: `${message} ${path} does not fit ETHUSD: it has prices with 4 decimals, and the market has 3`,
      },
      { key: 'markets[2].sources[0]', message: `${message} /nowhere/at.all cannot be opened: ENOENT` },
    ])
  })
})
