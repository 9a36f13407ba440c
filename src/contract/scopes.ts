/**
 * Every scope of a served operation, with what it opens. This one table drives `invalid_scope` at the token endpoint, the
 * guards, the description of the API, what the operator can grant, and what the demo client holds. A scope that a client
 * holds in the store and that is not in the table has no effect.
 */
export const SCOPES = {
  'exchange:read_aggregated_marketdata_stream': 'WebSocket connection',
  'orchestration:read_orchestration_rule': 'GET /v2/orchestration/rules',
  'orchestration:write_orchestration_rule': 'POST and DELETE /v2/orchestration/rules',
  'orchestration:read_orchestration': 'GET /v2/orchestration/orchestrations',
  'orchestration:write_orchestration': 'POST /v2/orchestration/orchestrations',
  'identity:read_account': 'GET /v2/identity/accounts',
  'identity:write_account': 'POST and PUT /v2/identity/accounts',
  'transfer:read_deposit_address': 'GET /v2/transfer/deposit-addresses',
  'transfer:write_deposit_address': 'POST /v2/transfer/deposit-addresses',
  'transfer:read_transfer': 'GET /v2/transfer/transfers',
  'funding:read_profile': 'GET /v2/profiles',
} as const

export type Scope = keyof typeof SCOPES

export const STREAM_SCOPE: Scope = 'exchange:read_aggregated_marketdata_stream'

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text)
}
