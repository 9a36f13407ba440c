/**
 * Customer names for lists with only ids. A list asks for each id it shows. Unknown ids are read together, up to a
 * hundred per call. Names never change.
 */
import { signal } from '@preact/signals'
import { getPage, Problem } from '../base/api.ts'
import { can } from '../base/session.ts'

/** Ids per call. */
const IDS_MAX = 100

const known = signal<ReadonlyMap<string, string>>(new Map())
/** Ids being read, or without a customer. */
const asked = new Set<string>()
let waiting: string[] = []

/** A customer's name, undefined while unknown. A component that calls this is rendered again when the name arrives. */
export function customerName(id: string): string | undefined {
  const name = known.value.get(id)
  if (name === undefined && !asked.has(id) && can('GET /customers')) {
    asked.add(id)
    if (waiting.push(id) === 1) queueMicrotask(() => void readWaiting())
  }
  return name
}

/** Notes names returned by other calls. */
export function noteNames(customers: readonly { readonly id: string; readonly name: string }[]): void {
  known.value = new Map([...known.value, ...customers.map(({ id, name }) => [id, name] as const)])
}

async function readWaiting(): Promise<void> {
  const ids = waiting
  waiting = []
  for (let start = 0; start < ids.length; start += IDS_MAX) {
    const part = ids.slice(start, start + IDS_MAX)
    try {
      noteNames((await getPage('/customers', { ids: part.join(','), limit: IDS_MAX })).items)
    } catch (error) {
      // The lists show the ids, and ask again the next time they are shown.
      for (const id of part) asked.delete(id)
      if (!(error instanceof Problem)) throw error
    }
  }
}
