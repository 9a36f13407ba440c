import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { examinePublicPort } from '../../src/cli/doctor/doctor-ports.ts'
import { loadConfig } from '../../src/service/config/load.ts'

const server = createServer()
const sockets = new Set<Socket>()

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

it('the check of a port ends at a program that sends its answer byte by byte', async () => {
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const drip = setInterval(() => socket.write('.'), 100)
    socket.on('close', () => clearInterval(drip))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const flags = { 'http.port': String(port), 'http.host': '127.0.0.1' }
  const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!loaded.ok) throw new Error('the configuration is not valid')
  expect(await examinePublicPort(loaded.config)).toMatchObject({
    verdict: 'bad',
    detail: `http://127.0.0.1:${port} does not answer (no whole answer in time)`,
  })
})
