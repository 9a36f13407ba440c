/**
 * Writes the synthetic recordings to `test/fixtures/recordings`: `node --import tsx test/support/write-recordings.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { makeRecordings } from './generated-recordings.ts'
import { MADE_FOLDER } from './recorded-files.ts'

for (const [path, text] of makeRecordings()) {
  const file = join(MADE_FOLDER, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, path.endsWith('.gz') ? gzipSync(text, { level: 9 }) : text)
}
