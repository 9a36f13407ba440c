import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadCredentials } from '../../src/cli/options/stream-credentials.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-credentials-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('--url', () => {
  const ENVIRONMENT = { TIDEGATE_CLIENT_ID: 'id', TIDEGATE_CLIENT_SECRET: 'secret' }

  it.each(['https://api.example.com/', 'wss://api.example.com', 'WSS://api.example.com/'])(
    'the option --url is enough to find the token endpoint and the stream: %s',
    async (url) => {
      expect(await loadCredentials({ url }, ENVIRONMENT)).toEqual({
        client_id: 'id',
        client_secret: 'secret',
        auth_url: 'https://api.example.com',
        ws_url: 'wss://api.example.com',
        base_url: 'https://api.example.com',
        markets: [],
      })
    },
  )

  it('the option --url is enough with a file that contains only the client and its secret', async () => {
    const credentials = join(folder, 'bare.json')
    writeFileSync(credentials, JSON.stringify({ client_id: 'id', client_secret: 'secret' }))
    expect(await loadCredentials({ credentials, url: 'http://127.0.0.1:8080' }, {})).toMatchObject({
      auth_url: 'http://127.0.0.1:8080',
      ws_url: 'ws://127.0.0.1:8080',
    })
    await expect(loadCredentials({ credentials }, {})).rejects.toThrow(
      'has no auth_url: --url gives the service’s address',
    )
  })
})
