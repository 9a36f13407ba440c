/** OAuth 2 client credentials; used by the programs beside it. */
const SCOPE = 'exchange:read_aggregated_marketdata_stream'

/** An access token. An error with `isFinal` says that trying again would not help, `retryAfterSeconds` when it may. */
export async function fetchToken({ auth_url: authUrl, client_id: clientId, client_secret: clientSecret }) {
  const response = await fetch(`${authUrl}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: SCOPE,
    }),
    signal: AbortSignal.timeout(10_000),
  })
  const answer = await response.json()
  if (response.ok) return answer.access_token
  const error = new Error(`no token: ${answer.error_description}`)
  const isFinal = response.status === 400 || response.status === 401
  throw Object.assign(error, { isFinal, retryAfterSeconds: Number(response.headers.get('retry-after')) })
}
