/** Endpoints and requests to them, as customers and operators see them. */
import type { EndpointDocument } from './schemas.ts'
import type { ChangedEndpoint } from './service.ts'
import type { EndpointRow, RequestRow } from './store.ts'

export function endpointDocument({ row, secret }: ChangedEndpoint): EndpointDocument {
  const { id, url, types, status, disabled_reason, last_sequence, secrets, created_at } = row
  return {
    id,
    url,
    types: [...types],
    status,
    ...(disabled_reason === null ? {} : { disabled_reason }),
    last_sequence: Number(last_sequence),
    secrets: secrets.map((each) => ({ created_at: each.created_at })),
    ...(secret === undefined ? {} : { secret }),
    created_at,
  }
}

export function operatorDocument(changed: ChangedEndpoint) {
  const { customer_id, client_id }: EndpointRow = changed.row
  return { ...endpointDocument(changed), customer_id, client_id }
}

export function deliveryDocument({
  id,
  event_id,
  sequence,
  attempt,
  status,
  error,
  milliseconds,
  created_at,
}: RequestRow) {
  return {
    id,
    ...(event_id === null ? {} : { event_id }),
    ...(sequence === null ? {} : { sequence: Number(sequence) }),
    attempt,
    ...(status === null ? {} : { status }),
    ...(error === null ? {} : { error }),
    milliseconds,
    created_at,
  }
}
