/**
 * Node's sockets alone in the fan-out benchmark: writes the same finished frame to every connection, over TCP or TLS. No
 * server in Node without native code can be faster than this.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { TlsFiles } from '../src/platform/http/tls.ts'
import { answerCommands, Sockets, tickCommands, writeAnswer } from './fanout-driver.ts'
import { stamp } from './fanout-feed.ts'

const ANSWER =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'

function main(frameBytes: number, tls: TlsFiles | undefined): void {
  const sockets = new Sockets()
  const server =
    tls === undefined
      ? createServer()
      : createTlsServer({ cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) })
  server.on('upgrade', (_request, duplex) => {
    const socket = duplex as Socket
    socket.on('error', () => process.exit(0))
    socket.setNoDelay(true)
    socket.resume().write(ANSWER)
    sockets.all.push(socket)
  })
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
    writeAnswer({ port: (server.address() as AddressInfo).port }),
  )
  const publish = (count: number, eventMicroseconds: number) => {
    const amount = String(stamp(eventMicroseconds)).replace(/(\d{8})$/, '.$1')
    const text = `{"payload":{"bids":[{"price":"97000.00","amount":"${amount}"}]}}`.padEnd(frameBytes - 4)
    const length = String.fromCharCode((frameBytes - 4) >> 8, (frameBytes - 4) & 0xff)
    const frame = Buffer.from(`\x81\x7e${length}${text}`, 'latin1')
    const frames = Buffer.concat(Array.from({ length: count }, () => frame))
    for (const socket of sockets.all) socket.write(frames)
  }
  answerCommands(tickCommands(publish, () => sockets.areDrained()))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , frameBytes, tls] = process.argv
  main(Number(frameBytes), tls === undefined ? undefined : (JSON.parse(tls) as TlsFiles))
}
