/** The actions on a deposit. Those that its state does not allow are not offered; the service decides in any case. */
import { call } from '../base/api.ts'
import { grouped } from '../base/format.ts'
import { can } from '../base/session.ts'
import { ask, type Field, type Values } from '../ui/action-dialog.tsx'
import type { DepositDocument } from './money-documents.ts'

const REASON: Field = { name: 'reason', label: 'Reason', kind: 'long', hint: 'stored with the deposit' }

interface DepositAction {
  readonly name: string
  readonly path: string
  readonly isOffered: (deposit: DepositDocument) => boolean
  readonly consequence: string
  readonly isDangerous?: boolean
  readonly fields?: (deposit: DepositDocument) => readonly Field[]
  readonly body?: (values: Values, deposit: DepositDocument) => object
  readonly fourEyes?: 'settlements'
}

const isDone = ({ secondary_status }: DepositDocument) =>
  secondary_status === 'REVERSED' || secondary_status === 'RETURNED'

const ACTIONS: readonly DepositAction[] = [
  {
    name: 'Assign',
    path: 'assign',
    isOffered: (deposit) => deposit.profile_id === undefined && deposit.status !== 'FAILED' && !isDone(deposit),
    consequence: 'The profile gets the money. This cannot be undone: check the owner with the customer first.',
    fields: () => [
      { name: 'profile_id', label: 'Profile', hint: 'the id of the profile, from the page of its customer' },
      { name: 'run_rules', label: 'Apply rules', kind: 'check', hint: 'converts and sends it if a rule matches' },
    ],
    body: ({ profile_id, run_rules }) => ({
      profile_id: String(profile_id).trim(),
      ...(run_rules === true ? { run_rules } : {}),
    }),
  },
  {
    name: 'Hold',
    path: 'hold',
    isOffered: (deposit) =>
      deposit.secondary_status === undefined && deposit.status !== 'FAILED' && deposit.profile_id !== undefined,
    consequence: 'The money is credited but cannot be used, and no rule applies, until it is released.',
  },
  {
    name: 'Release',
    path: 'release',
    isOffered: ({ secondary_status }) => secondary_status === 'HELD',
    consequence:
      'The money becomes available, and the rule that matches applies at once: it may be converted and sent.',
  },
  {
    name: 'Reject',
    path: 'reject',
    isOffered: ({ secondary_status }) => secondary_status === 'HELD',
    consequence: 'The money stays held: the customer cannot use it. Return it to its sender afterwards.',
    isDangerous: true,
    fields: () => [REASON],
    body: ({ reason }) => ({ reason }),
  },
  {
    name: 'Reverse',
    path: 'reverse',
    isOffered: (deposit) => deposit.status === 'COMPLETED' && !isDone(deposit),
    consequence:
      'The payment was undone outside, such as by a bank: the amount is taken from the profile again. What the customer has spent becomes a debt, and nothing leaves the profile until it is repaid.',
    isDangerous: true,
    fields: () => [REASON],
    body: ({ reason }) => ({ reason }),
    fourEyes: 'settlements',
  },
  {
    name: 'Return',
    path: 'return',
    isOffered: (deposit) => deposit.status === 'COMPLETED' && deposit.profile_id !== undefined && !isDone(deposit),
    consequence:
      'The money leaves as a delivery to the destination that you enter, never automatically to the sender. Check it twice.',
    isDangerous: true,
    fields: ({ crypto }) => [
      ...(crypto === undefined
        ? [
            {
              name: 'fiat_account_id',
              label: 'Bank account',
              hint: 'the id of the account as your bank knows it',
            } as const,
            { name: 'memo', label: 'Memo', isOptional: true } as const,
          ]
        : [
            {
              name: 'address',
              label: `Address on ${crypto.network}`,
              hint: 'of the sender or as the customer asks',
            } as const,
          ]),
      REASON,
    ],
    body: ({ address, fiat_account_id, memo, reason }, { crypto }) =>
      crypto === undefined
        ? { reason, fiat: { fiat_account_id, ...(memo === '' ? {} : { memo }) } }
        : { reason, crypto: { address: String(address).trim(), network: crypto.network } },
    fourEyes: 'settlements',
  },
]

export function DepositActions({
  deposit,
  reload,
}: {
  readonly deposit: DepositDocument
  readonly reload: () => void
}) {
  const offered = ACTIONS.filter(({ path, isOffered }) => can(`POST /deposits/:id/${path}`) && isOffered(deposit))
  const start = ({ name, path, consequence, isDangerous = false, fields, body, fourEyes }: DepositAction) =>
    ask<DepositDocument>({
      title: `${name} ${grouped(deposit.amount)} ${deposit.asset}?`,
      consequence: <p>{consequence}</p>,
      confirm: name,
      isDangerous,
      ...(fields === undefined ? {} : { fields: fields(deposit) }),
      ...(fourEyes === undefined ? {} : { fourEyes }),
      run: (values) => call('POST', `/deposits/${deposit.id}/${path}`, body?.(values, deposit) ?? {}),
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
