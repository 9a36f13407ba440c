/**
 * Every scope, with the operation it permits. The token endpoint's `invalid_scope`, the guards, the API description, the
 * operator's grants and the demo client's scopes come from this table. A client's stored scope has no effect if the table
 * lacks it or its operation is not served. Pure.
 */
export const SCOPES = {
  'exchange:read_aggregated_marketdata_stream': 'WebSocket connection',
  'exchange:publish_marketdata': 'WebSocket connection and POST /publish at the ingest listener',
  'exchange:read_marketdata': 'GET /v2/markets/{market}/order-book and trades',
  'orchestration:read_orchestration_rule': 'GET /v2/orchestration/rules',
  'orchestration:write_orchestration_rule': 'POST and DELETE /v2/orchestration/rules',
  'orchestration:read_orchestration': 'GET /v2/orchestration/orchestrations',
  'orchestration:write_orchestration': 'POST /v2/orchestration/orchestrations',
  'identity:read_account': 'GET /v2/identity/accounts',
  'identity:write_account': 'POST and PUT /v2/identity/accounts',
  'transfer:read_deposit_address': 'GET /v2/transfer/deposit-addresses',
  'transfer:write_deposit_address': 'POST /v2/transfer/deposit-addresses',
  'transfer:read_crypto_destination_address': 'GET /v2/transfer/crypto-destination-addresses',
  'transfer:write_crypto_destination_address': 'POST and DELETE /v2/transfer/crypto-destination-addresses',
  'transfer:read_fiat_account': 'GET /v2/transfer/fiat-accounts',
  'transfer:write_fiat_account': 'POST and DELETE /v2/transfer/fiat-accounts',
  'transfer:read_transfer': 'GET /v2/transfer/transfers',
  'events:read_event': 'GET /v2/events',
  'events:write_webhook': 'POST, GET, PATCH and DELETE /v2/webhooks/endpoints',
  'usage:read_usage': 'GET /v2/usage',
  'funding:read_profile': 'GET /v2/profiles',
  'funding:write_sandbox_deposit': 'POST /v2/sandbox/profiles/{profile_id}/deposit',
} as const

export type Scope = keyof typeof SCOPES

/** Scopes of operations served only with the setting `rest.sandbox`. */
const SANDBOX_SCOPES: ReadonlySet<Scope> = new Set<Scope>(['funding:write_sandbox_deposit'])

export const STREAM_SCOPE: Scope = 'exchange:read_aggregated_marketdata_stream'

/**
 * Permits a client to publish its `publish_markets`. It exists in a process with the ingest listener (`ingest.port`), and
 * in every one without the role `feed`, which cannot know the listeners of the others.
 */
export const PUBLISH_SCOPE: Scope = 'exchange:publish_marketdata'

/** The scopes for the operations which a service with these settings serves. */
export function servedScopes(isSandbox: boolean, hasIngest = false): readonly Scope[] {
  return (Object.keys(SCOPES) as Scope[]).filter(
    (scope) => (isSandbox || !SANDBOX_SCOPES.has(scope)) && (hasIngest || scope !== PUBLISH_SCOPE),
  )
}

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text)
}
