/**
 * The live ladder of the demo: the page at `/`, and the tokens that it gets without credentials. Both exist only while
 * the public listener is bound to a loopback address, and only for requests that name a loopback host and came through
 * no proxy; every other request is answered 404. A token lives five minutes and belongs to a client that holds
 * the streaming scope alone; only a page of this very origin gets one. `serve` never makes any of this.
 */
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Directory } from '../auth/directory.ts'
import { issueToken } from '../auth/token-grant.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/settings.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'
import { isLoopbackAddress, isLoopbackHost, isSameOrigin } from '../http/host-check.ts'
import { Problem } from '../http/problem.ts'
import { createRateLimitHook, RateLimiter } from '../http/rate-limit.ts'
import { DEMO_HEADER, DEMO_TOKEN_PATH, demoPage, demoPagePolicy } from './demo-page-content.ts'
import { issuesTokens } from './token-issuer.ts'

export interface DemoPageOptions {
  readonly directory: Directory
  readonly clock: Clock
  /** Of the markets that are served now. */
  readonly symbols: () => readonly string[]
}

/** What `/` answers to a browser. */
export interface Page {
  readonly html: string
  /** Its `Content-Security-Policy`. */
  readonly policy: string
}

const TOKEN_SECONDS = 300
/** A page needs one token per connection; whoever is let in at all is on this machine. */
const TOKENS_PER_SECOND = 2
const TOKENS_AT_ONCE = 20

/** Fields that proxies add: a request that came through one is not from this machine, whatever its address. */
const PROXY_FIELDS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

export class DemoPage {
  readonly #options: DemoPageOptions
  #clientId: string | undefined
  #isBoundToLoopback = (): boolean => false

  constructor(options: DemoPageOptions) {
    this.#options = options
  }

  /** From now on tokens are those of this client. */
  openFor(clientId: string): void {
    this.#clientId = clientId
  }

  /** Declares the route of the tokens; `app` is the listener that the page belongs to. */
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
    app.post(DEMO_TOKEN_PATH, { onRequest: [refuse, createRateLimitHook(limiter, () => '')] }, () => this.#token())
  }

  /** The ladder, for those who may see it; undefined for everybody else. */
  pageFor(request: IncomingMessage): Page | undefined {
    if (!this.#isLocal(request)) return undefined
    const scheme = 'encrypted' in request.socket ? 'wss' : 'ws'
    // Not as it was sent: it becomes a part of a header field.
    const { host } = new URL(`http://${request.headers.host}`)
    return { html: demoPage(this.#options.symbols()), policy: demoPagePolicy(`${scheme}://${host}`) }
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

  /** In this order: where the request is from, then which page sent it. */
  #refusal(request: IncomingMessage): Problem | undefined {
    if (!this.#isLocal(request)) return new Problem('not_found', 'there is nothing at this path')
    const { headers } = request
    const site = headers['sec-fetch-site']
    const isOwnPage =
      isSameOrigin(request) && headers[DEMO_HEADER] === '1' && (site === undefined || site === 'same-origin')
    return isOwnPage ? undefined : new Problem('foreign_origin', 'Origin: only the page of the demo gets a token here')
  }

  async #token(): Promise<object> {
    const { directory } = this.#options
    const client = this.#clientId === undefined ? undefined : directory.client(this.#clientId)
    if (client === undefined) throw new Problem('unavailable', 'the demo is still starting')
    return await issueToken({ ...this.#options, tokenSeconds: TOKEN_SECONDS }, client, [STREAM_SCOPE])
  }
}

/** The page of a service, where it is the demo's and tokens are ours to issue. */
export function createDemoPage(
  options: { readonly hasDemoPage?: boolean; readonly config: Config; readonly clock: Clock },
  directory: Directory,
  live: { readonly config: Config },
): DemoPage | undefined {
  const { hasDemoPage, config, clock } = options
  if (hasDemoPage !== true || !issuesTokens(config)) return undefined
  const symbols = () => live.config.markets.map(({ definition }) => definition.symbol)
  return new DemoPage({ directory, clock, symbols })
}
