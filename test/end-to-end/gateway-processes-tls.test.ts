/**
 * The built service with two gateway processes and TLS: each process ends TLS with the certificate that the main process
 * has read, also after a reload, and accepts the session tickets of the other.
 */
import { request } from 'node:https'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { once } from '../support/awaited.ts'
import { type CertificateFiles, certificateFiles, newCertificate } from '../support/certificates.ts'
import {
  ensureBuilt,
  type ServiceProcess,
  STREAM_SCOPE,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'

const CONNECTIONS = 24
const isSkipped = !canSharePorts()
const folder = temporaryFolder()
let files: CertificateFiles
let service: ServiceProcess

beforeAll(async () => {
  if (isSkipped) return
  ensureBuilt()
  files = certificateFiles(await newCertificate('first'))
  service = await startServiceProcess('demo', folder.path, {
    'http.port': 0,
    'operator.port': 0,
    'gateway.processes': 2,
    'stream.port': 0,
    'stream.drain_seconds': 0,
    'http.tls.cert_file': files.certFile,
    'http.tls.key_file': files.keyFile,
  })
})

afterAll(async () => {
  await service?.stop()
  folder.remove()
})

async function handshake(session?: Buffer): Promise<TLSSocket> {
  const port = Number(new URL(service.ws).port)
  const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ...(session === undefined ? {} : { session }) }
  const socket = connectTls(options)
  await once(socket, 'secureConnect')
  return socket
}

/** The names of the certificates shown to 24 connections, of which each process has some. */
async function commonNames(): Promise<readonly string[]> {
  const names = new Set<string>()
  for (let number = 0; number < CONNECTIONS; number++) {
    const socket = await handshake()
    names.add(String(socket.getPeerCertificate().subject.CN))
    socket.destroy()
  }
  return [...names].toSorted()
}

async function token(): Promise<string> {
  const { clientId, clientSecret } = await service.operator.createClient()
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: STREAM_SCOPE,
  }
  const call = request(`${service.http}/oauth2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    rejectUnauthorized: false,
  })
  call.end(new URLSearchParams(form).toString())
  const [response] = await once(call, 'response')
  let text = ''
  for await (const part of response) text += part
  return (JSON.parse(text) as { access_token: string }).access_token
}

describe.skipIf(isSkipped)(`gateway processes with TLS${isSkipped ? ' (needs Node.js 22.12)' : ''}`, () => {
  test('gateway processes with TLS stream exact books', async () => {
    expect(service.ws).toMatch(/^wss:/)
    await expect.poll(() => service.operator.metric('tidegate_gateway_processes_ready')).toBe(2)
    const bearer = await token()
    const ca = (await handshake()).getPeerX509Certificate()?.toString() as string
    const readers = await Promise.all(
      Array.from({ length: 8 }, () => SampleClient.connect({ wsUrl: service.ws, token: bearer, ca })),
    )
    for (const reader of readers) await reader.subscribeAll('BTCUSD')
    await Promise.all(readers.map((reader) => reader.until('updates', () => reader.counts.updates > 5)))
    expect(readers.flatMap(({ problems }) => problems)).toEqual([])
    for (const reader of readers) reader.terminate()
  })

  test('gateway processes with TLS accept the session tickets of each other', async () => {
    const first = await handshake()
    const [session] = (await once(first, 'session')) as [Buffer]
    first.destroy()
    const isReused = []
    for (let number = 0; number < CONNECTIONS; number++) {
      const socket = await handshake(session)
      isReused.push(socket.isSessionReused())
      socket.destroy()
    }
    expect(new Set(isReused)).toEqual(new Set([true]))
  })

  test('gateway processes with TLS show a reloaded certificate to new connections, and close none', async () => {
    expect(await commonNames()).toEqual(['first'])
    const open = await handshake()
    files.write(await newCertificate('second'))
    service.command.child.kill('SIGHUP')
    await service.command.errorLine((line) => line.includes('"event":"configuration reloaded"'))
    await expect.poll(commonNames).toEqual(['second'])
    expect(open.destroyed).toBe(false)
    open.destroy()
    // A process that is started later has it too.
    const [pid] = service.command
      .stderr()
      .split('\n')
      .filter((line) => line.includes('gateway process ready'))
      .map((line) => (JSON.parse(line) as { pid: number }).pid) as [number]
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => service.operator.metric('tidegate_gateway_process_ends_total')).toBe(1)
    await expect.poll(() => service.operator.metric('tidegate_gateway_processes_ready'), { timeout: 20_000 }).toBe(2)
    expect(await commonNames()).toEqual(['second'])
  })
})
