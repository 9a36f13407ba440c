/** Names of customers for lists that have only their ids; read once per session and again after a change. */
import { computed, signal } from '@preact/signals'
import { getPage, Problem } from '../base/api.ts'
import { can, session } from '../base/session.ts'

const CUSTOMERS_MAX = 1_000

const known = signal<ReadonlyMap<string, string>>(new Map())
let loadedFor: unknown

export const customerNames = computed(() => {
  if (session.value !== undefined && loadedFor !== session.value) void loadNames()
  return known.value
})

/** More customers than one page are shown by their ids. */
export async function loadNames(): Promise<void> {
  loadedFor = session.value
  if (!can('GET /customers')) return
  try {
    const { items } = await getPage('/customers', { limit: CUSTOMERS_MAX })
    known.value = new Map(items.map(({ id, name }) => [id, name]))
  } catch (error) {
    // The lists show the ids.
    if (!(error instanceof Problem)) throw error
  }
}
