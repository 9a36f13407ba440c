/** A customer by name, as a link. */
import { shortId } from '../base/format.ts'
import { href } from '../base/router.ts'
import { customerNames } from '../pages/names.ts'

export function Customer({ id }: { readonly id: string | undefined }) {
  if (id === undefined) return null
  return <a href={href(`/customers/${id}`)}>{customerNames.value.get(id) ?? shortId(id)}</a>
}

/** The choices of a filter by customer. */
export function customerOptions(): readonly (readonly [value: string, text: string])[] {
  return [...customerNames.value].sort(([, left], [, right]) => left.localeCompare(right))
}
