/** The listener of `torture`, whatever its clients do. */
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { ScriptedMarkets } from '../../../../src/conformance/stimulus/torture/scripted-markets.ts'
import { TortureService } from '../../../../src/conformance/stimulus/torture/service.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { awaited, once } from '../../../support/awaited.ts'

it('torture stops although a client keeps the socket of a refused handshake open', async () => {
  const clock = createSystemClock()
  const service = new TortureService(new ScriptedMarkets(['BTCUSD'], clock), clock, () => undefined)
  await service.listen(0)
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  const headers = ['Host: torture', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`
  socket.write(['GET / HTTP/1.1', ...headers, key, '', ''].join('\r\n'))
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 401')
  await awaited('the end of the service', service.stop(), 5_000)
  socket.destroy()
})
