/** An OpenID Connect issuer whose answers a test chooses: right by default, and wrong in one respect at a time. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

type Keys = Awaited<ReturnType<typeof generateKeyPair>>
type Answer = (response: ServerResponse) => void

export class ScriptedIssuer {
  readonly url: string
  readonly clientId = 'tidegate-console'
  /** Requests so far, by path. */
  readonly requests: string[] = []
  /** Instead of the usual answer, by path. */
  readonly answers = new Map<string, Answer>()
  /** The nonce in the current login, which the issuer would have seen. */
  nonce = ''
  /** Claims that differ from the right ones. */
  claims: JWTPayload = {}
  /** Signs ID tokens. It differs from the published key if a test replaces it. */
  signing: Keys
  readonly #published: Keys
  readonly #server: Server

  private constructor(server: Server, keys: Keys) {
    this.#server = server
    this.#published = keys
    this.signing = keys
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<ScriptedIssuer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new ScriptedIssuer(server, await generateKeyPair('RS256', { extractable: true }))
  }

  /** Answers everything correctly again. */
  reset(): void {
    this.claims = {}
    this.signing = this.#published
    this.answers.clear()
    this.requests.length = 0
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] as string
    this.requests.push(path)
    request.resume()
    const scripted = this.answers.get(path)
    if (scripted !== undefined) return scripted(response)
    const document = await this.#documentAt(path)
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  }

  async #documentAt(path: string): Promise<object | undefined> {
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          jwks_uri: `${this.url}/jwks`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        }
      case '/jwks':
        return { keys: [{ ...(await exportJWK(this.#published.publicKey)), kid: 'key-1', alg: 'RS256', use: 'sig' }] }
      case '/token':
        return { access_token: 'unused', token_type: 'Bearer', id_token: await this.#idToken() }
      default:
        return undefined
    }
  }

  async #idToken(): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const right = { iss: this.url, aud: this.clientId, sub: 'somebody-0', nonce: this.nonce, iat: now, exp: now + 300 }
    return await new SignJWT({ ...right, ...this.claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'key-1' })
      .sign(this.signing.privateKey)
  }
}
