/** The OAuth 2.0 client credentials grant, shared by the programs in this folder. */
const SCOPE = 'exchange:read_aggregated_marketdata_stream'

/** Requests an access token. Errors: `isFinal` means that retrying cannot help, `retryAfterSeconds` when to retry. */
export async function fetchToken({ auth_url: authUrl, client_id: clientId, client_secret: clientSecret }) {
  const response = await fetch(`${authUrl}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: SCOPE,
    }),
    // A redirected request would take the secret to another address.
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })
  const answer = await response.json()
  if (response.ok) return answer.access_token
  const error = new Error(`no token: ${answer.error_description}`)
  const isFinal = response.status === 400 || response.status === 401
  throw Object.assign(error, { isFinal, retryAfterSeconds: Number(response.headers.get('retry-after')) })
}
