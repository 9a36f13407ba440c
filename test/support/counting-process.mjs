/**
 * A client program that is killed: one connection per token of TIDEGATE_COUNTED ({url, tokens, subscribe, file}). Each has
 * its messages and bytes so far as two integers of 8 bytes in the file, written as they are received.
 */
import { openSync, writeSync } from 'node:fs'
import { WebSocket } from 'ws'

const { url, tokens, subscribe, file } = JSON.parse(process.env.TIDEGATE_COUNTED)
const opened = openSync(file, 'w')
for (const [place, token] of tokens.entries()) {
  const record = new BigUint64Array(2)
  const count = (payloadBytes) => {
    record[0] += 1n
    record[1] += BigInt(payloadBytes + (payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10))
    writeSync(opened, record, 0, 16, place * 16)
  }
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, place % 2 === 0 ? ['tidegate.v1'] : [], { headers, perMessageDeflate: false })
  socket.on('message', (data) => count(data.length))
  socket.on('ping', (data) => count(data.length))
  socket.on('open', () => socket.send(subscribe))
}
