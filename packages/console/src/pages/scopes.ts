/** Chosen for a new client until the person chooses others. */
export const NEW_CLIENT_SCOPES: readonly string[] = ['exchange:read_aggregated_marketdata_stream']

/** The scopes available to clients, and what each permits. The service refuses scopes it does not serve. */
export const SCOPES: Readonly<Record<string, string>> = {
  'exchange:read_aggregated_marketdata_stream': 'read the stream',
  'exchange:publish_marketdata': 'publish books',
  'orchestration:read_orchestration_rule': 'read rules',
  'orchestration:write_orchestration_rule': 'create and delete rules',
  'orchestration:read_orchestration': 'read orchestrations',
  'orchestration:write_orchestration': 'start orchestrations',
  'identity:read_account': 'read accounts',
  'identity:write_account': 'create and change accounts',
  'transfer:read_deposit_address': 'read deposit addresses',
  'transfer:write_deposit_address': 'create deposit addresses',
  'transfer:read_crypto_destination_address': 'read crypto destinations',
  'transfer:write_crypto_destination_address': 'register and delete crypto destinations',
  'transfer:read_fiat_account': 'read fiat accounts',
  'transfer:write_fiat_account': 'register and delete fiat accounts',
  'transfer:read_transfer': 'read transfers',
  'events:read_event': 'read events',
  'events:write_webhook': 'create and change webhook endpoints',
  'funding:read_profile': 'read profiles and balances',
  'funding:write_sandbox_deposit': 'create deposits for testing',
}
