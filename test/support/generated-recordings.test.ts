import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { makeRecordings } from './generated-recordings.ts'
import { MADE_FOLDER } from './recorded-files.ts'

it('the committed synthetic recordings are up to date (to regenerate them: node --import tsx test/support/write-recordings.ts)', () => {
  for (const [path, text] of makeRecordings()) {
    const bytes = readFileSync(join(MADE_FOLDER, path))
    const kept = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
    // Without a matcher, which would print a difference in full.
    expect(kept === text, path).toBe(true)
  }
})
