/**
 * Which tokens a directory change can affect, by comparing records before and after it: the tokens of named customers
 * and clients, or all. Modules with connections opened by tokens check only these. Secrets, and keys that only begin or
 * cease to sign, affect no issued token. Pure.
 */
import type { ClientRecord, CustomerRecord } from './directory-records.ts'
import { isEqualClient } from './record-differences.ts'

export interface AffectedTokens {
  /** Any token may be affected. */
  readonly all: boolean
  readonly customerIds: ReadonlySet<string>
  /** Ids as tokens have them. For an external issuer's clients, `clientKey`. */
  readonly clientIds: ReadonlySet<string>
}

/** How an external issuer's tokens name their client. Ids contain no slash, so different pairs have different texts. */
export function clientKey({ customerId, name }: { readonly customerId: string; readonly name: string }): string {
  return `${customerId}/${name}`
}

/** Collects the tokens affected by the parts of one change. */
export class AffectedCollector implements AffectedTokens {
  all = false
  readonly customerIds = new Set<string>()
  readonly clientIds = new Set<string>()

  /** Compares a customer with its next record. `undefined`: there is none. */
  customer(before: CustomerRecord | undefined, after: CustomerRecord | undefined): void {
    const id = after?.id ?? before?.id
    if (id === undefined) return
    const isSame =
      before?.enabled === after?.enabled && before?.streaming === after?.streaming && before?.plan === after?.plan
    if (!isSame) this.customerIds.add(id)
  }

  /** Compares a client with its next record. `undefined`: there is none. */
  client(before: ClientRecord | undefined, after: ClientRecord | undefined): void {
    if (before !== undefined && after !== undefined && isEqualClient(before, after)) return
    for (const record of [before, after]) if (record !== undefined) this.planOfClient(record)
  }

  /** The bounds in the customer's plan changed. */
  planOfCustomer({ id }: CustomerRecord): void {
    this.customerIds.add(id)
  }

  /** The bounds in the client's own plan changed. */
  planOfClient(client: ClientRecord): void {
    this.clientIds.add(client.clientId)
    this.clientIds.add(clientKey(client))
  }

  /** One of this client's tokens was revoked. */
  revokedTokenOf(clientId: string): void {
    this.clientIds.add(clientId)
  }

  /** Compares the keys whose tokens are no longer accepted. */
  revokedKeys(before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    if ([...after].some((keyId) => !before.has(keyId))) this.all = true
  }
}
