/**
 * The checks of `tidegate doctor` on ports: whether the service could listen on the configured ports, and, while it runs,
 * whether it is the service that answers there.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { tlsFilesOf } from '../app/tls-settings.ts'
import { hasCode } from '../base/error-code.ts'
import type { Config } from '../config/settings.ts'
import { bad, type Finding, ok, reasonOf, warn } from './doctor-finding.ts'
import { addressText, reachable } from './listener-address.ts'

interface Port {
  readonly name: string
  /** The settings of the address. */
  readonly keys: string
  readonly host: string
  readonly port: number
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

/** Whether a service that starts now could listen on the port. */
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
export async function examinePublicPort(config: Config): Promise<Finding> {
  const { name, host, port } = publicPort(config)
  if (port === 0) return ok(name, 'any free one (http.port is 0): the ready line of the service names it')
  const files = tlsFilesOf(config)
  const url = `${files === undefined ? 'http' : 'https'}://${addressText(reachable(host), port)}`
  const next = 'see the log of the service; was it started with this configuration?'
  try {
    const { isOurs, fingerprint } = await askDoor(host, port, files !== undefined)
    if (!isOurs) return bad(name, `${url} is answered by another program`, `stop that program, or change http.port`)
    if (files !== undefined && fingerprint !== new X509Certificate(readFileSync(files.certFile)).fingerprint256) {
      return warn(name, `${url} uses a different certificate than ${files.certFile}`, 'send SIGHUP to the service')
    }
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

/** A plain request to the stream's address is answered by our problem `upgrade_required`. */
function askDoor(
  host: string,
  port: number,
  isTls: boolean,
): Promise<{ readonly isOurs: boolean; readonly fingerprint: string | undefined }> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { host: reachable(host), port, path: '/', timeout: ANSWER_MILLISECONDS_MAX }
    // Trust in the certificate is not checked: it is compared with the file.
    const request = isTls ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options)
    request.once('timeout', () => request.destroy(new Error('no answer in time')))
    request.once('error', reject)
    request.once('response', (response) => {
      const fingerprint = isTls ? (response.socket as TLSSocket).getPeerCertificate().fingerprint256 : undefined
      readText(response).then((text) => {
        const isOurs = response.statusCode === 426 && text.includes('"upgrade_required"')
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
