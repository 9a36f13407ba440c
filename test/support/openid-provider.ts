/**
 * A real OpenID Connect issuer for tests: oidc-provider on a free port, where people sign in by clicking their name.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export const OPENID_CLIENT = { id: 'tidegate-console', secret: 'a-secret-of-the-console' } as const

export class OpenidProvider {
  readonly url: string
  readonly #server: Server
  readonly #provider: Provider

  private constructor(server: Server, redirectUri: string, people: readonly string[]) {
    this.#server = server
    // Not 127.0.0.1, where it would share cookies with the service under test.
    this.url = `http://localhost:${(server.address() as AddressInfo).port}`
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.#provider = new Provider(this.url, {
      clients: [
        {
          client_id: OPENID_CLIENT.id,
          client_secret: OPENID_CLIENT.secret,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'openid-1', use: 'sig' }] as never },
      cookies: { keys: ['a-key-of-the-cookies'] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/people/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        })
        grant.addOIDCScope('openid')
        await grant.save()
        return grant
      },
    })
    const handle = this.#provider.callback()
    server.on('request', (request, response) => {
      if (request.url?.startsWith('/people/')) void this.#askWho(request, response, people)
      else handle(request, response)
    })
  }

  /** @param people the subjects that can sign in */
  static async start(redirectUri: string, people: readonly string[]): Promise<OpenidProvider> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    return new OpenidProvider(server, redirectUri, people)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** A page with the names. A click on one signs in, and a click on `cancel` refuses. */
  async #askWho(request: IncomingMessage, response: ServerResponse, people: readonly string[]): Promise<void> {
    if (request.method !== 'POST') {
      const buttons = [...people, 'cancel'].map((name) => `<button name="who" value="${name}">${name}</button>`)
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end(`<!doctype html><title>Who are you?</title><form method="post">${buttons.join('')}</form>`)
      return
    }
    let body = ''
    for await (const part of request) body += part
    const who = new URLSearchParams(body).get('who') ?? ''
    const result =
      who === 'cancel'
        ? { error: 'access_denied', error_description: 'the person has cancelled' }
        : { login: { accountId: who } }
    await this.#provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }
}
