import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { preferredCiphers } from '../../../src/platform/http/cipher-preference.ts'
import { replaceCertificate, type TlsContext } from '../../../src/platform/http/node-server.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { newTicketChain, ticketKeysAt, untilNextPeriod } from '../../../src/platform/http/session-tickets.ts'
import { readTlsFiles } from '../../../src/platform/http/tls.ts'
import { awaited, once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const NOW = Date.UTC(2026, 5, 1, 1)
const HOURS = 3_600_000
const files = certificateFiles(await newCertificate('tickets'))
const opened: FastifyInstance[] = []
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close()
})

async function open(tls: TlsContext, clock: Clock): Promise<Server> {
  const app = createHttpServer({
    listener: 'public',
    log: captureLog().log,
    metrics: createMetricsRegistry(),
    headerBytesMax: 16_384,
    requestMilliseconds: 600_000,
    translate: () => undefined,
    tls,
    clock,
  })
  opened.push(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app.server
}

/** Connects, and resolves with the session to resume later and whether this connection resumed one. */
async function connectTo(server: Server, maxVersion: 'TLSv1.2' | 'TLSv1.3', session?: Buffer) {
  const { port } = server.address() as AddressInfo
  const address = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion }
  const socket: TLSSocket = connect({ ...address, ...(session === undefined ? {} : { session }) })
  // A resumed session may bring none: only the others wait for it.
  const ticket = new Promise<Buffer>((resolve) => socket.once('session', resolve))
  await once(socket, 'secureConnect')
  const isResumed = socket.isSessionReused()
  // Over TLS 1.2 a resumed session brings no new ticket.
  const next = isResumed ? session : await awaited('a session ticket', ticket)
  socket.destroy()
  return { session: next as Buffer, isResumed }
}

describe('session tickets', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)('a client resumes its %s session at another process', async (version) => {
    const { context } = readTlsFiles(files, NOW)
    const clock = new VirtualClock(NOW)
    const first = await open(context, clock)
    const second = await open(structuredClone(context), clock)
    const { session, isResumed } = await connectTo(first, version)
    expect(isResumed).toBe(false)
    expect((await connectTo(second, version, session)).isResumed).toBe(true)
  })

  it('a ticket is no longer accepted after six hours, by a process that was started later either', async () => {
    const { context } = readTlsFiles(files, NOW)
    const atStart = structuredClone(context)
    const clock = new VirtualClock(NOW)
    const server = await open(context, clock)
    const { session } = await connectTo(server, 'TLSv1.3')
    clock.advance(6 * HOURS)
    const later = await connectTo(server, 'TLSv1.3', session)
    expect(later.isResumed).toBe(false)
    const started = await open(atStart, clock)
    expect((await connectTo(started, 'TLSv1.3', session)).isResumed).toBe(false)
    expect((await connectTo(started, 'TLSv1.3', later.session)).isResumed).toBe(true)
  })

  it('a replaced certificate ends the sessions of the former one', async () => {
    const server = await open(readTlsFiles(files, NOW).context, new VirtualClock(NOW))
    const { session } = await connectTo(server, 'TLSv1.3')
    replaceCertificate(server, readTlsFiles(files, NOW).context)
    const after = await connectTo(server, 'TLSv1.3', session)
    expect(after.isResumed).toBe(false)
    expect((await connectTo(server, 'TLSv1.3', after.session)).isResumed).toBe(true)
  })

  it('the keys differ by chain and by period, and stay when the clock steps back', () => {
    const chain = newTicketChain(NOW)
    const copy = structuredClone(chain)
    const keys = ticketKeysAt(chain, NOW)
    expect(keys).toHaveLength(48)
    expect(ticketKeysAt(newTicketChain(NOW), NOW)).not.toEqual(keys)
    const next = ticketKeysAt(chain, NOW + untilNextPeriod(NOW))
    expect(next).not.toEqual(keys)
    expect(ticketKeysAt(chain, NOW)).toEqual(next)
    expect(ticketKeysAt(chain, NOW + 48 * HOURS)).toEqual(ticketKeysAt(copy, NOW + 48 * HOURS))
    expect(untilNextPeriod(NOW)).toBe(5 * HOURS)
  })
})

describe('cipher preference', () => {
  it.each([
    ['x86 with AES', 'processor\t: 0\nflags\t\t: fpu sse2 aes avx\n'],
    ['ARM with AES', 'Features\t: fp asimd aes pmull\n'],
    ['unknown', ''],
  ])('Node orders the ciphers of a processor: %s', (_name, cpuInfo) => {
    expect(preferredCiphers(cpuInfo)).toBeUndefined()
  })

  it.each(['flags\t\t: fpu sse2\n', 'Features\t: fp asimd crc32\n'])(
    'ChaCha20 comes first on a processor without AES: %s',
    (cpuInfo) => {
      const ciphers = preferredCiphers(cpuInfo)?.split(':')
      expect(ciphers?.[0]).toBe('TLS_CHACHA20_POLY1305_SHA256')
      expect(ciphers).toContain('TLS_AES_256_GCM_SHA384')
    },
  )
})
