/** Disturbed delivery of `torture`: what reaches the client's socket, and in which order. */
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import type { WebSocket } from 'ws'
import { ScriptedTransport } from '../../../../src/conformance/stimulus/torture/scripted-transport.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

/** A server's text frame. */
function frameOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])
}

it('slow delivery answers a ping between two writes, before the data that waits', () => {
  const clock = new VirtualClock()
  const sent: Buffer[] = []
  const socket = { write: (bytes: Buffer) => sent.push(bytes), writableLength: 0 } as unknown as Socket
  const webSocket = { readyState: 1, OPEN: 1, pause: () => undefined, resume: () => undefined } as unknown as WebSocket
  const transport = new ScriptedTransport(webSocket, socket, clock, '127.0.0.1', () => undefined)
  transport.deliver('slow')
  const [first, second] = [frameOf('a'.repeat(100)), frameOf('b'.repeat(100))]
  transport.write(first)
  transport.write(second)
  transport.pong(Buffer.from('ping'))
  clock.advance(20)
  expect(Buffer.concat(sent)).toEqual(Buffer.concat([first, Buffer.from([0x8a, 4]), Buffer.from('ping'), second]))
  // Nothing waits now.
  transport.pong(Buffer.alloc(0))
  clock.advance(2)
  expect(sent.at(-1)).toEqual(Buffer.from([0x8a, 0]))
})
