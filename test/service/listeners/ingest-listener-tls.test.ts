/**
 * The ingest listener over TLS, on real sockets: publishers need a certificate of the configured authority besides their
 * token, and certificate and authorities are replaced without closing a connection.
 */

import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { TokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { PUBLISH_SCOPE } from '../../../src/contract/scopes.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import {
  createIngest,
  type IngestListener,
  startIngestListener,
} from '../../../src/service/parts/streaming/start-ingest.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newAuthority, newCertificate, newClientCertificate } from '../../support/certificates.ts'
import { PublisherClient } from '../../support/publisher-client.ts'
import { PublishingEngine } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'
import { readToEnd } from '../../support/raw-http.ts'

const [server, nextServer] = [await newCertificate('first'), await newCertificate('second')]
const [authority, otherAuthority] = [await newAuthority('authority'), await newAuthority('other authority')]
const engine = await newClientCertificate('engine', authority)
const stranger = await newClientCertificate('engine', otherAuthority)
const expired = await newClientCertificate('engine', authority, { from: new Date(2020, 1), to: new Date(2021, 1) })
const selfSigned = await newCertificate('engine')
const files = certificateFiles(server)
const authorities = certificateFiles({ cert: authority.cert, key: '' })
const trusted = `${server.cert}\n${nextServer.cert}`
const { log, lines } = captureLog()
const lifecycle = new Lifecycle(log)
let listener: IngestListener

beforeAll(async () => {
  const flags = {
    'ingest.port': '0',
    'ingest.tls.cert_file': files.certFile,
    'ingest.tls.key_file': files.keyFile,
    'ingest.tls.client_ca_file': authorities.certFile,
  }
  const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const { config } = loaded
  const directory = directoryOfEngine()
  const clock = createSystemClock()
  const parts = { config, current: { config }, directory, verifier, clock, log, metrics: createMetricsRegistry() }
  const ingest = createIngest(parts)
  listener = (await startIngestListener({ ...parts, ingest, lifecycle })) as IngestListener
  ingest?.open()
})
afterAll(() => lifecycle.stop())
beforeEach(() => {
  lines.length = 0
})

const verifier: TokenVerifier = {
  verify: async () => ({
    ok: true,
    token: {
      clientId: 'engine',
      customerId: 'exchange',
      tokenId: 'token',
      keyId: 'key',
      scopes: new Set([PUBLISH_SCOPE]),
      issuedAtSeconds: 0,
      expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
    },
  }),
}

function directoryOfEngine(): Directory {
  const directory = new Directory()
  const common = { customerId: 'exchange', enabled: true }
  directory.replace({
    customers: [{ id: 'exchange', name: 'exchange', enabled: true, streaming: false }],
    clients: [{ ...common, clientId: 'engine', name: 'engine', scopes: new Set([PUBLISH_SCOPE]) }],
  })
  return directory
}

async function publish(certificate: { readonly cert: string; readonly key: string } | undefined, token = 'token') {
  return PublisherClient.connect({ url: listener.url, token, ca: trusted, ...certificate })
}

async function handshake(options: object = {}): Promise<TLSSocket> {
  const port = Number(new URL(listener.url).port)
  const socket = connectTls({ port, host: '127.0.0.1', ca: trusted, ...engine, ...options })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

async function commonName(): Promise<string> {
  const socket = await handshake()
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

/** What the server answers to a request without a token: 401, or nothing when the handshake fails. */
async function answerTo(options: object): Promise<string> {
  const socket = await handshake(options)
  const text = readToEnd(socket)
  socket.write(GET)
  return (await text).split('\r\n', 1)[0] as string
}

describe('a client certificate', () => {
  it('a client certificate of the authority is accepted, with a token', async () => {
    expect(listener.url).toMatch(/^https:/)
    const publisher = await publish(engine)
    expect(await publisher.until(({ type }) => type === 'accepted')).toEqual({ type: 'accepted', markets: [] })
    await publisher.close()
    expect(await answerTo({})).toBe('HTTP/1.1 401 Unauthorized')
  })

  it.each([
    ['none', undefined],
    ['one of another authority', stranger],
    ['a self-signed one', selfSigned],
    ['an expired one', expired],
  ])('a client certificate is needed: %s is refused, before the token is read', async (_, certificate) => {
    await expect(publish(certificate)).rejects.toMatchObject({
      code: expect.stringMatching(/^(ERR_SSL|ECONNRESET|EPIPE)/),
    })
    const offered = certificate ?? { cert: undefined, key: undefined }
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const answer = await answerTo({ ...offered, maxVersion }).catch((error: NodeJS.ErrnoException) => error.code)
      expect(answer).toMatch(/^(|ERR_SSL.*|ECONNRESET)$/)
    }
    expect(lines.filter((line) => line.includes('a publisher connected'))).toEqual([])
  })
})

it('the ingest listener answers pings while earlier messages are not written yet', async () => {
  const publisher = await publish(engine)
  const unknown = new PublishingEngine({
    symbol: 'BTCUSD',
    random: new Random(1),
    publishesOrders: false,
    keptMax: 10,
  }).snapshot()
  for (let count = 0; count < 50; count++) {
    publisher.send(unknown)
    await publisher.untilRead()
  }
  expect(publisher.received.filter(({ type }) => type === 'rejected')).not.toHaveLength(0)
  await publisher.close()
})

describe('a reload', () => {
  it('a reload replaces the certificate for new connections; a publisher that is connected stays', async () => {
    const publisher = await publish(engine)
    expect(await commonName()).toBe('first')
    files.write(nextServer)
    listener.reloadTls()
    expect(await commonName()).toBe('second')
    await publisher.untilRead()
    expect(publisher.closed).toBeUndefined()
    await publisher.close()
  })

  it('a reload replaces the authorities, also for clients that resume a TLS session', async () => {
    const socket = await handshake({ maxVersion: 'TLSv1.2' })
    const session = socket.getSession()
    socket.destroy()
    const resuming = await handshake({ session, maxVersion: 'TLSv1.2' })
    expect(resuming.isSessionReused()).toBe(true)
    resuming.destroy()
    authorities.write({ cert: otherAuthority.cert })
    listener.reloadTls()
    await expect(publish(engine)).rejects.toThrow()
    const resumed = answerTo({ session, maxVersion: 'TLSv1.2' }).catch(() => '')
    expect(await resumed).toBe('')
    const publisher = await publish(stranger)
    await publisher.close()
  })

  it('a reload with an unusable file changes nothing, and logs its setting', async () => {
    authorities.write({ cert: 'nonsense' })
    listener.reloadTls()
    const line = lines.find((each) => each.includes('the certificate stays as it was'))
    expect(JSON.parse(line as string)).toMatchObject({ level: 50, key: 'ingest.tls.client_ca_file' })
    const publisher = await publish(stranger)
    await publisher.close()
    await expect(publish(engine)).rejects.toThrow()
  })
})
