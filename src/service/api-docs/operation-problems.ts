/**
 * The problems that each REST operation can return, from which the API description lists every status. Problems common
 * to all operations are stated once. Others follow from method and path, or are a table row.
 */
import { OPERATIONS, type OperationId } from '../../contract/operations.ts'
import { PROBLEMS, type ProblemCode } from '../../platform/http/problem.ts'

const EVERYWHERE: readonly ProblemCode[] = [
  'invalid_request',
  'unauthorized',
  'invalid_token',
  'insufficient_scope',
  'disabled',
  'request_timeout',
  'rate_limited',
  'too_many_connections',
  'too_many_unread_answers',
  'headers_too_large',
  'internal',
  'unavailable',
]

/** Problems for every operation with a body. */
const WITH_BODY: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type']

/** Problems for operations that may create a deposit address, including the operator's `POST /rules/:id/approve`. */
export const ADDRESS_CREATION: readonly ProblemCode[] = [
  'not_found',
  'account_blocked',
  'account_not_approved',
  'already_exists',
  'quota_exceeded',
  'daily_quota_exceeded',
  'address_unavailable',
  'pool_empty',
  'pool_reserved',
]

/** Problems for a destination that may not be paid. */
const UNREGISTERED: readonly ProblemCode[] = ['destination_not_registered', 'destination_cooling']

const DESTINATION_CREATION: readonly ProblemCode[] = [
  'not_found',
  'account_blocked',
  'already_exists',
  'quota_exceeded',
  'daily_quota_exceeded',
  'encryption_key_missing',
]

/** Problems that do not follow from method and path. */
const OF_ITS_OWN: Readonly<Record<OperationId, readonly ProblemCode[]>> = {
  listMarkets: [],
  getOrderBook: ['not_allowed', 'not_found', 'market_not_live', 'role_missing'],
  listTrades: ['not_allowed', 'not_found', 'role_missing'],
  getTicker: ['not_allowed', 'not_found', 'market_not_live', 'role_missing'],
  listCandles: ['not_allowed', 'not_found', 'market_not_live', 'role_missing'],
  getClient: [],
  listEvents: ['invalid_cursor', 'events_expired'],
  getEvent: [],
  listUsage: ['invalid_cursor'],
  listAccounts: ['invalid_cursor'],
  createAccount: ['already_exists', 'quota_exceeded', 'daily_quota_exceeded'],
  updateAccount: ['not_found', 'already_exists'],
  getAccount: [],
  listProfiles: ['invalid_cursor'],
  getProfile: [],
  listBalances: [],
  listTransfers: ['invalid_cursor'],
  getTransfer: [],
  listLimits: [],
  listDepositAddresses: ['invalid_cursor'],
  getDepositAddress: [],
  createDepositAddress: ADDRESS_CREATION,
  listFiatDepositInstructions: ['invalid_cursor'],
  getFiatDepositInstructions: [],
  createFiatDepositInstructions: [
    'fiat_network_unavailable',
    'not_found',
    'account_blocked',
    'account_not_approved',
    'already_exists',
    'quota_exceeded',
    'daily_quota_exceeded',
  ],
  listCryptoDestinationAddresses: ['invalid_cursor'],
  getCryptoDestinationAddress: [],
  createCryptoDestinationAddress: [...DESTINATION_CREATION, 'own_address'],
  deleteCryptoDestinationAddress: ['invalid_state'],
  listFiatAccounts: ['invalid_cursor'],
  getFiatAccount: [],
  createFiatAccount: DESTINATION_CREATION,
  deleteFiatAccount: ['invalid_state'],
  listRules: ['invalid_cursor'],
  getRule: [],
  createRule: ['own_address', 'fiat_network_unavailable', ...UNREGISTERED, ...ADDRESS_CREATION],
  deleteRule: ['invalid_state'],
  listOrchestrations: ['invalid_cursor'],
  createOrchestration: [
    'own_address',
    ...UNREGISTERED,
    'account_blocked',
    'account_not_approved',
    'limit_exceeded',
    'insufficient_funds',
    'receivable',
    'paused',
    'not_found',
    'already_exists',
    'encryption_key_missing',
  ],
  cancelOrchestration: ['invalid_state'],
  getOrchestration: [],
  getOrchestrationPrice: [],
  listWebhookEndpoints: ['invalid_cursor'],
  createWebhookEndpoint: ['quota_exceeded', 'invalid_state', 'encryption_key_missing'],
  getWebhookEndpoint: [],
  updateWebhookEndpoint: ['invalid_state', 'encryption_key_missing'],
  deleteWebhookEndpoint: [],
  testWebhookEndpoint: ['invalid_state'],
  replayWebhookEndpoint: ['invalid_state'],
  listWebhookDeliveries: ['invalid_cursor'],
  createSandboxDeposit: ['not_found', 'already_exists'],
}

/** By status, in the problem table's order. */
export function problemsOf(operationId: OperationId): ReadonlyMap<number, readonly ProblemCode[]> {
  const { method, path, scope } = OPERATIONS[operationId]
  const codes = new Set<ProblemCode>([...EVERYWHERE, ...OF_ITS_OWN[operationId]])
  if (scope === undefined) codes.delete('insufficient_scope')
  if (method !== 'GET') for (const code of WITH_BODY) codes.add(code)
  if (path.includes('{')) codes.add('not_found')
  const byStatus = new Map<number, ProblemCode[]>()
  for (const [code, { status }] of Object.entries(PROBLEMS) as [ProblemCode, { status: number }][]) {
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return byStatus
}
