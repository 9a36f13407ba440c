/**
 * The fan-out benchmark over TLS (`--tls`): deliveries, latency, handshakes, session resumption and memory, for a C and
 * OpenSSL program that only writes finished frames (the limit), Node's TLS sockets alone, Tidegate over plain TCP,
 * Tidegate over TLS, and nginx before Tidegate. All of them run in every round, one after the other. The frames, connections and load generator are
 * those of the plain benchmark. The load generator decrypts what it reads: its idle time shows that it keeps up.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { TlsFiles } from '../src/platform/http/tls.ts'
import { difference, frameBytes, measure, pause, readerLine, type Terminator } from './fanout-measure.ts'
import {
  type Client,
  type Peer,
  startLimit,
  startNginx,
  startNodeSockets,
  startReader,
  startTidegate,
  type Tools,
} from './fanout-processes.ts'
import { BASE, CONNECTIONS, type Durations, measureIdle, type Runs } from './fanout-scenarios.ts'

/** For the native programs. */
export const LIBRARIES = ['-DTLS', '-lssl', '-lcrypto']
const HANDSHAKES = 500
/** Connections that nginx may have in all: two for each client. */
const NGINX_CONNECTIONS = 16_384

/** A server in front of the load generator. */
interface Contender {
  readonly name: string
  readonly client: Client
  readonly isTidegate: boolean
  readonly start: () => Peer
  readonly proxy?: (port: number) => Promise<Terminator>
}

interface TlsTools {
  readonly files: TlsFiles
  readonly client: Client
  readonly limit: string | undefined
  readonly hasNginx: boolean
}

export async function prepareTls(tools: Tools): Promise<TlsTools> {
  const files = await createCertificate(tools.folder)
  const limit = tools.compile('limit', LIBRARIES)
  const reader = tools.compile('reader', LIBRARIES)
  const hasNginx = spawnSync('nginx', ['-v']).status === 0
  if (limit === undefined) console.error('no C compiler, or no OpenSSL headers: the C and OpenSSL reference is missing')
  if (reader === undefined) console.error('the load generator is Node, so resumed handshakes are left out')
  if (!hasNginx) console.error('nginx is not installed: the measurements behind nginx are left out')
  return { files, client: { reader, isOverTls: true }, limit, hasNginx }
}

/** A self-signed certificate with a P-256 key. */
export async function createCertificate(folder: string): Promise<TlsFiles> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'bench' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
  })
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  writeFileSync(files.certFile, cert)
  writeFileSync(files.keyFile, key, { mode: 0o600 })
  return files
}

function contendersOf(tools: Tools, tls: TlsTools): Contender[] {
  const { files, client, limit, hasNginx } = tls
  const limitArgs = [frameBytes(), BASE.markets, files.certFile, files.keyFile]
  const overTls = { client, isTidegate: true }
  return [
    ...(limit === undefined
      ? []
      : [{ name: 'limit', client, isTidegate: false, start: () => startLimit(limit, limitArgs) }]),
    {
      name: 'node',
      client,
      isTidegate: false,
      start: () => startNodeSockets([String(frameBytes()), JSON.stringify(files)]),
    },
    { name: 'tidegate, plain', client: tools, isTidegate: true, start: () => startTidegate(BASE) },
    { ...overTls, name: 'tidegate', start: () => startTidegate({ ...BASE, tls: files }) },
    ...(hasNginx
      ? [
          {
            ...overTls,
            name: 'nginx and tidegate',
            start: () => startTidegate(BASE),
            proxy: (port: number) => proxyTo(port, tools.folder, files),
          },
        ]
      : []),
  ]
}

/** One round: each scenario with each contender. */
export async function measureTls(runs: Runs, tools: Tools, tls: TlsTools, durations: Durations): Promise<void> {
  const contenders = contendersOf(tools, tls)
  const lines = Array.from({ length: CONNECTIONS }, () => readerLine([0]))
  const deliveries = [
    { name: 'one message per tick', command: 'flat 1', milliseconds: durations.flatMilliseconds },
    { name: 'bursts of 10', command: 'flat 10', milliseconds: durations.flatMilliseconds },
    { name: '100k/s in bursts of 10', command: 'paced 10 100000', milliseconds: durations.pacedMilliseconds },
    { name: '20k/s evenly', command: 'paced 1 50000', milliseconds: durations.pacedMilliseconds },
  ]
  for (const { name, command, milliseconds } of deliveries) {
    const isFlat = command.startsWith('flat')
    console.error(`${new Date().toISOString().slice(11, 19)} ${name}`)
    for (const { name: kind, client, isTidegate, start, proxy } of contenders) {
      // At full speed a proxy's backlog would wait in the kernel, so the server's ticks would not be deliveries.
      if (isFlat && proxy !== undefined) continue
      const reading = await measure(client, durations.warmUpMilliseconds, {
        server: start(),
        ...(proxy === undefined ? {} : { proxy }),
        setup: BASE,
        lines,
        greeting: isTidegate ? 2 : 0,
        command,
        milliseconds,
      })
      if (isFlat) {
        const reference = kind === 'limit' || tls.limit === undefined ? undefined : `${name}: limit`
        runs.add(`${name}: ${kind}`, 'deliveries/CPU s', reading.perCpuSecond, reference)
        // Node's TLS sockets finish every write in the next tick, so their next tick finds them waiting.
        const showsWaits = kind === 'limit' || client.isOverTls !== true
        if (showsWaits) runs.add(`${name}: ${kind}, ticks that found a full socket`, '%', reading.waits * 100)
      } else {
        runs.add(`${name}: ${kind}, p50`, 'ms', reading.latency.p50)
        runs.add(`${name}: ${kind}, p99`, 'ms', reading.latency.p99)
        runs.add(`${name}: ${kind}, CPU`, '% of a core', reading.server * 100)
      }
      runs.add(`${name}: ${kind}, load generator`, '% busy', reading.reader * 100)
    }
  }
  console.error(`${new Date().toISOString().slice(11, 19)} connects`)
  for (const contender of contenders) await measureHandshakes(runs, contender)
}

/** The processor time for connecting: TCP, TLS and the WebSocket handshake, without authentication. */
async function measureHandshakes(runs: Runs, { name, client, start, proxy }: Contender): Promise<void> {
  if (proxy !== undefined) return
  const lines = Array.from({ length: HANDSHAKES }, () => readerLine([]))
  const isOverTls = client.isOverTls === true
  const ways = [
    { way: isOverTls ? 'full handshake' : 'no handshake', resumes: false },
    ...(isOverTls && client.reader !== undefined ? [{ way: 'resumed', resumes: true }] : []),
  ]
  const server = start()
  const port = (await server.answer()).port as number
  const readers = [await startReader(client, port, lines)]
  try {
    for (const { way, resumes } of ways) {
      const before = await server.ask('usage')
      readers.push(await startReader({ ...client, resumes }, port, lines))
      const seconds = difference(before, await server.ask('usage'), 'cpuSeconds')
      runs.add(`connects, ${way}: ${name}`, 'connects/CPU s', HANDSHAKES / seconds)
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.end()))
    await server.end()
  }
}

/** Memory and heartbeats over TLS and plain TCP. */
export async function measureTlsIdle(runs: Runs, tools: Tools, tls: TlsTools, durations: Durations): Promise<void> {
  await measureIdle(runs, tools, durations, BASE, ', plain')
  await measureIdle(runs, tls.client, durations, { ...BASE, tls: tls.files }, ', TLS')
}

/** One nginx process with the settings of deploy/nginx.conf that concern a stream. */
async function proxyTo(port: number, folder: string, { certFile, keyFile }: TlsFiles): Promise<Terminator> {
  const free = await freePort()
  const configFile = join(folder, 'nginx.conf')
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  writeFileSync(
    configFile,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr error; worker_rlimit_nofile 65536;
events { worker_connections ${NGINX_CONNECTIONS}; }
http { access_log off; ${paths.join(' ')}
server { listen 127.0.0.1:${free} ssl backlog=4096;
ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.2 TLSv1.3;
location / { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_buffering off;
proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_read_timeout 1h; } } }
`,
  )
  const peer = startNginx(configFile)
  await isListening(free)
  return { port: free, peer }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function isListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await pause(50)
  }
  throw new Error('nginx does not listen')
}
