/**
 * Every operation in the public REST API: its name, method, path and scope. The guard, the routes, the rate limits and
 * the API description are made from this table. Pure.
 */
import type { Scope } from './scopes.ts'

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{name}` for each path parameter. */
  readonly path: string
  /** Undefined: any valid token may call it. */
  readonly scope: Scope | undefined
  readonly summary: string
}

export const OPERATIONS = {
  listMarkets: {
    method: 'GET',
    path: '/v2/markets',
    scope: undefined,
    summary: 'List markets',
  },
  getOrderBook: {
    method: 'GET',
    path: '/v2/markets/{market}/order-book',
    scope: 'exchange:read_marketdata',
    summary: 'Get a market’s book',
  },
  listTrades: {
    method: 'GET',
    path: '/v2/markets/{market}/trades',
    scope: 'exchange:read_marketdata',
    summary: 'List a market’s last trades',
  },
  getTicker: {
    method: 'GET',
    path: '/v2/markets/{market}/ticker',
    scope: 'exchange:read_marketdata',
    summary: 'Get a market’s last 24 hours',
  },
  listCandles: {
    method: 'GET',
    path: '/v2/markets/{market}/candles',
    scope: 'exchange:read_marketdata',
    summary: 'List a market’s candles',
  },
  getClient: {
    method: 'GET',
    path: '/v2/client',
    scope: undefined,
    summary: 'Get the own client',
  },
  listAccounts: {
    method: 'GET',
    path: '/v2/identity/accounts',
    scope: 'identity:read_account',
    summary: 'List accounts',
  },
  createAccount: {
    method: 'POST',
    path: '/v2/identity/accounts',
    scope: 'identity:write_account',
    summary: 'Create an account',
  },
  updateAccount: {
    method: 'PUT',
    path: '/v2/identity/accounts',
    scope: 'identity:write_account',
    summary: 'Change an account',
  },
  getAccount: {
    method: 'GET',
    path: '/v2/identity/accounts/{id}',
    scope: 'identity:read_account',
    summary: 'Get one account',
  },
  listProfiles: {
    method: 'GET',
    path: '/v2/profiles',
    scope: 'funding:read_profile',
    summary: 'List profiles',
  },
  getProfile: {
    method: 'GET',
    path: '/v2/profiles/{id}',
    scope: 'funding:read_profile',
    summary: 'Get one profile',
  },
  listBalances: {
    method: 'GET',
    path: '/v2/profiles/{id}/balances',
    scope: 'funding:read_profile',
    summary: 'List a profile’s balances',
  },
  listTransfers: {
    method: 'GET',
    path: '/v2/transfer/transfers',
    scope: 'transfer:read_transfer',
    summary: 'List transfers',
  },
  getTransfer: {
    method: 'GET',
    path: '/v2/transfer/transfers/{id}',
    scope: 'transfer:read_transfer',
    summary: 'Get one transfer',
  },
  listLimits: {
    method: 'GET',
    path: '/v2/transfer/limits',
    scope: 'transfer:read_transfer',
    summary: 'List the own limits and their use',
  },
  listDepositAddresses: {
    method: 'GET',
    path: '/v2/transfer/deposit-addresses',
    scope: 'transfer:read_deposit_address',
    summary: 'List deposit addresses',
  },
  getDepositAddress: {
    method: 'GET',
    path: '/v2/transfer/deposit-addresses/{id}',
    scope: 'transfer:read_deposit_address',
    summary: 'Get one deposit address',
  },
  createDepositAddress: {
    method: 'POST',
    path: '/v2/transfer/deposit-addresses',
    scope: 'transfer:write_deposit_address',
    summary: 'Create a deposit address',
  },
  listFiatDepositInstructions: {
    method: 'GET',
    path: '/v2/transfer/fiat-deposit-instructions',
    scope: 'transfer:read_deposit_address',
    summary: 'List fiat deposit instructions',
  },
  getFiatDepositInstructions: {
    method: 'GET',
    path: '/v2/transfer/fiat-deposit-instructions/{id}',
    scope: 'transfer:read_deposit_address',
    summary: 'Get one fiat deposit instruction',
  },
  createFiatDepositInstructions: {
    method: 'POST',
    path: '/v2/transfer/fiat-deposit-instructions',
    scope: 'transfer:write_deposit_address',
    summary: 'Create a memo for fiat deposits',
  },
  listCryptoDestinationAddresses: {
    method: 'GET',
    path: '/v2/transfer/crypto-destination-addresses',
    scope: 'transfer:read_crypto_destination_address',
    summary: 'List crypto destination addresses',
  },
  getCryptoDestinationAddress: {
    method: 'GET',
    path: '/v2/transfer/crypto-destination-addresses/{id}',
    scope: 'transfer:read_crypto_destination_address',
    summary: 'Get one crypto destination address',
  },
  createCryptoDestinationAddress: {
    method: 'POST',
    path: '/v2/transfer/crypto-destination-addresses',
    scope: 'transfer:write_crypto_destination_address',
    summary: 'Register a crypto destination address',
  },
  deleteCryptoDestinationAddress: {
    method: 'DELETE',
    path: '/v2/transfer/crypto-destination-addresses/{id}',
    scope: 'transfer:write_crypto_destination_address',
    summary: 'Delete a crypto destination address',
  },
  listFiatAccounts: {
    method: 'GET',
    path: '/v2/transfer/fiat-accounts',
    scope: 'transfer:read_fiat_account',
    summary: 'List fiat accounts',
  },
  getFiatAccount: {
    method: 'GET',
    path: '/v2/transfer/fiat-accounts/{id}',
    scope: 'transfer:read_fiat_account',
    summary: 'Get one fiat account',
  },
  createFiatAccount: {
    method: 'POST',
    path: '/v2/transfer/fiat-accounts',
    scope: 'transfer:write_fiat_account',
    summary: 'Register a fiat account',
  },
  deleteFiatAccount: {
    method: 'DELETE',
    path: '/v2/transfer/fiat-accounts/{id}',
    scope: 'transfer:write_fiat_account',
    summary: 'Delete a fiat account',
  },
  listRules: {
    method: 'GET',
    path: '/v2/orchestration/rules',
    scope: 'orchestration:read_orchestration_rule',
    summary: 'List orchestration rules',
  },
  getRule: {
    method: 'GET',
    path: '/v2/orchestration/rules/{id}',
    scope: 'orchestration:read_orchestration_rule',
    summary: 'Get one orchestration rule',
  },
  createRule: {
    method: 'POST',
    path: '/v2/orchestration/rules',
    scope: 'orchestration:write_orchestration_rule',
    summary: 'Create an orchestration rule',
  },
  deleteRule: {
    method: 'DELETE',
    path: '/v2/orchestration/rules/{id}',
    scope: 'orchestration:write_orchestration_rule',
    summary: 'Delete an orchestration rule',
  },
  listOrchestrations: {
    method: 'GET',
    path: '/v2/orchestration/orchestrations',
    scope: 'orchestration:read_orchestration',
    summary: 'List orchestrations',
  },
  createOrchestration: {
    method: 'POST',
    path: '/v2/orchestration/orchestrations',
    scope: 'orchestration:write_orchestration',
    summary: 'Move funds out of a balance',
  },
  cancelOrchestration: {
    method: 'POST',
    path: '/v2/orchestration/orchestrations/{id}/cancel',
    scope: 'orchestration:write_orchestration',
    summary: 'Cancel an orchestration',
  },
  getOrchestrationPrice: {
    method: 'GET',
    path: '/v2/orchestration/orchestrations/{id}/price',
    scope: 'orchestration:read_orchestration',
    summary: 'Get a price’s evidence',
  },
  getOrchestration: {
    method: 'GET',
    path: '/v2/orchestration/orchestrations/{id}',
    scope: 'orchestration:read_orchestration',
    summary: 'Get one orchestration',
  },
  listEvents: {
    method: 'GET',
    path: '/v2/events',
    scope: 'events:read_event',
    summary: 'List events',
  },
  getEvent: {
    method: 'GET',
    path: '/v2/events/{id}',
    scope: 'events:read_event',
    summary: 'Get one event',
  },
  listUsage: {
    method: 'GET',
    path: '/v2/usage',
    scope: 'usage:read_usage',
    summary: 'List the own usage',
  },
  listWebhookEndpoints: {
    method: 'GET',
    path: '/v2/webhooks/endpoints',
    scope: 'events:write_webhook',
    summary: 'List webhook endpoints',
  },
  createWebhookEndpoint: {
    method: 'POST',
    path: '/v2/webhooks/endpoints',
    scope: 'events:write_webhook',
    summary: 'Create a webhook endpoint',
  },
  getWebhookEndpoint: {
    method: 'GET',
    path: '/v2/webhooks/endpoints/{id}',
    scope: 'events:write_webhook',
    summary: 'Get one webhook endpoint',
  },
  updateWebhookEndpoint: {
    method: 'PATCH',
    path: '/v2/webhooks/endpoints/{id}',
    scope: 'events:write_webhook',
    summary: 'Change a webhook endpoint, or rotate its secret',
  },
  deleteWebhookEndpoint: {
    method: 'DELETE',
    path: '/v2/webhooks/endpoints/{id}',
    scope: 'events:write_webhook',
    summary: 'Delete a webhook endpoint',
  },
  testWebhookEndpoint: {
    method: 'POST',
    path: '/v2/webhooks/endpoints/{id}/test',
    scope: 'events:write_webhook',
    summary: 'Send a test event to a webhook endpoint',
  },
  replayWebhookEndpoint: {
    method: 'POST',
    path: '/v2/webhooks/endpoints/{id}/replay',
    scope: 'events:write_webhook',
    summary: 'Send the events after a sequence again',
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/v2/webhooks/endpoints/{id}/deliveries',
    scope: 'events:write_webhook',
    summary: 'List the requests to a webhook endpoint',
  },
  createSandboxDeposit: {
    method: 'POST',
    path: '/v2/sandbox/profiles/{profile_id}/deposit',
    scope: 'funding:write_sandbox_deposit',
    summary: 'Make a deposit for testing',
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof OPERATIONS
