/**
 * Where money comes from or goes to, with every character: a poisoned address differs from the right one in its middle only.
 * Whatever decides about money shows this; lists, which decide nothing, may shorten.
 */
import { words } from '../base/format.ts'
import { Badge, CopyButton } from './parts.tsx'

/** A source or a destination of any record: exactly one form, with its members. */
export type Place = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>

/** Who gets the money first, then how it travels; other members follow. */
const NAMES: Readonly<Record<string, string>> = {
  address: 'Address',
  fiat_account_id: 'Bank account',
  profile_id: 'Balance of the profile',
  memo: 'Memo',
  memo_id: 'Memo',
  sender: 'Sender',
  remittance: 'Remittance',
  bank_reference: 'Bank reference',
  tx_hash: 'Transaction',
  tx_index: 'Output',
  network: 'Network',
}

const ORDER = Object.keys(NAMES)

/** @param isFirst no payment to it was settled before */
export function PlaceFacts({ of, isFirst = false }: { readonly of: Place; readonly isFirst?: boolean | undefined }) {
  const members = Object.values(of).flatMap((form = {}) => Object.entries(form))
  const rank = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)
  return (
    <div class="place">
      {isFirst && <Badge tone="warn">First payment to this destination</Badge>}
      <dl>
        {members
          .filter(([, value]) => value !== undefined && value !== '')
          .sort(([left], [right]) => rank(left) - rank(right))
          .map(([name, value]) => (
            <div key={name}>
              <dt>{NAMES[name] ?? words(name)}</dt>
              <dd>{name === 'network' ? words(String(value)) : <Exact of={String(value)} />}</dd>
            </div>
          ))}
      </dl>
    </div>
  )
}

/** Addresses, hashes and account numbers: letters and digits without a sign between them. */
const GROUPED = /^(?:[0-9A-Za-z:]{20,}|[0-9A-Z]{9,})$/
/** Characters that a person does not see, or that reorder what is seen. */
const INVISIBLE = /\p{C}|[^\P{Z} ]/gu

/**
 * Text of which every character counts. Long addresses and numbers are in groups of four, whose gaps are no characters: what
 * is copied has no blanks. Invisible characters are shown by their number.
 */
export function Exact({ of }: { readonly of: string }) {
  const groups = GROUPED.test(of) ? (of.match(/.{1,4}/g) ?? []) : [of.replace(INVISIBLE, (sign) => numberOf(sign))]
  return (
    <span class="exact mono">
      <span>
        {groups.map((group, index) => (
          <span key={index}>
            <span class="group">{group}</span>
            <wbr />
          </span>
        ))}
      </span>
      <CopyButton of={of} />
    </span>
  )
}

function numberOf(sign: string): string {
  return `[U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`
}
