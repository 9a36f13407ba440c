/** The Python examples, and the checks that Python's library makes of our frames. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PYTHON, startExample, titleWith } from '../support/foreign-programs.ts'
import { DEEP_LEVELS, DEEP_MARKET, type ExampleTarget, type ExampleTargets, transportsOf } from './services.ts'
import { firstLines, flawsOf } from './stream-lines.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'examples/python')
const NEEDS = 'python3 with websockets, requests and requests_oauthlib'

function python(target: ExampleTarget, path: string, ...args: string[]) {
  const environment = { ...target.environment, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1' }
  return startExample(PYTHON.file, [path, ...args], environment)
}

export function pythonSuite(targets: () => ExampleTargets): void {
  describe.skipIf(PYTHON.isSkipped)(titleWith('Python', PYTHON, NEEDS), () => {
    describe.each(transportsOf('TLS'))('over %s', (transport) => {
      const target = () => targets().of(transport)

      it('stream.py keeps a book', async () => {
        const stream = python(target(), join(FOLDER, 'stream.py'), 'BTCUSD', target().credentialsPath)
        expect(flawsOf(await firstLines(stream, 20))).toEqual([])
        stream.child.kill('SIGINT')
        const { code, stderr } = await stream.result
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      })

      it('requests-oauthlib gets tokens', async () => {
        const program = python(target(), join(FOLDER, 'token_requests_oauthlib.py'), target().credentialsPath)
        const { code, stdout, stderr } = await program.result
        const token = 'bearer for 3600 s, scope exchange:read_aggregated_marketdata_stream'
        expect({ code, stderr, lines: stdout.split('\n') }).toEqual({
          code: 0,
          stderr: '',
          lines: [
            `basic: ${token}`,
            `body: ${token}`,
            expect.stringMatching(/^refused: invalid_scope: .*no:such_/),
            '',
          ],
        })
      })

      it('the Python WebSocket library detects no error in our frames', async () => {
        const program = python(
          target(),
          join(import.meta.dirname, 'strict-client.py'),
          target().credentialsPath,
          DEEP_MARKET,
        )
        const { stdout, stderr } = await program.result
        expect(stderr).toBe('')
        const entry = { type: 'market_data', params: { market: DEEP_MARKET }, success: true }
        const lines = stdout.trim().split('\n')
        expect(lines.map((line) => JSON.parse(line))).toMatchObject([
          { check: 'extension', offered: 'permessage-deflate', taken: [] },
          { check: 'fragmented request', reply: { type: 'subscribe', channels: [entry] } },
          { check: 'fragmented snapshot', bytes: expect.any(Number), frames: 2, levels: DEEP_LEVELS },
          { check: 'our ping', answered: true },
          { check: 'its ping', seen: true },
          { check: 'binary', reply: { type: 'error', error: 'MALFORMED_REQUEST' } },
          { check: 'utf-8', reply: { type: 'error', error: 'UNKNOWN_ACTION' } },
          { check: 'close', code: 1000, reason: 'enough' },
          { check: 'subprotocol', selected: 'tidegate.default', answer: ['tidegate.default'] },
          { check: 'too large for it', code: 1009 },
          { check: 'too large for us', code: 1009 },
          { check: 'bearer alone', status: 400, challenge: null },
          { check: 'wrong token', status: 401, challenge: 'Bearer error="invalid_token"' },
        ])
      })
    })

    it('the Python example reconnects when the operator closes its connection', async () => {
      const target = targets().of('TCP')
      const { operator } = target.service
      const { clientId, clientSecret } = await operator.createClient()
      const path = target.writeCredentials('closed', { client_id: clientId, client_secret: clientSecret })
      const stream = python(target, join(FOLDER, 'stream.py'), 'BTCUSD', path)
      await firstLines(stream, 1)
      const { items } = await operator.call<{ items: { id: string; client_id: string }[] }>('GET', '/connections')
      const { id } = items.find((connection) => connection.client_id === clientId)!
      const headers = { authorization: `Bearer ${operator.token}` }
      await fetch(`${operator.url}/admin/v1/connections/${id}`, { method: 'DELETE', headers })
      await stream.errorLine((line) => line === 'closed with 1001 closed by the operator')
      await firstLines(stream, stream.stdout().split('\n').length + 2)
      stream.child.kill('SIGINT')
      const { code, stdout } = await stream.result
      expect({ code, flaws: flawsOf(stdout.split('\n').slice(0, -1), 1) }).toEqual({ code: 0, flaws: [] })
    })

    describe('does not reconnect', () => {
      const target = () => targets().of('TCP')
      const lastWords = async (market: string, path: string) => {
        const { code, stdout, stderr } = await python(target(), join(FOLDER, 'stream.py'), market, path).result
        return { code, stdout, stderr: stderr.trim() }
      }

      it('the Python example does not reconnect for an unknown market', async () => {
        expect(await lastWords('NONEUSD', target().credentialsPath)).toEqual({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(
            /^UNKNOWN_CHANNEL_PARAMS_CONFIGURATION: params\.market names no market: "NONEUSD"/,
          ),
        })
      })

      it('the Python example does not reconnect with a wrong secret', async () => {
        const path = target().writeCredentials('wrong-secret', { client_secret: 'wrong' })
        expect(await lastWords('BTCUSD', path)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^no token: /) })
      })

      it('the Python example does not reconnect without an entry in the streaming allow list', async () => {
        const { service } = target()
        const { customerId, clientId, clientSecret } = await service.operator.createClient()
        const path = target().writeCredentials('not-allowed', { client_id: clientId, client_secret: clientSecret })
        await service.operator.call('PATCH', `/customers/${customerId}`, { streaming: false })
        expect(await lastWords('BTCUSD', path)).toEqual({
          code: 1,
          stdout: '',
          stderr: 'the handshake was refused: server rejected WebSocket connection: HTTP 403',
        })
      })
    })
  })
}
