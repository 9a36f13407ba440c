/** Files that verbs write on a disk that becomes full. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it, vi } from 'vitest'
import { reserveCredentialsFile } from '../../src/cli/options/credentials-file.ts'
import { LineFile } from '../../src/cli/terminal/line-file.ts'

const { disk } = vi.hoisted(() => ({ disk: { isFull: false } }))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  return {
    ...real,
    writeFileSync(file: number, data: string | Buffer) {
      real.writeFileSync(file, disk.isFull ? data.slice(0, 3) : data)
      if (disk.isFull) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  }
})

beforeEach(() => {
  disk.isFull = false
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

it('a credentials file that cannot be written is removed, and the error says how to get another secret', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-credentials-'))
  try {
    const path = join(folder, 'client.json')
    const file = reserveCredentialsFile(path)
    disk.isFull = true
    const client = { client_id: 'the-client', client_secret: 'tgs_secret', scopes: [] }
    const addresses = { base_url: 'http://a', auth_url: 'http://a', ws_url: 'ws://a' }
    expect(() => file.write(client, addresses)).toThrow(
      `the client was created, but its secret could not be written to ${path} (ENOSPC): ` +
        'create another with tidegate admin secret create the-client',
    )
    expect(existsSync(path)).toBe(false)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
