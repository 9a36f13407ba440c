/**
 * The actions on a deposit. Actions that its state does not allow are not offered, but the service decides in any case.
 */
import { type Answer, call } from '../base/api.ts'
import { grouped } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { can, type FourEyesKind } from '../base/session.ts'
import { ask, type Field, type Values } from '../ui/action-dialog.tsx'
import { type Place, PlaceFacts } from '../ui/place.tsx'
import { canRelease, releaseBody, releaseFields } from './release.tsx'

const REASON: Field = { name: 'reason', label: 'Reason', kind: 'long', hint: 'stored with the deposit' }

interface DepositAction {
  readonly name: string
  readonly path: 'assign' | 'correct' | 'hold' | 'release' | 'reject' | 'reverse' | 'return'
  readonly isOffered: (deposit: Schema<'Deposit'>) => boolean
  readonly consequence: string
  readonly isDangerous?: boolean
  readonly fields?: (deposit: Schema<'Deposit'>) => readonly Field[]
  readonly run: (deposit: Schema<'Deposit'>, values: Values) => Promise<Answer<Schema<'Deposit'>>>
  readonly fourEyes?: FourEyesKind
}

/** How the payment arrived, in exactly one form. */
export function paymentOf({ crypto, fiat }: Schema<'Deposit'>): Place {
  return { crypto, fiat }
}

const isDone = ({ secondary_status }: Schema<'Deposit'>) =>
  secondary_status === 'REVERSED' || secondary_status === 'RETURNED'

const ACTIONS: readonly DepositAction[] = [
  {
    name: 'Assign',
    path: 'assign',
    isOffered: (deposit) => deposit.profile_id === undefined && deposit.status !== 'FAILED' && !isDone(deposit),
    consequence: 'The profile gets the money. Check the owner with the customer first.',
    fields: () => [
      {
        name: 'profile_id',
        label: 'Profile',
        hint: "the profile's id, from its customer's page",
        isExact: true,
      },
      { name: 'run_rules', label: 'Apply rules', kind: 'check', hint: 'converts and sends it if a rule matches' },
    ],
    run: ({ id }, { profile_id, run_rules }) =>
      call('POST', `/deposits/${id}/assign`, {
        profile_id: shownText(profile_id),
        ...(run_rules === true ? { run_rules } : {}),
      }),
    fourEyes: 'deposits',
  },
  {
    name: 'Correct',
    path: 'correct',
    isOffered: ({ secondary_status }) => secondary_status !== 'RETURNED',
    consequence:
      "All the deposit's credits are taken back, and the right terms are credited instead. Any part the profile no longer has becomes a debt, which the new credit repays first. Orchestrations already started continue.",
    isDangerous: true,
    fields: ({ amount, asset, profile_id }) => [
      { name: 'amount', label: 'Right amount', initial: amount },
      { name: 'asset', label: 'Right asset', initial: asset },
      {
        name: 'profile_id',
        label: 'Right profile',
        initial: profile_id ?? '',
        isOptional: profile_id === undefined,
        hint: "the profile's id, from its customer's page",
        isExact: true,
      },
      {
        name: 'run_rules',
        label: 'Apply rules',
        kind: 'check',
        hint: 'converts and sends the new credit if one matches',
      },
      REASON,
    ],
    run: (deposit, { run_rules, reason, ...typed }) =>
      call('POST', `/deposits/${deposit.id}/correct`, {
        ...changedTerms(deposit, typed),
        ...(run_rules === true ? { run_rules } : {}),
        reason,
      }),
    fourEyes: 'deposits',
  },
  {
    name: 'Hold',
    path: 'hold',
    isOffered: (deposit) =>
      deposit.secondary_status === undefined && deposit.status !== 'FAILED' && deposit.profile_id !== undefined,
    consequence: 'The money is credited but cannot be used, and no rule applies, until it is released.',
    fields: () => [REASON],
    run: ({ id }, { reason }) => call('POST', `/deposits/${id}/hold`, { reason }),
  },
  {
    name: 'Release',
    path: 'release',
    isOffered: ({ gates }) => canRelease(gates),
    consequence:
      'Once nothing else holds it, the money becomes available, and a matching rule applies at once: the money may be converted and sent.',
    fields: ({ gates }) => releaseFields(gates),
    run: ({ id, version }, values) => call('POST', `/deposits/${id}/release`, releaseBody(values, version)),
    fourEyes: 'deposits',
  },
  {
    name: 'Reject',
    path: 'reject',
    isOffered: ({ secondary_status }) => secondary_status === 'HELD',
    consequence: 'The money stays held: the customer cannot use it. Return it to its sender afterwards.',
    isDangerous: true,
    fields: () => [REASON],
    run: ({ id }, { reason }) => call('POST', `/deposits/${id}/reject`, { reason }),
  },
  {
    name: 'Reverse',
    path: 'reverse',
    isOffered: (deposit) => deposit.status === 'COMPLETED' && !isDone(deposit),
    consequence:
      'The payment was undone outside the service, for example by a bank: the amount is taken from the profile again. Any part already spent becomes a debt, and nothing leaves the profile until it is repaid.',
    isDangerous: true,
    fields: () => [REASON],
    run: ({ id }, { reason }) => call('POST', `/deposits/${id}/reverse`, { reason }),
    fourEyes: 'settlements',
  },
  {
    name: 'Return',
    path: 'return',
    isOffered: (deposit) => deposit.status === 'COMPLETED' && deposit.profile_id !== undefined && !isDone(deposit),
    consequence:
      'The money leaves as a delivery to the destination you enter, never automatically to the sender. Check it twice.',
    isDangerous: true,
    fields: ({ crypto }) => [
      ...(crypto === undefined
        ? [
            {
              name: 'fiat_account_id',
              label: 'Bank account',
              hint: 'the account id used by your bank',
              isExact: true,
            } as const,
            { name: 'memo', label: 'Memo', isOptional: true, isExact: true } as const,
          ]
        : [
            {
              name: 'address',
              label: `Address on ${crypto.network}`,
              hint: "the sender's, or as the customer asks",
              isExact: true,
            } as const,
          ]),
      REASON,
    ],
    run: ({ id, crypto }, { address, fiat_account_id, memo, reason }) => {
      const shownMemo = shownText(memo)
      return call('POST', `/deposits/${id}/return`, {
        reason,
        ...(crypto === undefined
          ? { fiat: { fiat_account_id: shownText(fiat_account_id), ...(shownMemo === '' ? {} : { memo: shownMemo }) } }
          : { crypto: { address: shownText(address), network: crypto.network } }),
      })
    },
    fourEyes: 'settlements',
  },
]

/** A typed text as the dialog repeats it, so that what was compared is what is sent. */
function shownText(typed: Values[string] | undefined): string {
  return String(typed ?? '').trim()
}

/**
 * The terms that differ from the deposit's: an old page takes back no other person's correction of the others. All of
 * them when none differs, which credits a reversed deposit again.
 */
function changedTerms(deposit: Schema<'Deposit'>, typed: Values): Readonly<Record<string, string>> {
  const terms = (['amount', 'asset', 'profile_id'] as const)
    .map((name) => [name, shownText(typed[name])] as const)
    .filter(([name, text]) => name !== 'profile_id' || text !== '')
  const changed = terms.filter(([name, text]) => text !== deposit[name])
  return Object.fromEntries(changed.length === 0 ? terms : changed)
}

export function DepositActions({
  deposit,
  reload,
}: {
  readonly deposit: Schema<'Deposit'>
  readonly reload: () => void
}) {
  const offered = ACTIONS.filter(({ path, isOffered }) => can(`POST /deposits/:id/${path}`) && isOffered(deposit))
  const start = ({ name, consequence, isDangerous = false, fields, fourEyes, run }: DepositAction) =>
    ask({
      title: `${name} ${grouped(deposit.amount)} ${deposit.asset}?`,
      consequence: (
        <>
          <p>{consequence}</p>
          <PlaceFacts of={paymentOf(deposit)} />
        </>
      ),
      confirm: name,
      isDangerous,
      ...(fields === undefined ? {} : { fields: fields(deposit) }),
      ...(fourEyes === undefined ? {} : { fourEyes }),
      run: (values) => run(deposit, values),
      done: () => {
        reload()
        return `${name}: done`
      },
    })
  return (
    <>
      {offered.map((action) => (
        <button key={action.path} type="button" onClick={() => start(action)}>
          {action.name}
        </button>
      ))}
    </>
  )
}
