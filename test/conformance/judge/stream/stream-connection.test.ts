/** The connection of `tidegate verify` to a token endpoint that is silent, before or within its answer. */

import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { StreamConnection } from '../../../../src/conformance/judge/stream/stream-connection.ts'
import { once } from '../../../support/awaited.ts'
import { collectGarbage } from '../../../support/garbage.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

test.each([
  ['nothing', ''],
  ['half an answer', 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"access_to'],
])('verify gives up a token endpoint that sends %s for 10 s', async (_title, text) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const asked = new Promise<void>((resolve) => {
    server.on('connection', (socket) =>
      socket.on('error', () => undefined).once('data', () => socket.write(text, () => resolve())),
    )
  })
  const clock = new VirtualClock()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connection = new StreamConnection({
    credentials: {
      auth_url: address,
      ws_url: address,
      client_id: 'client',
      client_secret: 'secret',
    },
    request: {},
    clock,
    random: () => 0.5,
    onOpen: () => undefined,
    onMessage: () => undefined,
    onDown: () => undefined,
  })
  const running = connection.run()
  await asked
  collectGarbage()
  clock.advance(10_000)
  await expect(running).rejects.toThrow(`cannot reach ${address}/oauth2/token: no answer within 10 s`)
})
