/** A list's filters, kept in the page's address, so that a filtered list can be shared and reloaded. */
import { useLayoutEffect, useState } from 'preact/hooks'
import { words } from '../base/format.ts'
import { location, setQuery } from '../base/router.ts'

export function filterOf(name: string): string {
  return location.value.query.get(name) ?? ''
}

export function SelectFilter({
  name,
  label,
  options,
}: {
  readonly name: string
  readonly label: string
  readonly options: readonly (string | readonly [value: string, text: string])[]
}) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select value={filterOf(name)} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">All</option>
        {options.map((option) => {
          const [value, text] = typeof option === 'string' ? [option, words(option)] : option
          return (
            <option key={value} value={value}>
              {text}
            </option>
          )
        })}
      </select>
    </label>
  )
}

/** Applied when the field loses focus or on Enter. */
export function TextFilter({
  name,
  label,
  placeholder = '',
}: {
  readonly name: string
  readonly label: string
  readonly placeholder?: string
}) {
  const current = filterOf(name)
  const [text, setText] = useState(current)
  // At once: a later effect could discard the first typed characters.
  useLayoutEffect(() => setText(current), [current])
  const apply = (typed: string) => setQuery({ [name]: typed.trim() })
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => apply(event.currentTarget.value)}
      />
    </label>
  )
}
