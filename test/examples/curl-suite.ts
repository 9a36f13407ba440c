/** The curl examples: the responses of the service, without any library. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CURL, startExample, titleWith } from '../support/foreign-programs.ts'
import { type ExampleTargets, transportsOf } from './services.ts'

const FOLDER = join(import.meta.dirname, '../../examples/curl')

export function curlSuite(targets: () => ExampleTargets): void {
  describe.skipIf(CURL.isSkipped)(titleWith('curl', CURL, 'curl'), () => {
    describe.each(transportsOf('TLS'))('over %s', (transport) => {
      async function run(script: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
        const { credentialsPath, environment } = targets().of(transport)
        const { code, stdout, stderr } = await startExample('sh', [join(FOLDER, script), credentialsPath], {
          ...environment,
          ...variables,
        }).result
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        return stdout
      }

      it('curl gets a token in both ways', async () => {
        const answers = (await run('token.sh')).trim().split('\n')
        expect(answers.map((answer) => JSON.parse(answer))).toEqual(
          ['body', 'basic'].map(() => ({
            access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
            expires_in: 3600,
            token_type: 'bearer',
            scope: 'exchange:read_aggregated_marketdata_stream',
          })),
        )
      })

      it('curl opens the stream', async () => {
        expect((await run('handshake.sh', { SECONDS_LONG: '60' })).split('\r\n')).toEqual([
          'HTTP/1.1 101 Switching Protocols',
          'Upgrade: websocket',
          'Connection: Upgrade',
          expect.stringMatching(/^Sec-WebSocket-Accept: [\w+/]{27}=$/),
          '',
          '',
        ])
      })

      it('curl shows the documented error responses', async () => {
        const answers = (await run('errors.sh'))
          .trim()
          .split(/^# .*\n/m)
          .slice(1)
        const parts = answers.map((answer) => {
          const [head = '', body = ''] = answer.includes('\r\n\r\n') ? answer.split('\r\n\r\n') : ['', answer]
          return { head: head.toLowerCase(), body: JSON.parse(body) }
        })
        const problem = (status: number, code: string) => ({ type: 'about:blank', status, code })
        expect(parts.map(({ body }) => body)).toMatchObject([
          problem(401, 'unauthorized'),
          problem(401, 'invalid_token'),
          problem(403, 'insufficient_scope'),
          problem(426, 'upgrade_required'),
          { error: 'invalid_scope', error_description: expect.stringContaining('no:such_scope') },
        ])
        const fields = [
          'www-authenticate: bearer\r\n',
          'www-authenticate: bearer error="invalid_token"\r\n',
          'error="insufficient_scope", scope="exchange:read_aggregated_marketdata_stream"',
          'sec-websocket-version: 13\r\n',
        ]
        for (const [index, field] of fields.entries()) {
          const { head, body } = parts[index]!
          expect(head).toContain(field)
          expect(head).toContain('content-type: application/problem+json')
          expect(head).toContain(`x-request-id: ${body.request_id}`)
          expect(head.split(' ')[1]).toBe(String(body.status))
        }
      })
    })
  })
}
