/** The credentials file of a new client on a full disk. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { reserveCredentialsFile } from '../../src/cli/options/credentials-file.ts'

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  writeFileSync() {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  },
}))

it('a credentials file that cannot be written is removed, and the error says how to get another secret', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-credentials-'))
  try {
    const path = join(folder, 'client.json')
    const file = reserveCredentialsFile(path)
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
