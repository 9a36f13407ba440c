/**
 * The services that the examples run against: the built program over TCP and over TLS, each with a demo client, a deep
 * book from a simulated venue, and pings often enough to be observed.
 */

import { createHash, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Browser, chromium } from 'playwright-core'
import { generate } from 'selfsigned'
import { once } from '../support/awaited.ts'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { scriptKraken } from '../support/kraken-script.ts'
import {
  type Flags,
  market,
  type ServiceProcess,
  STREAM_SCOPE,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'
import { type KrakenServer, startKrakenServer } from '../support/venues/kraken.ts'

export const isLong = process.env.TIDEGATE_LONG === '1'

/** Of a browser. Reached only if the test hangs; shorter than the limit of a test. */
export const PATIENCE_MILLISECONDS = 120_000

const BROWSER_ARGUMENTS = ['no-sandbox', 'disable-gpu', 'disable-quic', 'no-first-run', 'disable-background-networking']
  .concat(['disable-component-update', 'disable-sync'])
  .map((name) => `--${name}`)

export const TRANSPORTS = ['TCP', 'TLS'] as const
type TransportName = (typeof TRANSPORTS)[number]

/** The transports that a client is tested over: both in the long run, otherwise one. */
export function transportsOf(ordinary: TransportName): readonly TransportName[] {
  return isLong ? TRANSPORTS : [ordinary]
}

/** Snapshots of this market exceed the 64 KiB at which messages are split into fragments. */
export const DEEP_MARKET = 'DEEPUSD'
export const DEEP_LEVELS = 1000

export interface CredentialsFile {
  readonly client_id: string
  readonly client_secret: string
  readonly base_url: string
  readonly auth_url: string
  readonly ws_url: string
}

export class ExampleTarget {
  readonly service: ServiceProcess
  /** The environment in which a client of any kind trusts the service's certificate. */
  readonly environment: Readonly<Record<string, string>>

  constructor(service: ServiceProcess, environment: Readonly<Record<string, string>>) {
    this.service = service
    this.environment = environment
  }

  /** The credentials file that the demo wrote. */
  get credentialsPath(): string {
    return join(this.service.folder, 'demo-client.json')
  }

  get credentials(): CredentialsFile {
    return JSON.parse(readFileSync(this.credentialsPath, 'utf8')) as CredentialsFile
  }

  /** Writes another credentials file with these members replaced; returns its path. */
  writeCredentials(name: string, members: Partial<CredentialsFile>): string {
    const path = join(this.service.folder, `${name}.json`)
    writeFileSync(path, JSON.stringify({ ...this.credentials, ...members }))
    return path
  }

  /** A token of the demo client, or of another. */
  async token(scope = STREAM_SCOPE, client: Partial<CredentialsFile> = {}): Promise<string> {
    const { client_id, client_secret, auth_url } = { ...this.credentials, ...client }
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const { SSL_CERT_FILE: file } = this.environment
    const ca = file === undefined ? {} : { ca: readFileSync(file) }
    const request = (file === undefined ? requestHttp : requestHttps)(`${auth_url}/oauth2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      ...ca,
    })
    request.end(form.toString())
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return (JSON.parse(await text(response)) as { access_token: string }).access_token
  }
}

export class ExampleTargets {
  readonly folder = temporaryFolder()
  readonly page: PageServer
  readonly #flags: Flags
  readonly #certificate: Certificate
  readonly #venue: KrakenServer
  readonly #targets = new Map<TransportName, ExampleTarget>()
  readonly #services: ServiceProcess[] = []
  #browser: Promise<Browser> | undefined

  private constructor(venue: KrakenServer, page: PageServer, certificate: Certificate) {
    this.page = page
    this.#venue = venue
    this.#certificate = certificate
    this.#flags = {
      markets: JSON.stringify([market('BTC', 2, 50), market('DEEP', 8, DEEP_LEVELS, 'kraken:DEEP/USD')]),
      'feeds.kraken.url': venue.url,
      'simulator.rate': 200,
      'stream.ping_seconds': 0.5,
      'stream.drain_seconds': 0.2,
      'http.cors_origins': JSON.stringify([page.origin]),
    }
  }

  static async start(): Promise<ExampleTargets> {
    const targets = new ExampleTargets(await startDeepVenue(), await startPageServer(), await makeCertificate())
    await Promise.all(TRANSPORTS.map((name) => targets.startService(name)))
    return targets
  }

  of(name: TransportName): ExampleTarget {
    const target = this.#targets.get(name)
    if (target === undefined) throw new Error(`the service over ${name} did not start`)
    return target
  }

  /** One for all suites, started for the first: it trusts the certificate of the services. Each page has a profile. */
  browser(): Promise<Browser> {
    const key = new X509Certificate(this.#certificate.cert).publicKey.export({ type: 'spki', format: 'der' })
    this.#browser ??= startBrowser(createHash('sha256').update(key).digest('base64'))
    return this.#browser
  }

  /** Starts the service of this name; restarts it in its folder if it was stopped. */
  async startService(name: TransportName): Promise<ExampleTarget> {
    const folder = join(this.folder.path, name)
    mkdirSync(folder, { recursive: true })
    const certificate = join(folder, 'certificate.pem')
    const key = join(folder, 'key.pem')
    writeFileSync(certificate, this.#certificate.cert)
    writeFileSync(key, this.#certificate.private, { mode: 0o600 })
    const tls = name === 'TLS' ? { 'http.tls.cert_file': certificate, 'http.tls.key_file': key } : {}
    const service = await startServiceProcess('demo', folder, { ...this.#flags, ...tls })
    this.#services.push(service)
    const target = new ExampleTarget(service, name === 'TLS' ? trustIn(certificate) : {})
    this.#targets.set(name, target)
    return target
  }

  /** The output of each started service so far. */
  written(): string[] {
    return this.#services.map(({ command }) => command.stdout() + command.stderr())
  }

  async stop(): Promise<void> {
    await (await this.#browser)?.close()
    for (const { command } of this.#services) command.child.kill('SIGKILL')
    await Promise.all(this.#services.map(({ command }) => command.result))
    await this.#venue.close()
    this.page.close()
    this.folder.remove()
  }
}

/** A browser with an empty profile that trusts one public key, whatever the issuer of its certificate. */
export function startBrowser(publicKeyHash: string): Promise<Browser> {
  const args = [...BROWSER_ARGUMENTS, `--ignore-certificate-errors-spki-list=${publicKeyHash}`]
  return chromium.launch({ executablePath: CHROMIUM.file, args, timeout: PATIENCE_MILLISECONDS })
}

type Certificate = Awaited<ReturnType<typeof generate>>

function makeCertificate(): Promise<Certificate> {
  return generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  })
}

/** Each kind of client has its own variable for the file of trusted certificates. */
function trustIn(file: string): Record<string, string> {
  return {
    SSL_CERT_FILE: file,
    REQUESTS_CA_BUNDLE: file,
    CURL_CA_BUNDLE: file,
    NODE_EXTRA_CA_CERTS: file,
  }
}

/** A venue with one book of `DEEP_LEVELS` per side, which never changes. */
function startDeepVenue(): Promise<KrakenServer> {
  const side = (first: number, step: number) =>
    Array.from({ length: DEEP_LEVELS }, (_, index): [number, number] => [first + index * step, 1.5])
  const recording = scriptKraken({ symbol: 'DEEP/USD', depth: DEEP_LEVELS, pricePrecision: 8, quantityPrecision: 8 }, [
    { type: 'snapshot', bids: side(60_000, -1), asks: side(60_001, 1) },
  ])
  return startKrakenServer({ recordings: [recording], speed: 1 })
}

/** Serves the browser example over HTTP, as any web server does in the folder of the repository. */
export interface PageServer {
  readonly origin: string
  /** The address of the page. */
  readonly url: string
  close(): void
}

export async function startPageServer(): Promise<PageServer> {
  const root = join(import.meta.dirname, '../..')
  const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript' }
  const server = createServer((request, response) => {
    const path = join(root, new URL(request.url ?? '/', 'http://page').pathname)
    const type = Object.entries(types).find(([ending]) => path.endsWith(ending))?.[1]
    if (type === undefined || !existsSync(path)) return void response.writeHead(404).end()
    response.setHeader('content-type', type)
    response.end(readFileSync(path))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/examples/browser/index.html`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
