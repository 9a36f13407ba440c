/** The example program of a first deposit, against a server that refuses one of its requests. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CURL, startExample, titleWith } from '../support/foreign-programs.ts'
import { temporaryFolder } from '../support/running-service.ts'

const SCRIPT = join(import.meta.dirname, '../../examples/rest/first-deposit.sh')
const ACCOUNTS = '/v2/identity/accounts'
const RULES = '/v2/orchestration/rules'
const DEPOSIT = '/v2/sandbox/profiles/profile-1/deposit'

describe.skipIf(CURL.isSkipped)(titleWith('the first deposit', CURL, 'curl'), () => {
  it.each([
    ['/oauth2/token', []],
    [ACCOUNTS, [ACCOUNTS]],
    [RULES, [ACCOUNTS, RULES]],
    [DEPOSIT, [ACCOUNTS, RULES, DEPOSIT]],
  ])('the first-deposit example stops when %s is refused', async (refused, due) => {
    const { path: folder, remove } = temporaryFolder()
    const asked: string[] = []
    const server = createServer((request, response) => {
      const path = request.url ?? ''
      if (path !== '/oauth2/token') asked.push(path)
      request.resume()
      response.writeHead(path === refused ? 422 : 200, { 'content-type': 'application/json' })
      response.end(path === refused ? '{"code":"refused"}' : '{"access_token":"token","profile_id":"profile-1"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const credentials = { client_id: 'id', client_secret: 'secret', base_url: address, auth_url: address }
    const file = join(folder, 'client.json')
    writeFileSync(file, JSON.stringify(credentials, undefined, 1))
    const { code, stderr } = await startExample('sh', [SCRIPT, file], {}).result
    server.close()
    remove()
    expect(code).toBe(1)
    expect(stderr).toMatch(refused === '/oauth2/token' ? /^no token: / : `POST ${refused} failed: {"code":"refused"}`)
    expect(asked).toEqual(due)
  })
})
