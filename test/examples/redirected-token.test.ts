/** The Node.js examples and a token endpoint that redirects them. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { once } from '../support/awaited.ts'
import { endExamples, startExample } from '../support/foreign-programs.ts'

let server: Server
let url: string
let paths: string[]

beforeAll(async () => {
  server = createServer((request, response) => {
    paths.push(request.url ?? '')
    const isRedirected = request.url !== '/elsewhere'
    response.writeHead(isRedirected ? 307 : 200, { location: '/elsewhere' }).end('{"access_token":"token"}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  paths = []
})
afterAll(() => {
  endExamples()
  server.closeAllConnections()
  server.close()
})

it('the example publisher sends its secret to no address to which its token endpoint redirects', async () => {
  const environment = { TOKEN_URL: `${url}/token`, CLIENT_ID: 'client', CLIENT_SECRET: 'secret' }
  const push = startExample(
    process.execPath,
    ['examples/publisher/push.mjs', 'BTCUSD', 'ws://127.0.0.1:1/'],
    environment,
  )
  expect(await push.line(() => true)).toBe('the token request was answered with 307')
  push.child.kill('SIGKILL')
  expect(new Set(paths)).toEqual(new Set(['/token']))
})

it('the example of a token request sends its secret to no address to which the endpoint redirects', async () => {
  const { fetchToken } = await import(join(import.meta.dirname, '../../examples/node/token.mjs'))
  await expect(fetchToken({ auth_url: url, client_id: 'client', client_secret: 'secret' })).rejects.toThrow()
  expect(paths).toEqual(['/oauth2/token'])
})
