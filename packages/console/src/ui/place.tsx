/**
 * Where money comes from or goes to, with every character: a poisoned address differs from the right one only in its
 * middle. Every page and dialog for a decision about money shows this. Lists decide nothing and may shorten it.
 */
import { visible, words } from '../base/format.ts'
import { Badge, CopyButton } from './parts.tsx'

/** A record's source or destination: exactly one form, with its members. */
export type Place = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>

/** First who gets the money, then how it travels. Other members follow. */
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

/** @param isFirst true when no payment to this destination was settled before */
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

/** Addresses, hashes and account numbers: at least this many letters and digits without a separator. */
const GROUPED = /^(?:[0-9A-Za-z:]{20,}|[0-9A-Z]{9,})$/

/**
 * A text whose every character counts. Long addresses and numbers are shown in groups of four. The gaps are not
 * characters, so a copy contains no blanks. Invisible characters are shown by their code point.
 */
export function Exact({ of }: { readonly of: string }) {
  const groups = GROUPED.test(of) ? (of.match(/.{1,4}/g) ?? []) : [visible(of)]
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
