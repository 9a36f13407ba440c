/**
 * KB that the kernel has accepted and the client has not read, 2 s after the client stops reading. The argument `never`: the
 * client reads nothing. Otherwise it reads 20 MB first. Run it in a network namespace, as docs/measurements/fanout.md shows.
 */
import { connect, createServer } from 'node:net'

const NEVER = process.argv[2] === 'never'
const READ_BYTES = 20e6
const CHUNK = Buffer.alloc(4_400, 1)
const WRITES_PER_FILL = 2_000

let read = 0
let socket

function report() {
  setTimeout(() => {
    console.log(Math.round((socket.bytesWritten - socket.writableLength - read) / 1024), 'KB')
    process.exit()
  }, 2_000)
}

const server = createServer((accepted) => {
  socket = accepted
  const fill = () => {
    for (let count = 0; count < WRITES_PER_FILL && accepted.write(CHUNK); count++);
  }
  accepted.on('drain', fill)
  fill()
})

server.listen(0, '127.0.0.1', () => {
  const client = connect(server.address().port, '127.0.0.1')
  if (NEVER) {
    client.pause()
    report()
    return
  }
  client.on('data', ({ length }) => {
    read += length
    if (read <= READ_BYTES || client.isPaused()) return
    client.pause()
    report()
  })
})
