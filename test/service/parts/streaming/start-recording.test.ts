/** Whether the folder of recordings can be used, and a service that records what its subscribers are sent. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { millisecondText } from '../../../../src/platform/base/clock.ts'
import { loadConfig } from '../../../../src/service/config/load.ts'
import { checkRecordingFolder } from '../../../../src/service/doctor/recording-folder.ts'
import { openRecording } from '../../../../src/streaming/recordings/reader.ts'
import { market, startServiceInside, temporaryFolder } from '../../../support/running-service.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

function problemsOf(path: string): readonly string[] {
  const result = loadConfig({ flags: { 'recording.dir': path }, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return checkRecordingFolder(result.config, result.origins).problems.map(({ message }) => message)
}

describe('the folder of recordings', () => {
  it('the recordings folder is reported when it cannot be written, and is not created by the check', () => {
    writeFileSync(join(folder.path, 'file'), '')
    expect(problemsOf(join(folder.path, 'new/deeper'))).toEqual([])
    expect(readdirSync(folder.path)).toEqual(['file'])
    expect(problemsOf(join(folder.path, 'file'))).toEqual([
      `cannot be used: ${join(folder.path, 'file')} cannot be written (EEXIST)`,
    ])
    expect(problemsOf('')).toEqual([])
  })

  it.skipIf(process.geteuid?.() === 0)('the recordings folder is reported when its mode forbids writing', () => {
    const path = join(folder.path, 'closed')
    mkdirSync(path)
    chmodSync(path, 0o500)
    expect(problemsOf(path)).toEqual([`cannot be used: ${path} cannot be written (EACCES)`])
  })
})

it('a recording contains every commit that a service publishes, with its version and time', async () => {
  const recordings = join(folder.path, 'recordings')
  const data = join(folder.path, 'data')
  mkdirSync(data)
  const markets = [market('BTC', 2, 100), market('ETH', 2, 100)]
  const service = await startServiceInside(data, markets, { 'recording.dir': recordings })
  const published = service.record.market('BTCUSD').commits
  await vi.waitUntil(() => published.length > 30, { timeout: 45_000, interval: 20 })
  const book = await service.operator.call<{ version: number; time: string }>('GET', '/markets/BTCUSD/book?depth=7')
  const past = await service.operator.call('GET', `/markets/BTCUSD/book?depth=7&executions=3&at=${book.time}`)
  expect(past).toMatchObject({ ...book, withdrawn: false, at: book.time })
  expect((past.executions as readonly unknown[]).length).toBeLessThanOrEqual(3)
  const refused = (query: string): Promise<unknown> => service.operator.call('GET', `/markets/BTCUSD/book?${query}`)
  await expect(refused('at=yesterday')).rejects.toThrow(/answered 400.*RFC 3339/)
  await expect(refused('at=2026-01-01T00:00:00Z&executions=x')).rejects.toThrow(/answered 400.*executions/)
  await expect(refused('at=2026-01-01T00:00:00Z')).rejects.toThrow(/answered 404.*"recorded_after":"20/)
  await expect(refused('at=2999-01-01T00:00:00Z')).rejects.toThrow(/answered 404.*"recorded_before":"20/)
  await service.stop()
  expect(statSync(recordings).mode & 0o777).toBe(0o700)
  const recorded = new Map<string, string[]>()
  for (const name of readdirSync(recordings).sort()) {
    const reader = await openRecording(join(recordings, name))
    for (const block of reader.blocks.filter(({ kind }) => kind === 'entries')) {
      for (const { market: index, commit } of await reader.readBlock(block)) {
        const symbol = reader.header.markets[index]?.definition.symbol ?? ''
        const times = recorded.get(symbol) ?? []
        recorded.set(symbol, times)
        if (commit === undefined) continue
        times.push(millisecondText(commit.milliseconds))
        expect(commit.version).toBe(times.length)
      }
    }
    await reader.close()
  }
  for (const symbol of service.record.symbols) {
    expect(recorded.get(symbol)).toEqual(service.record.market(symbol).commits.map(({ time }) => time))
  }
})
