/**
 * Customers and clients by name: where a `tidegate admin` verb takes an id, it also takes the name, for a client also
 * as `CUSTOMER/CLIENT`. A text in the form of an id is an id. An unknown or ambiguous name is an error which shows how
 * to find the right one.
 */
import { isUuid } from '../../platform/base/ids.ts'
import { type AdminVerb, type Given, type Named, optionsOf, textOf } from './admin-verb.ts'
import { callOperator, type OperatorApi } from './operator-client.ts'

interface NamedRecord {
  readonly id?: string
  readonly client_id?: string
  readonly customer_id?: string
}

/** How many records with the same name an error lists. */
const SHOWN_MAX = 10

/** A verb's arguments and options, with ids where names were given. */
export async function withIds(
  api: OperatorApi,
  verb: AdminVerb,
  words: readonly string[],
  options: Given['options'],
): Promise<{ readonly words: readonly string[]; readonly options: Given['options'] }> {
  const ids = [...words]
  for (const [index, kind] of (verb.named ?? []).entries()) ids[index] = await idOf(api, kind, ids[index] as string)
  const resolved: Record<string, unknown> = { ...options }
  for (const { flags, named } of optionsOf(verb)) {
    const name = /--([a-z]+)/.exec(flags)?.[1] ?? ''
    const given = textOf(options[name])
    if (named !== undefined && given !== undefined) resolved[name] = await idOf(api, named, given)
  }
  return { words: ids, options: resolved }
}

async function idOf(api: OperatorApi, kind: Named, text: string): Promise<string> {
  if (isUuid(text)) return text
  if (kind === 'customer') {
    const [customer] = await find(api, '/customers', text)
    if (customer?.id !== undefined) return customer.id
    throw new Error(`there is no customer named '${text}': tidegate admin customer list shows all`)
  }
  return await clientIdOf(api, text)
}

async function clientIdOf(api: OperatorApi, text: string): Promise<string> {
  const [client, ...others] = await find(api, '/clients', text)
  if (client?.client_id !== undefined && others.length === 0) return client.client_id
  if (client !== undefined) {
    const ids = [client, ...others].map(({ client_id, customer_id }) => `${client_id} for customer ${customer_id}`)
    throw new Error(`several clients are named '${text}': use CUSTOMER/${text} or the id: ${ids.join(', ')}`)
  }
  const slash = text.indexOf('/')
  if (slash > 0) {
    const customerId = await idOf(api, 'customer', text.slice(0, slash))
    const [ofCustomer] = await find(api, `/customers/${encodeURIComponent(customerId)}/clients`, text.slice(slash + 1))
    if (ofCustomer?.client_id !== undefined) return ofCustomer.client_id
  }
  throw new Error(`there is no client named '${text}': tidegate admin client list CUSTOMER shows a customer’s clients`)
}

async function find(api: OperatorApi, path: string, name: string): Promise<readonly NamedRecord[]> {
  const answer = await callOperator(api, { method: 'GET', path, query: { name, limit: String(SHOWN_MAX) } })
  return (answer as { readonly items: readonly NamedRecord[] }).items
}
