/** A customer by name, as a link, and a list's filter by customer. */
import { useLayoutEffect, useState } from 'preact/hooks'
import { getPage, Problem } from '../base/api.ts'
import { shortId } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { href, setQuery } from '../base/router.ts'
import { customerName, noteNames } from '../pages/names.ts'
import { useCustomers } from './customer-search.ts'
import { filterOf } from './filters.tsx'

export function Customer({ id }: { readonly id: string | undefined }) {
  if (id === undefined) return null
  return <a href={href(`/customers/${id}`)}>{customerName(id) ?? shortId(id)}</a>
}

/**
 * A list's filter `customer`: while a name is typed, it offers the customers whose names begin with the text. It is
 * applied when one is chosen, when the field loses focus, or on Enter.
 */
export function CustomerFilter() {
  const chosen = filterOf('customer')
  const name = chosen === '' ? '' : (customerName(chosen) ?? shortId(chosen))
  const [text, setText] = useState(name)
  const [fault, setFault] = useState('')
  // At once: a later effect could discard the first typed characters.
  useLayoutEffect(() => setText(name), [name])
  const search = text.trim()
  const offered = useCustomers(search === name ? '' : search)
  const choose = (customer: Schema<'Customer'>) => {
    setFault('')
    noteNames([customer])
    setQuery({ customer: customer.id })
  }
  const apply = async (typed: string) => {
    setFault('')
    const wanted = typed.trim()
    if (wanted === name) return
    if (wanted === '') return setQuery({ customer: '' })
    try {
      const customer = await customerNamed(wanted)
      if (customer === undefined) setFault('No single customer matches')
      else choose(customer)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setFault(error.message)
    }
  }
  const type = (typed: string) => {
    setText(typed)
    const customer = offered.find((each) => each.name === typed)
    if (customer !== undefined) choose(customer)
  }
  return (
    <label class="filter">
      <span>Customer</span>
      <input
        type="search"
        list="customers-offered"
        value={text}
        placeholder="All"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={fault !== ''}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && void apply(event.currentTarget.value)}
        onBlur={(event) => void apply(event.currentTarget.value)}
      />
      <datalist id="customers-offered">
        {offered.map((customer) => (
          <option key={customer.id} value={customer.name} />
        ))}
      </datalist>
      {fault !== '' && (
        <small class="fault" role="alert">
          {fault}
        </small>
      )}
    </label>
  )
}

/** The customer with this name, or the only one whose name begins with it. */
async function customerNamed(text: string) {
  const { items: exact } = await getPage('/customers', { name: text, limit: 1 })
  if (exact[0] !== undefined) return exact[0]
  const { items: begun } = await getPage('/customers', { search: text, limit: 2 })
  return begun.length === 1 ? begun[0] : undefined
}
