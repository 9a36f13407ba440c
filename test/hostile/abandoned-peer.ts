/** A process that only opens the stream, to be killed or stopped from outside. */
import { connect } from 'node:net'

process.once('message', (settings) => {
  const { host, port, head } = JSON.parse(String(settings)) as { host: string; port: number; head: string }
  const socket = connect({ host, port }, () => socket.write(head))
  socket.once('data', () => process.send?.('open'))
})
process.send?.('ready')
