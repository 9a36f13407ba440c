/** The operator listener over TLS, on real sockets: the cookie of a session, and a certificate that is replaced at run time. */
import { request } from 'node:https'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { createOperatorListener, type OperatorListener } from '../../../src/service/listeners/operator-listener.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'
import { operatorAccess } from '../../support/operator-access.ts'

const [first, second] = [await newCertificate('first'), await newCertificate('second')]
const files = certificateFiles(first)
const { log, lines } = captureLog()
const clock = createSystemClock()
// No call of this test reaches the store.
const db = {} as Db
let listener: OperatorListener

const start = (tls: { certFile: string; keyFile: string }) =>
  createOperatorListener({
    ...operatorAccess(db, clock),
    host: '127.0.0.1',
    port: 0,
    tls,
    token: 'the-token-of-the-operator',
    allowedHosts: () => [],
    onGuess: () => undefined,
    log,
    metrics: createMetricsRegistry(),
    clock,
    readiness: () => ({ ready: true, checks: [] }),
    modules: [],
  })

beforeAll(async () => {
  listener = await start(files)
})
afterAll(() => listener?.close())
beforeEach(() => {
  lines.length = 0
})

async function ask(path: string, ca: string, headers: object = {}) {
  const { port } = new URL(listener.url)
  return await new Promise<{ status: number | undefined; headers: object }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, ca, agent: false, checkServerIdentity: () => undefined }
    const sent = request({ ...options, headers: { host: `localhost:${port}`, ...headers } }, (answer) => {
      answer.resume().on('end', () => resolve({ status: answer.statusCode, headers: answer.headers }))
    })
    sent.on('error', reject).end()
  })
}

describe('the operator listener over TLS', () => {
  it('the operator listener over TLS is at an https address, and tells browsers to stay there', async () => {
    expect(listener.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const { status, headers } = await ask('/livez', first.cert)
    expect(status).toBe(200)
    expect(headers).toMatchObject({ 'strict-transport-security': 'max-age=31536000' })
  })

  it('the operator listener over TLS reads sessions only from the cookie of encrypted connections', async () => {
    const unencrypted = await ask('/admin/v1/session', first.cert, { cookie: 'tidegate-operator=tgs_x' })
    expect(unencrypted.status).toBe(401)
    expect(unencrypted.headers).toMatchObject({ 'www-authenticate': 'Bearer' })
  })

  it('the operator listener over TLS replaces the certificate on request, unless the files are not usable', async () => {
    files.write(second)
    listener.reloadTls()
    expect((await ask('/livez', second.cert)).status).toBe(200)
    await expect(ask('/livez', first.cert)).rejects.toThrow()
    files.write({ cert: 'none', key: second.key })
    listener.reloadTls()
    expect(lines.join('')).toContain('operator.tls.cert_file')
    expect((await ask('/livez', second.cert)).status).toBe(200)
  })

  it('the operator listener over TLS names the setting of a file that cannot be used', async () => {
    await expect(start({ certFile: '/nowhere/cert.pem', keyFile: files.keyFile })).rejects.toThrow(
      /^operator\.tls\.cert_file names \/nowhere\/cert\.pem: cannot be read/,
    )
  })
})
