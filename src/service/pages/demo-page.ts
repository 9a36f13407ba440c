/**
 * The demo's live ladder: the page at `/`, its script, and the endpoint that gives it tokens without credentials. They
 * are served only while the public listener is bound to a loopback address, and only to requests that come from a
 * loopback address, name a loopback host and passed no proxy. Other requests get the page with links, and 404 at the
 * other paths. A token is valid for five minutes and belongs to a client with the streaming scope alone. Only a page
 * from the same origin gets one. `serve` has none of this.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Directory } from '../../access/clients/directory.ts'
import { issueToken } from '../../access/clients/token-endpoint/token-grant.ts'
import { STREAM_SCOPE } from '../../contract/scopes.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { hasCode } from '../../platform/base/error-code.ts'
import { CachedContent } from '../../platform/http/cached-content.ts'
import { isLoopbackAddress, isLoopbackHost, isSameOrigin } from '../../platform/http/host-check.ts'
import { Problem } from '../../platform/http/problem.ts'
import { createRateLimitHook, RateLimiter } from '../../platform/http/rate-limit.ts'
import type { Config } from '../config/settings.ts'
import { issuesTokens } from '../config/token-issuer.ts'
import { DEMO_SCRIPT_PATH, demoPage } from './demo-page-content.ts'
import type { Page } from './start-page.ts'

export interface DemoPageOptions {
  readonly directory: Directory
  readonly clock: Clock
  /** The currently served markets' symbols. */
  readonly symbols: () => readonly string[]
  /** The stream's address. Empty: that of the page. */
  readonly streamUrl: () => string
}

/** Next to the compiled program. A program run from its source uses the last build's. */
const SCRIPT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/demo-page/page.js' : '../demo-page/page.js',
    import.meta.url,
  ),
)
const TOKEN_PATH = '/demo/token'
/** A page from another origin can send this header field only after a CORS preflight, which is never granted. */
const TOKEN_HEADER = 'x-tidegate-demo'
const TOKEN_SECONDS = 300
/** For all pages together: a page needs one token for each of its two connections. All pages run on this machine. */
const TOKENS_PER_SECOND = 2
const TOKENS_AT_ONCE = 20

/** Header fields that proxies add. A proxied request may come from another machine, whatever its address. */
const PROXY_FIELDS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

export class DemoPage {
  readonly #options: DemoPageOptions
  #clientId: string | undefined
  #isBoundToLoopback = (): boolean => false

  constructor(options: DemoPageOptions) {
    this.#options = options
  }

  /** Enables the token endpoint, which issues this client's tokens. */
  openFor(clientId: string): void {
    this.#clientId = clientId
  }

  /** Registers the token endpoint on the public listener. */
  register(app: FastifyInstance): void {
    this.#isBoundToLoopback = () => {
      const addresses = app.addresses()
      return addresses.length > 0 && addresses.every((bound) => isLoopbackAddress((bound as AddressInfo).address))
    }
    const limiter = new RateLimiter(this.#options.clock, {
      name: 'demo-page',
      perSecond: TOKENS_PER_SECOND,
      burst: TOKENS_AT_ONCE,
      keysMax: 1,
    })
    const refuse = async ({ raw }: { readonly raw: IncomingMessage }): Promise<void> => {
      const refusal = this.#refusal(raw)
      if (refusal !== undefined) throw refusal
    }
    app.post(TOKEN_PATH, { onRequest: [refuse, createRateLimitHook(limiter, () => '')] }, () => this.#token())
    let script: CachedContent | undefined
    app.get(DEMO_SCRIPT_PATH, async (request, reply) => {
      if (!this.#isLocal(request.raw)) throw notFound()
      script ??= new CachedContent(readScript())
      reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache')
      return reply.send(await script.answer(request, reply))
    })
  }

  /** The ladder. Undefined for a request from elsewhere. */
  pageFor(request: IncomingMessage): Page | undefined {
    if (!this.#isLocal(request)) return undefined
    const scheme = 'encrypted' in request.socket ? 'wss' : 'ws'
    // Parsed, because it is copied into a header field and the page.
    const { host } = new URL(`http://${request.headers.host}`)
    return demoPage(this.#options.symbols(), this.#options.streamUrl() || `${scheme}://${host}`)
  }

  #isLocal({ headers, socket }: IncomingMessage): boolean {
    return (
      this.#isBoundToLoopback() &&
      isLoopbackAddress(socket.remoteAddress ?? '') &&
      headers.host !== undefined &&
      isLoopbackHost(headers.host) &&
      PROXY_FIELDS.every((name) => headers[name] === undefined)
    )
  }

  /** Checks first where the request came from, then which page sent it. */
  #refusal(request: IncomingMessage): Problem | undefined {
    if (!this.#isLocal(request)) return notFound()
    const { headers } = request
    const site = headers['sec-fetch-site']
    const isOwnPage =
      isSameOrigin(request) && headers[TOKEN_HEADER] === '1' && (site === undefined || site === 'same-origin')
    return isOwnPage ? undefined : new Problem('foreign_origin', 'Origin: only the demo page gets a token here')
  }

  async #token(): Promise<object> {
    const { directory } = this.#options
    const client = this.#clientId === undefined ? undefined : directory.client(this.#clientId)
    if (client === undefined) throw new Problem('unavailable', 'the demo is still starting')
    return await issueToken({ ...this.#options, tokenSeconds: TOKEN_SECONDS }, client, [STREAM_SCOPE])
  }
}

function notFound(): Problem {
  return new Problem('not_found', 'there is nothing at this path')
}

function readScript(): Buffer {
  try {
    return readFileSync(SCRIPT)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    throw new Problem('not_found', 'the page’s script is not part of this build: `npm run build` creates it')
  }
}

/** The page for a demo that issues its own tokens. Undefined for any other service. */
export function createDemoPage(
  options: Pick<DemoPageOptions, 'clock' | 'streamUrl'> & { readonly hasDemoPage?: boolean; readonly config: Config },
  directory: Directory,
  current: { readonly config: Config },
): DemoPage | undefined {
  const { hasDemoPage, config } = options
  if (hasDemoPage !== true || !issuesTokens(config)) return undefined
  const symbols = () => current.config.markets.map(({ definition }) => definition.symbol)
  return new DemoPage({ ...options, directory, symbols })
}
