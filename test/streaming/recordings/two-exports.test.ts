/** Two exports at a time with the same folder. */
import { mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { MarketEvent } from '../../../src/streaming/market/event.ts'
import { exportRecordings } from '../../../src/streaming/recordings/export/exporter.ts'
import { RECORDING_START, recordingFolder, writeRecording } from '../../support/recording-file.ts'

const folder = recordingFolder()
afterAll(() => folder.remove())

it("an export fails instead of giving another one's incomplete file its final name", async () => {
  const path = folder.next()
  const out = `${folder.next()}-out`
  mkdirSync(out)
  const snapshot: MarketEvent = { type: 'snapshot', levels: [{ side: 0, price: 100, amount: 7 }] }
  await writeRecording(path, [{ entries: [{ market: 0, atMilliseconds: RECORDING_START, events: [snapshot] }] }])
  let name = ''
  const exported = exportRecordings({
    paths: [path],
    format: 'csv',
    layout: 'tidegate',
    exchange: 'tidegate',
    isZipped: false,
    folder: out,
    symbol: undefined,
    fromMilliseconds: Number.NEGATIVE_INFINITY,
    toMilliseconds: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    onProgress() {
      name = readdirSync(out).find((each) => each.includes('_incremental_book_L2_')) ?? ''
      // As another export does at its start.
      unlinkSync(join(out, name))
      writeFileSync(join(out, name), 'half a line')
    },
  })
  await expect(exported).rejects.toThrow(`${name} was replaced: another export writes to this folder`)
  expect(name).toMatch(/\.partial$/)
  expect(readdirSync(out).filter((each) => each.includes('_incremental_book_L2_'))).toEqual([name])
  expect(readFileSync(join(out, name), 'utf8')).toBe('half a line')
})
