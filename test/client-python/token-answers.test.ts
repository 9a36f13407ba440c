/**
 * What both clients make of the answers of a token endpoint: `ends` with a clear error, or `waits` and requests a token
 * again. An answer that only a wrong address gives ends a client that never had a token. One that had some waits: it is then
 * that of a proxy whose service is restarting.
 */

import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ClientCredentials, TidegateError } from '../../packages/client/src/index.ts'
import { once } from '../support/awaited.ts'
import { pythonWith, titleWith } from '../support/foreign-programs.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'

type Reaction = 'ends' | 'waits'
type Row = readonly [status: number, body: object | string, without: Reaction, afterSome: Reaction, advice: string]

const CLIENT = 'Check client_id'
const ADDRESS = 'Check auth_url'

const ROWS: readonly Row[] = [
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'].map(
    (error): Row => [400, { error }, 'ends', 'ends', CLIENT],
  ),
  [400, { error: 'invalid_scope', error_description: 'the scope is unknown' }, 'ends', 'ends', 'the scope is unknown'],
  [401, { error: 'invalid_client' }, 'ends', 'ends', CLIENT],
  [403, 'forbidden', 'ends', 'ends', CLIENT],
  ...[408, 425, 429, 500, 502, 503, 504, 507, 520, 529].map((status): Row => [status, '', 'waits', 'waits', '']),
  ...[301, 302, 303, 307, 308, 404, 405, 406, 410, 411, 413, 415, 451, 501, 505].map(
    (status): Row => [status, '', 'ends', 'waits', ADDRESS],
  ),
  [200, '<html>a page</html>', 'ends', 'waits', ADDRESS],
  [200, 'null', 'ends', 'waits', ADDRESS],
  [200, { access_token: 'a', expires_in: 'soon' }, 'ends', 'waits', ADDRESS],
  [204, '', 'ends', 'waits', ADDRESS],
]
const NAMES = ROWS.map(([status, body]) => `${status} ${typeof body === 'string' ? body : JSON.stringify(body)}`.trim())
const SECRET = 'a-secret-that-stays-at-the-endpoint'
const PYTHON = pythonWith('websockets')

/** Requests a token at each address, or two where the path says so; prints what each came to, a line each. */
const PYTHON_PROGRAM = `
import asyncio, sys
from tidegate_client import Credentials, TidegateError
from tidegate_client.credentials import TokenSource
from tidegate_client.errors import Unavailable

async def main():
    for address in sys.argv[2:]:
        tokens = TokenSource(Credentials("a-client", sys.argv[1], address, "wss://stream.example.com"), "a-scope")
        try:
            if "/after-some/" in address:
                tokens.discard(await tokens.token())
            print(await tokens.token())
        except TidegateError as error:
            print("ends", error.code, error)
        except Unavailable as error:
            print("waits", error.is_unreachable, error)

asyncio.run(main())
`

let server: Server
let address = ''
/** Requests to where a redirect leads. */
let redirected = 0

beforeAll(async () => {
  const served = new Set<string>()
  server = createServer((request, response) => {
    request.resume()
    const [, client, when, index] = (request.url as string).split('/')
    const row = ROWS[Number(index)]
    if (row === undefined) redirected++
    const isFirst = when === 'after-some' && !served.has(`${client} ${index}`)
    if (isFirst || row === undefined) {
      served.add(`${client} ${index}`)
      response.end(JSON.stringify({ access_token: 'a-token', expires_in: 3_600 }))
      return
    }
    const [status, body] = row
    response.writeHead(status, status >= 300 && status < 400 ? { location: '/elsewhere' } : {})
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => server.close())

function addressesOf(client: string): string[] {
  return ['never', 'after-some'].flatMap((when) => ROWS.map((_, index) => `${address}/${client}/${when}/${index}`))
}

async function reactionOf(auth_url: string): Promise<string> {
  const credentials = { client_id: 'a-client', client_secret: SECRET, auth_url, ws_url: '', base_url: '' }
  const tokens = new ClientCredentials(credentials, ['a-scope'])
  try {
    if (auth_url.includes('/after-some/')) tokens.discard(await tokens.token())
    return await tokens.token()
  } catch (error) {
    return `${error instanceof TidegateError ? `ends ${error.code}` : 'waits'} ${(error as Error).message}`
  }
}

/** @param lines what each address came to, in the order of `addressesOf` */
function expectReactions(lines: readonly string[]): void {
  const reactions = lines.map((line) => line.split(' ')[0])
  const table = (from: number) => Object.fromEntries(NAMES.map((name, index) => [name, reactions[from + index]]))
  expect(table(0)).toEqual(Object.fromEntries(ROWS.map(([, , without], index) => [NAMES[index], without])))
  expect(table(ROWS.length)).toEqual(Object.fromEntries(ROWS.map(([, , , after], index) => [NAMES[index], after])))
  for (const [index, [status, , without, , advice]] of ROWS.entries()) {
    const line = lines[index] as string
    expect(line).toContain(`/oauth2/token answered ${status}`)
    if (without === 'ends') expect(line).toContain('ends TOKEN_REFUSED')
    expect(line).toContain(advice)
  }
  expect(lines.join()).not.toContain(SECRET)
  expect(redirected).toBe(0)
}

it('the TypeScript client reacts to each response of a token endpoint', async () => {
  expectReactions(await Promise.all(addressesOf('typescript').map(reactionOf)))
})

const test = PYTHON.isSkipped ? it.skip : it
test(titleWith('the client in Python reacts in the same way', PYTHON, 'python3 with websockets'), async () => {
  const args = ['-c', PYTHON_PROGRAM, SECRET, ...addressesOf('python')]
  const child = spawn(PYTHON.file, args, { env: { ...process.env, ...PYTHON_ENVIRONMENT } })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(errors).toBe('')
  expectReactions(output.trim().split('\n'))
})
