/** The public listener over TLS, on real sockets: versions, refusals, and the reload of a certificate. */

import { connect } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { readTlsFiles } from '../../../src/platform/http/tls.ts'
import type { PublicListener } from '../../../src/service/listeners/public-listener.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'
import { openPublicListener } from '../../support/public-listener.ts'
import { openSocket, readToEnd, sendRaw, splitAnswers } from '../../support/raw-http.ts'

const first = await newCertificate('first')
const second = await newCertificate('second')
const files = certificateFiles(first)
const { log, lines } = captureLog()
let listener: PublicListener

beforeAll(async () => {
  listener = await openPublicListener({ tls: files, log })
})
afterAll(() => listener.close())
beforeEach(() => {
  lines.length = 0
})

const GET = 'GET /nothing HTTP/1.1\r\nHost: x\r\n'
const CLOSE = 'Connection: close\r\n\r\n'

function port(): number {
  return Number(new URL(listener.url).port)
}

async function handshake(options: object = {}): Promise<TLSSocket> {
  const socket = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

async function commonName(): Promise<string> {
  const socket = await handshake()
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

describe('TLS', () => {
  it('a TLS listener has an https address, and sends Strict-Transport-Security, also where no route answers', async () => {
    expect(listener.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    for (const request of [GET + CLOSE, 'nonsense\r\n\r\n']) {
      const [answer] = await sendRaw(listener.url, request)
      expect([answer?.status, answer?.headers['strict-transport-security']]).toEqual([
        request.startsWith('GET') ? 404 : 400,
        'max-age=31536000',
      ])
    }
  })

  it('a TLS listener is limited to versions 1.2 and 1.3, with HTTP/1.1', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake({ minVersion: version, maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] })
      expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, 'http/1.1'])
      socket.destroy()
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
    await expect(handshake(old)).rejects.toThrow(/protocol version|unsupported protocol/i)
  })

  it('a TLS listener accepts upgrades', async () => {
    const socket = openSocket(listener.url)
    const text = readToEnd(socket)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    expect(await text).toBe('HTTP/1.1 101 x\r\n\r\n')
  })

  it('a TLS listener closes connections that send plain HTTP or noise, and continues to serve', async () => {
    for (const bytes of [GET + CLOSE, 'x'.repeat(10_000), '\x16\x03\x01\xff\xff\x01']) {
      const socket = connect(port(), '127.0.0.1')
      socket.on('error', () => undefined)
      const text = readToEnd(socket)
      socket.end(Buffer.from(bytes, 'latin1'))
      expect(await text).not.toContain('HTTP/1.1')
    }
    expect((await sendRaw(listener.url, GET + CLOSE)).map(({ status }) => status)).toEqual([404])
    const failed = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'TLS handshake failed')
    expect(failed.length).toBeGreaterThanOrEqual(2)
    expect(new Set(failed.map(({ level }) => level))).toEqual(new Set([20]))
  })
})

describe('a new certificate', () => {
  it('a new certificate is used for new connections; existing connections keep the old one', async () => {
    const old = await handshake()
    expect(await commonName()).toBe('first')
    files.write(second)
    listener.reloadTls()
    expect(await commonName()).toBe('second')
    expect(lines.some((line) => line.includes('certificate of the public listener reloaded'))).toBe(true)
    const text = readToEnd(old)
    old.write(GET + CLOSE)
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([404])
  })

  it('a new certificate that is unusable changes nothing and is reported with its setting', async () => {
    files.write({ key: first.key })
    listener.reloadTls()
    const line = lines.find((each) => each.includes('the certificate stays as it was'))
    expect(JSON.parse(line as string)).toMatchObject({ level: 50, key: 'http.tls.key_file' })
    expect(line).toContain('is not the key for the certificate in')
    expect(line).not.toContain('BEGIN')
    expect(await commonName()).toBe('second')
    files.write({ cert: 'gone', key: second.key })
    listener.reloadTls()
    expect(lines.some((each) => each.includes('"http.tls.cert_file"'))).toBe(true)
    expect(await commonName()).toBe('second')
  })

  it('an unusable certificate at the start fails it, with the key of the setting', async () => {
    const broken = { ...files, keyFile: `${files.keyFile}.missing` }
    await expect(openPublicListener({ tls: broken })).rejects.toThrow(
      `http.tls.key_file names ${broken.keyFile}: cannot be read (ENOENT)`,
    )
  })

  it('a new certificate is ignored by a listener without TLS', async () => {
    const plain = await openPublicListener()
    plain.reloadTls()
    expect(plain.url).toMatch(/^http:/)
    await plain.close()
  })
})

describe('a slow TLS connection', () => {
  /** A TLS server that allows each request this time, and a handshake a fifth of it. */
  async function open(requestMilliseconds: number, connectionsMax?: number) {
    files.write(first)
    const app = createHttpServer({
      listener: 'public',
      log,
      metrics: createMetricsRegistry(),
      headerBytesMax: 16_384,
      requestMilliseconds,
      translate: () => undefined,
      tls: readTlsFiles(files, Date.now()).context,
      ...(connectionsMax === undefined ? {} : { connectionsMax }),
    })
    return { app, url: (await listenOnFreePort(app)).replace('http:', 'https:') }
  }

  it('a slow TLS connection is closed when its handshake does not complete', async () => {
    const { app, url } = await open(500)
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    silent.on('error', () => undefined)
    expect(await readToEnd(silent)).toBe('')
    await app.close()
  })

  it('a slow TLS connection is closed when it sends no request', async () => {
    const { app, url } = await open(60_000)
    const { server } = app
    expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 60_000])
    // Lowered here only: the limit of a handshake stays long, because real work is done in it.
    Object.assign(server, { headersTimeout: 100, requestTimeout: 100 })
    expect((await sendRaw(url)).map(({ status }) => status)).toEqual([408])
    await app.close()
  })

  it('a slow TLS connection counts towards the limit of connections, and the one idle longest is closed', async () => {
    const { app, url } = await open(60_000, 2)
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    silent.on('error', () => undefined)
    const cut = readToEnd(silent)
    await once(silent, 'connect')
    const others = []
    for (let count = 0; count < 2; count++) {
      const socket = openSocket(url)
      socket.write(`${GET}\r\n`)
      await once(socket, 'data')
      others.push(socket)
    }
    expect(await cut).toBe('')
    // Closed connections free their slots: no existing connection is closed for a new one.
    for (const socket of others) {
      socket.destroy()
      await once(socket, 'close')
    }
    for (let count = 0; count < 20; count++) expect(await sendRaw(url, GET + CLOSE)).toHaveLength(1)
    app.server.closeAllConnections()
    await app.close()
  })
})
