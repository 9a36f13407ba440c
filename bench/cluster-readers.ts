/**
 * Readers for `bench/cluster`: a process that opens connections to a service, subscribes each to all channels of its
 * markets, and reads without decoding, so that it takes little time from the measured cores. Arguments: port, token,
 * number of connections, markets separated by commas. Prints `ready` when all have subscribed.
 */
import { randomBytes } from 'node:crypto'
import { createConnection } from 'node:net'

const [port = '', token = '', count = '', markets = ''] = process.argv.slice(2)

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data']
const request = JSON.stringify({
  type: 'subscribe',
  channels: markets.split(',').flatMap((market) => TYPES.map((type) => ({ type, params: { market } }))),
})

/** A client's frame: masked, with a 16-bit length (RFC 6455, section 5.2). */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text)
  const mask = randomBytes(4)
  const head = Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff, ...mask])
  for (let index = 0; index < payload.length; index++) payload[index] = payload[index]! ^ mask[index % 4]!
  return Buffer.concat([head, payload])
}

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), '127.0.0.1')
    socket.on('error', reject)
    socket.once('data', (data) => {
      const status = data.toString('latin1', 0, 12)
      if (status !== 'HTTP/1.1 101') reject(new Error(data.toString()))
      socket.write(frameOf(request))
      socket.once('data', () => resolve())
      socket.on('data', () => undefined)
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

for (let opened = 0; opened < Number(count); opened++) await open()
process.stdout.write('ready\n')
