/** A WebSocket connection without a library, whose frames are not decoded: it takes little time from the measured cores. */
import { randomBytes } from 'node:crypto'
import { createConnection, type Socket } from 'node:net'

/** Resolves after the handshake. Data is discarded where nothing listens to it. */
export function openStream(port: number, token: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.on('error', reject)
    socket.once('data', (data) => {
      if (data.toString('latin1', 9, 12) === '101') resolve(socket.resume())
      else reject(new Error(data.toString()))
    })
    const head = [
      'GET / HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
      `Authorization: Bearer ${token}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
  })
}
