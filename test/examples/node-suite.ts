/** The examples for Node and for wscat. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CURL, PYTHON, startExample, titleWith } from '../support/foreign-programs.ts'
import { type ExampleTargets, transportsOf } from './services.ts'
import { firstLines, flawsOf } from './stream-lines.ts'

const FOLDER = join(import.meta.dirname, '../../examples')
/** Node has a built-in WebSocket since 22; Node 20 has it behind a flag. */
export const BUILTIN_FLAGS = typeof WebSocket === 'undefined' ? ['--experimental-websocket', '--no-warnings'] : []

export function nodeSuite(targets: () => ExampleTargets): void {
  describe.each(transportsOf('TLS'))('Node over %s', (transport) => {
    const target = () => targets().of(transport)
    const node = (...args: string[]) =>
      startExample(process.execPath, [...args, 'BTCUSD', target().credentialsPath], target().environment)

    it('the Node example keeps a book with the client', async () => {
      const stream = node(join(FOLDER, 'node/stream.mjs'))
      expect(flawsOf(await firstLines(stream, 20))).toEqual([])
      expect(stream.stderr()).toBe('')
      stream.child.kill()
      await stream.result
    })

    it('the Node example prints tops and trades with its built-in WebSocket', async () => {
      const stream = node(...BUILTIN_FLAGS, join(FOLDER, 'node/stream-builtin.mjs'))
      expect(await stream.line((line) => line.startsWith('open'))).toBe('open, tidegate.default')
      expect(await stream.line((line) => line.includes(' top '))).toMatch(
        /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z BTCUSD top \d+\.\d{2} x \d+\.\d{8} \d+\.\d{2} x \d+\.\d{8}$/,
      )
      expect(await stream.line((line) => line.includes(' trade '))).toMatch(
        /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z BTCUSD trade \d+\.\d{2} x \d+\.\d{8}$/,
      )
      expect(stream.stderr()).toBe('')
      stream.child.kill()
      await stream.result
    })
  })

  describe.skipIf(CURL.isSkipped)(titleWith('wscat', CURL, 'curl for its token'), () => {
    describe.each(transportsOf('TLS'))('over %s', (transport) => {
      it.each(['header', 'subprotocol'])(
        'the Node example prints the stream, with the token as a %s',
        async (tokenAs) => {
          const { credentialsPath, environment } = targets().of(transport)
          const wscat = startExample('sh', [join(FOLDER, 'wscat/stream.sh'), 'BTCUSD', credentialsPath], {
            ...environment,
            TOKEN_AS: tokenAs,
            SECONDS_LONG: '-1',
          })
          const [reply = '', ...messages] = await firstLines(wscat, 6)
          const entry = { type: 'market_data', params: { market: 'BTCUSD' }, success: true }
          expect(JSON.parse(reply)).toEqual({
            type: 'subscribe',
            channels: [entry, { type: 'heartbeat', success: true }],
          })
          const data = messages.map((line) => JSON.parse(line)).filter(({ channel }) => channel === 'market_data')
          expect(data.map(({ payload }) => payload.type)).toEqual(['SNAPSHOT', ...data.slice(1).map(() => 'UPDATE')])
          wscat.child.kill()
          await wscat.result
        },
      )
    })
  })

  it.skipIf(PYTHON.isSkipped)('Node and Python see the same book at the same time', async () => {
    const { credentialsPath, environment } = targets().of('TCP')
    const args = ['BTCUSD', credentialsPath]
    const node = startExample(process.execPath, [join(FOLDER, 'node/stream.mjs'), ...args], environment)
    const python = startExample(PYTHON.file, [join(FOLDER, 'python/stream.py'), ...args], environment)
    await Promise.all([firstLines(node, 1), firstLines(python, 1)])
    const timesOf = (text: string) => new Map(text.split('\n').map((line) => [line.slice(0, 24), line]))
    const shared = () => {
      const [left, right] = [timesOf(node.stdout()), timesOf(python.stdout())]
      // The last line may be incomplete.
      return [...left].slice(0, -1).flatMap(([time, line]) => (right.has(time) ? [[line, right.get(time)]] : []))
    }
    await python.line(() => shared().length > 10)
    const pairs = shared().slice(0, 10)
    expect(pairs.filter(([left, right]) => left !== right)).toEqual([])
    for (const { child } of [node, python]) child.kill('SIGINT')
    await Promise.all([node.result, python.result])
  })
}
