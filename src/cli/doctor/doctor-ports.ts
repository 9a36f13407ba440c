/**
 * The `tidegate doctor` checks on ports: whether the service could listen on the configured ports, and, while it runs,
 * whether it is the service that answers there.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { hasCode } from '../../platform/base/error-code.ts'
import type { TlsFiles } from '../../platform/http/tls.ts'
import { hasRole } from '../../service/config/roles.ts'
import type { Config, SettingKey } from '../../service/config/settings.ts'
import { bad, type Finding, ok, reasonOf, warn } from '../../service/doctor/finding.ts'
import { ingestTlsFilesOf, tlsFilesOf } from '../../service/listeners/tls-settings.ts'
import { addressText, reachable } from '../options/listener-address.ts'

interface Port {
  readonly name: string
  /** The address settings. */
  readonly keys: string
  readonly host: string
  readonly port: number
}

/** A request without a token, and the answer which only the listener gives. */
interface Probe {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly status: number
  readonly code: string
}

/** The service is on this machine, so an answer is fast. */
const ANSWER_MILLISECONDS_MAX = 5_000
/** More than the answers to these requests. */
const ANSWER_BYTES_MAX = 65_536

export function publicPort(config: Config): Port {
  return { name: 'public port', keys: 'http.host, http.port', host: config['http.host'], port: config['http.port'] }
}

export function operatorPort(config: Config): Port {
  const keys = 'operator.host, operator.port'
  return { name: 'operator port', keys, host: config['operator.host'], port: config['operator.port'] }
}

/** Undefined where the stream has no port of its own. */
export function streamPort(config: Config): Port | undefined {
  const port = config['stream.port']
  if (port === '' || !hasRole(config, 'gateway')) return undefined
  return { name: 'stream port', keys: 'http.host, stream.port', host: config['http.host'], port }
}

/** Undefined where no ingest listener is configured. */
export function ingestPort(config: Config): Port | undefined {
  const port = config['ingest.port']
  if (port === '') return undefined
  return { name: 'ingest port', keys: 'ingest.host, ingest.port', host: config['ingest.host'], port }
}

/** Whether a service started now could listen on the port. */
export async function examineFreePort({ name, keys, host, port }: Port): Promise<Finding> {
  const address = addressText(host, port)
  try {
    await listenBriefly(host, port)
    return ok(name, port === 0 ? `any free port of ${host}` : `${address} is free`)
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) {
      return bad(name, `${address} is held by another program`, `stop that program, or change ${keys}`)
    }
    if (hasCode(error, 'EACCES')) {
      const next = 'use a port above 1023, or give the process CAP_NET_BIND_SERVICE'
      return bad(name, `${address} may not be used by this user`, next)
    }
    return bad(name, `${address} cannot be used (${reasonOf(error)})`, `change ${keys}`)
  }
}

/** Whether the running service answers on the public port, with the configured certificate. */
export function examinePublicPort(config: Config): Promise<Finding> {
  // A plain request to the stream's address is answered by our problem `upgrade_required`.
  const probe = { method: 'GET', path: '/', status: 426, code: 'upgrade_required' } as const
  return examineAnswer(publicPort(config), tlsFilesOf(config), probe, 'http.port')
}

/** The same for the stream's port. No finding where it has none of its own. */
export async function examineStreamPort(config: Config): Promise<Finding[]> {
  const port = streamPort(config)
  const probe = { method: 'GET', path: '/', status: 426, code: 'upgrade_required' } as const
  return port === undefined ? [] : [await examineAnswer(port, tlsFilesOf(config), probe, 'stream.port')]
}

/** The same for the ingest port. No finding where the service has no ingest listener. */
export async function examineIngestPort(config: Config): Promise<Finding[]> {
  const port = ingestPort(config)
  if (port === undefined) return []
  const probe = { method: 'POST', path: '/publish', status: 401, code: 'unauthorized' } as const
  return [await examineAnswer(port, ingestTlsFilesOf(config), probe, 'ingest.port')]
}

async function examineAnswer(
  { name, host, port }: Port,
  files: TlsFiles | undefined,
  probe: Probe,
  key: SettingKey,
): Promise<Finding> {
  if (port === 0) return ok(name, `any free one (${key} is 0): the service’s ready line names it`)
  const url = `${files === undefined ? 'http' : 'https'}://${addressText(reachable(host), port)}`
  const next = 'see the service’s log. Was it started with this configuration?'
  try {
    const { isOurs, fingerprint } = await askListener(host, port, files, probe)
    if (isOurs === false)
      return bad(name, `${url} is answered by another program`, `stop that program, or change ${key}`)
    if (files !== undefined && fingerprint !== new X509Certificate(readFileSync(files.certFile)).fingerprint256) {
      return warn(name, `${url} uses a different certificate than ${files.certFile}`, 'send SIGHUP to the service')
    }
    if (isOurs === undefined) return ok(name, `${url}, has the service’s certificate and requires one from clients`)
    return ok(name, `${url}, answered by the service`)
  } catch (error) {
    return bad(name, `${url} does not answer (${reasonOf(error)})`, next)
  }
}

function listenBriefly(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
  })
}

/** `isOurs` is undefined where the listener requires a client certificate: then only its own certificate is known. */
function askListener(
  host: string,
  port: number,
  files: TlsFiles | undefined,
  { method, path, status, code }: Probe,
): Promise<{ readonly isOurs: boolean | undefined; readonly fingerprint: string | undefined }> {
  return new Promise((resolve, reject) => {
    let fingerprint: string | undefined
    const options: RequestOptions = { host: reachable(host), port, method, path }
    // Trust in the certificate is not checked: it is compared with the file.
    const request = files === undefined ? requestHttp(options) : requestHttps({ ...options, rejectUnauthorized: false })
    request.once('socket', (socket) => {
      socket.once('secureConnect', () => {
        fingerprint = (socket as TLSSocket).getPeerCertificate().fingerprint256
      })
    })
    // For the whole answer: a program may send it byte by byte.
    const late = setTimeout(() => request.destroy(new Error('no whole answer in time')), ANSWER_MILLISECONDS_MAX)
    request.once('close', () => clearTimeout(late))
    request.once('error', (error) => {
      // The client's part of a handshake is complete before the listener refuses it for its missing certificate.
      if (files?.clientCaFile !== undefined && fingerprint !== undefined) resolve({ isOurs: undefined, fingerprint })
      else reject(error)
    })
    request.once('response', (response) => {
      readText(response).then((text) => {
        const isOurs = response.statusCode === status && text.includes(`"${code}"`)
        resolve({ isOurs, fingerprint })
        request.destroy()
      }, reject)
    })
    request.end()
  })
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) {
    text += chunk
    if (text.length > ANSWER_BYTES_MAX) break
  }
  return text
}
