/** The file for `verify --save` on a disk that becomes full. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { LineFile } from '../../src/cli/terminal/line-file.ts'

const { disk } = vi.hoisted(() => ({ disk: { isFull: false } }))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  return {
    ...real,
    writeFileSync(descriptor: number, bytes: Buffer) {
      real.writeFileSync(descriptor, disk.isFull ? bytes.subarray(0, 3) : bytes)
      if (disk.isFull) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  }
})

it('a file of lines on a full disk keeps its whole lines, and reports the failure once and when it is closed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-lines-'))
  try {
    const path = join(folder, 'frames.jsonl')
    const onFailure = vi.fn()
    const file = new LineFile(path, onFailure)
    file.add('{"first":"é"}')
    disk.isFull = true
    file.add('{"second":1}')
    file.add('{"third":1}')
    expect(onFailure).toHaveBeenCalledTimes(1)
    expect(() => file.close()).toThrow(`${path} cannot be written any more: ENOSPC`)
    expect(readFileSync(path, 'utf8')).toBe('{"first":"é"}\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(() => new LineFile(path, onFailure)).toThrow(`${path} cannot be created: EEXIST`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
