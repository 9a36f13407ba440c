/** Requests of `check-executor` to endpoints that do not answer. */
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { createPaymentSender } from '../../../src/conformance/stimulus/payments.ts'
import { awaited, once } from '../../support/awaited.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

it('a request that is cut in its answer ends, although the endpoint never finishes its headers', async () => {
  const clock = new VirtualClock()
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const header = setInterval(() => socket.write('x: 1\r\n'), 20)
      socket.once('close', () => clearInterval(header))
      // The endpoint has the request: the time limit passes.
      clock.advance(10_000)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const sender = createPaymentSender(url, [`whsec_${Buffer.alloc(32, 9).toString('base64')}`], clock)
  const sent = sender.sendAndCut({ id: 'x', body: '{}' }, 'in the answer')
  // Nothing of a result was received.
  expect((await awaited('the end of the request', sent, 20_000)).kind).toBe('accepted')
  server.close()
})
