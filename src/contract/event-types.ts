/**
 * The types of customers' events, and the scopes with which a client reads their objects. Triggers in the store write
 * the types: see the migration `events`. Pure.
 */
import type { Scope } from './scopes.ts'

/** The objects of events (`data.object_type`), each with the scope to read it. Undefined: any client. */
export const EVENT_OBJECTS = {
  account: 'identity:read_account',
  deposit_address: 'transfer:read_deposit_address',
  crypto_destination_address: 'transfer:read_crypto_destination_address',
  fiat_account: 'transfer:read_fiat_account',
  orchestration_rule: 'orchestration:read_orchestration_rule',
  transfer: 'transfer:read_transfer',
  orchestration: 'orchestration:read_orchestration',
  secret: undefined,
  webhook_endpoint: 'events:write_webhook',
} as const satisfies Record<string, Scope | undefined>

export type EventObject = keyof typeof EVENT_OBJECTS

/** Every type with its change. The last part is the object's visible state after the change. */
export const EVENT_TYPES = {
  'identity.account.pending': 'an account was created and waits for its approval',
  'identity.account.approved': 'an account was approved, or enabled again',
  'identity.account.denied': 'an account was denied',
  'identity.account.error': 'an account’s review met an error',
  'identity.account.disabled': 'an account was disabled',
  'identity.account.updated': 'an account’s members, description, metadata or ref_id changed',
  'transfer.deposit_address.created': 'a deposit address was created',
  'transfer.destination.pending': 'a destination was registered and waits for its approval',
  'transfer.destination.active': 'a destination was registered or approved. It is paid from its `usable_at` on',
  'transfer.destination.rejected': 'a destination was rejected',
  'transfer.destination.deleted': 'a destination was deleted',
  'orchestration.rule.pending': 'a rule was created and waits for its approval',
  'orchestration.rule.active': 'a rule was created or approved, and is active',
  'orchestration.rule.rejected': 'a rule was rejected',
  'orchestration.rule.deleted': 'a rule was deleted',
  'transfer.deposit.pending': 'a deposit was seen and is not final',
  'transfer.deposit.completed': 'a deposit was credited, or its hold has ended',
  'transfer.deposit.failed': 'a deposit was dropped or corrected. Its transfer has no effect',
  'transfer.deposit.held': 'a deposit is on hold',
  'transfer.deposit.reversed': 'a deposit was taken back by the bank',
  'transfer.deposit.returned': 'a deposit was returned to its sender',
  'transfer.transfer.pending': 'a withdrawal was created and has not left',
  'transfer.transfer.completed': 'a withdrawal, conversion or internal transfer is complete',
  'transfer.transfer.failed': 'a withdrawal failed, and its amount was returned to the balance',
  'transfer.transfer.held': 'a transfer is on hold',
  'transfer.transfer.reversed': 'a transfer was reversed',
  'transfer.transfer.returned': 'a transfer was returned',
  'orchestration.orchestration.processing': 'an orchestration was started, or continues after a wait',
  'orchestration.orchestration.waiting': 'an orchestration waits. `waiting_for` in it names the reason',
  'orchestration.orchestration.completed': 'an orchestration is complete',
  'orchestration.orchestration.failed': 'an orchestration failed',
  'transfer.limit.reached': 'an orchestration waits because its payment is above a limit',
  'auth.secret.created': 'a client’s secret was created',
  'auth.secret.deleted': 'a client’s secret was deleted',
  'webhook.endpoint.disabled': 'a webhook endpoint was disabled. `disabled_reason` in it says why',
} as const

export type EventType = keyof typeof EVENT_TYPES

/** The objects readable with these scopes. */
export function readableObjects(scopes: ReadonlySet<string>): readonly EventObject[] {
  return (Object.keys(EVENT_OBJECTS) as EventObject[]).filter((object) => {
    const scope = EVENT_OBJECTS[object]
    return scope === undefined || scopes.has(scope)
  })
}
