/** A real second issuer for tests: oidc-provider on a free port. Its keys can be replaced, and it can be stopped. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'

export const OUTSIDE_AUDIENCE = 'https://tidegate.test/stream'
const SECRET = 'a-secret-of-the-outside-issuer'

export interface OutsideClient {
  readonly name: string
  /** Its tokens' claims besides the standard ones. */
  readonly claims: Readonly<Record<string, unknown>>
}

function newJwk(kid: string): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }
}

export class OutsideIssuer {
  readonly url: string
  readonly audience: string
  /** How often its keys were requested so far. */
  keyRequests = 0
  /** The response to requests for its keys, if set; `silence`: none. */
  keyFault: { readonly status: number; readonly body: string } | 'silence' | undefined
  readonly #server: Server
  readonly #clients: readonly OutsideClient[]
  readonly #scopes: string
  #handle: RequestListener = () => undefined

  private constructor(server: Server, clients: readonly OutsideClient[], scopes: string) {
    this.#server = server
    this.#clients = clients
    this.#scopes = scopes
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.audience = OUTSIDE_AUDIENCE
    server.on('request', (request, response) => {
      if (request.url === '/jwks') {
        this.keyRequests++
        if (this.keyFault === 'silence') return
        if (this.keyFault !== undefined) {
          response.writeHead(this.keyFault.status, { location: `${this.url}/elsewhere` }).end(this.keyFault.body)
          return
        }
      }
      this.#handle(request, response)
    })
    this.replaceKey('outside-1')
  }

  static async start(clients: readonly OutsideClient[], scopes: string): Promise<OutsideIssuer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new OutsideIssuer(server, clients, scopes)
  }

  get jwksUrl(): string {
    return `${this.url}/jwks`
  }

  /** From now on it signs with a new key, and publishes only that one. */
  replaceKey(kid: string): void {
    const configuration: Configuration = {
      clients: this.#clients.map(({ name }) => ({
        client_id: name,
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      })),
      jwks: { keys: [newJwk(kid)] as never },
      scopes: this.#scopes.split(' '),
      extraTokenClaims: (_context, token) => {
        const { clientId } = token as { clientId?: string }
        return this.#clients.find(({ name }) => name === clientId)?.claims as Record<string, string>
      },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, resource) => ({
            audience: resource,
            scope: this.#scopes,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg: 'ES256' } },
          }),
        },
      },
    }
    this.#handle = new Provider(this.url, configuration).callback()
  }

  async token(client: string, scope: string, audience = OUTSIDE_AUDIENCE): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client}:${SECRET}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: audience }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the outside issuer answered ${response.status}: ${text}`)
    return (JSON.parse(text) as { access_token: string }).access_token
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
