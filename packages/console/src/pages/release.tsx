/** Closed gates, and the fields of a release: the gates to open, all preselected, and the reason. */

import { words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import type { Field, Values } from '../ui/action-dialog.tsx'

type Gates = NonNullable<Schema<'Deposit'>['gates']>
type Code = Gates[number]['code']

/** The gates that a release may open. */
const RELEASABLE = [
  'ACCOUNT_BLOCKED',
  'RECEIVABLE',
  'LIMIT',
  'REVIEW',
  'OPERATOR_HOLD',
] as const satisfies readonly Code[]

type Releasable = (typeof RELEASABLE)[number]

function isReleasable(code: Code): code is Releasable {
  return (RELEASABLE as readonly Code[]).includes(code)
}

/** Whether a release may open one of these gates. */
export function canRelease(gates: Gates | undefined): boolean {
  return (gates ?? []).some(({ code }) => isReleasable(code))
}

export function releaseFields(gates: Gates = []): readonly Field[] {
  const offered = gates.filter(({ code }) => isReleasable(code))
  const others = gates.filter(({ code }) => !isReleasable(code))
  const stays = others.map(({ code, detail }) => `${words(code)} (${detail})`).join(', ')
  return [
    {
      name: 'gates',
      label: 'Released from',
      kind: 'checks',
      initial: offered.map(({ code }) => code),
      options: offered.map(({ code, detail }) => [code, `${words(code)}: ${detail}`]),
      ...(stays === '' ? {} : { hint: `still closed afterwards: ${stays}` }),
    },
    { name: 'reason', label: 'Reason', kind: 'long', hint: 'kept in the audit trail' },
  ]
}

/** The call's body. The version is the one of the record that the person sees. */
export function releaseBody({ gates, reason }: Values, version: string) {
  const chosen: readonly string[] = Array.isArray(gates) ? gates : []
  return { gates: RELEASABLE.filter((gate) => chosen.includes(gate)), version, reason: String(reason) }
}

/** All closed gates, where there are several: one is shown as the reason to wait. */
export function ClosedGates({ gates = [] }: { readonly gates?: Gates | undefined }) {
  if (gates.length < 2) return null
  return (
    <div class="notice">
      <p>Closed gates:</p>
      <ul>
        {gates.map(({ code, detail }) => (
          <li key={code}>
            {words(code)}: {detail}
          </li>
        ))}
      </ul>
    </div>
  )
}
