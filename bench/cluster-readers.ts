/**
 * Readers for `bench/cluster`: a process that opens connections to a service, subscribes each to all channels of its
 * markets, and reads without decoding, so that it takes little time from the measured cores. Arguments: port, token,
 * number of connections, markets separated by commas. Prints `ready` when all have subscribed.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openStream } from './open-stream.ts'

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

async function open(): Promise<void> {
  const socket = await openStream(Number(port), token)
  socket.write(frameOf(request))
  await once(socket, 'data')
  socket.on('data', () => undefined)
}

for (let opened = 0; opened < Number(count); opened++) await open()
process.stdout.write('ready\n')
