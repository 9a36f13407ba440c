/**
 * The command palette: pages, markets, customers by name, and records by id. It offers only what the person may open.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../base/api.ts'
import { useResource } from '../base/resource.ts'
import { navigate } from '../base/router.ts'
import { can } from '../base/session.ts'
import { useCustomers } from '../ui/customer-search.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { PLACES } from './places.ts'

interface Choice {
  readonly path: string
  readonly label: string
  readonly note: string
  readonly icon: IconName
}

interface Named {
  readonly id: string
  readonly name: string
}

const CHOICES_MAX = 12
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The record kinds with ids. */
const RECORDS: readonly (readonly [path: string, noun: string, needs: string])[] = [
  ['/money/deposits', 'Deposit', 'GET /deposits/:id'],
  ['/money/orchestrations', 'Orchestration', 'GET /orchestrations/:id'],
  ['/money/deliveries', 'Delivery', 'GET /deliveries/:id'],
  ['/customers', 'Customer', 'GET /customers/:id'],
  ['/clients', 'Client', 'GET /clients/:id'],
  ['/customers/connections', 'Connection', 'GET /connections/:id'],
  ['/review/accounts', 'Account', 'GET /accounts/:id'],
  ['/review/rules', 'Rule', 'GET /rules/:id'],
  ['/review/destinations', 'Destination', 'GET /destinations/:id'],
  ['/review/screening', 'Screening', 'GET /screening/:id'],
  ['/review/requests', 'Request for a second person', 'GET /change-requests/:id'],
  ['/money/profiles', 'Profile', 'GET /profiles/:id/balances'],
  ['/webhook-endpoints', 'Webhook endpoint', 'GET /webhook-endpoints/:id'],
]

export function Palette({ close }: { readonly close: () => void }) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  // Before the next key, which must reach the dialog.
  useLayoutEffect(() => element.current?.showModal(), [])
  const known = useResource('palette', async (signal) => {
    const { items } = await get('/markets', {}, signal)
    return items.map(({ symbol }) => symbol)
  })
  const wanted = text.trim()
  const customers = useCustomers(ID.test(wanted) ? '' : wanted)
  const choices = useMemo(() => choicesFor(wanted, known.document, customers), [wanted, known.document, customers])
  // The list may have become shorter since.
  const index = Math.max(0, Math.min(selected, choices.length - 1))
  const open = (choice: Choice | undefined) => {
    if (choice === undefined) return
    element.current?.close()
    navigate(choice.path)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setSelected(Math.min(index + 1, choices.length - 1))
    else if (event.key === 'ArrowUp') setSelected(Math.max(index - 1, 0))
    else if (event.key === 'Enter') open(choices[index])
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={element} class="palette" aria-label="Find or go to" onClose={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Find or go to"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-activedescendant={choices.length > 0 ? `choice-${index}` : undefined}
          placeholder="A page, a market, a customer, or an id"
          value={text}
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setSelected(0)
          }}
          onKeyDown={onKey}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id="palette-choices" role="listbox" aria-label="Choices">
        {choices.map((choice, position) => (
          <li
            key={choice.path}
            id={`choice-${position}`}
            role="option"
            aria-selected={position === index}
            onClick={() => open(choice)}
            onMouseMove={(event) => hasMoved(event) && setSelected(position)}
          >
            <Icon name={choice.icon} />
            <span>{choice.label}</span>
            <span class="quiet">{choice.note}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="quiet palette-none">Nothing has this name. Ids must be complete.</p>}
    </dialog>
  )
}

/** Browsers report a mouse move when a list appears below a resting mouse. */
function hasMoved({ movementX, movementY }: MouseEvent): boolean {
  return movementX !== 0 || movementY !== 0
}

function choicesFor(
  text: string,
  markets: readonly string[] = [],
  customers: readonly Named[] = [],
): readonly Choice[] {
  const wanted = text.toLowerCase()
  if (ID.test(wanted)) {
    return RECORDS.filter(([, , needs]) => can(needs)).map(([path, noun]) => ({
      path: `${path}/${wanted}`,
      label: `${noun} ${wanted.slice(0, 8)}…`,
      note: 'by id',
      icon: 'search' as const,
    }))
  }
  const fits = (name: string) => name.toLowerCase().includes(wanted)
  return [
    ...PLACES.filter(({ label, words = '', needs }) => can(needs) && (fits(label) || fits(words))).map(
      ({ path, label, icon, key }) => ({ path, label, icon, note: `g ${key}` }),
    ),
    ...markets
      .filter(fits)
      .map((symbol) => ({ path: `/markets/${symbol}`, label: symbol, note: 'market', icon: 'markets' as const })),
    ...customers.map(({ id, name }) => ({
      path: `/customers/${id}`,
      label: name,
      note: 'customer',
      icon: 'customers' as const,
    })),
  ].slice(0, CHOICES_MAX)
}
