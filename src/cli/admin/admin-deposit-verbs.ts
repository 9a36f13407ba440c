/** The operator's verbs for deposits. */
import { FIAT_NETWORKS } from '../../contract/assets.ts'
import { integer } from '../options/option-values.ts'
import { printable } from '../terminal/styled-line.ts'
import { type AdminNoun, type AdminOption, type Given, textOf } from './admin-verb.ts'
import { RELEASE_OPTIONS, releaseBody } from './release-options.ts'

const REASON: AdminOption = {
  flags: '--reason <text>',
  description: 'why, stored with the deposit',
  isRequired: true,
}
const FIAT_NETWORK_NAMES: readonly string[] = FIAT_NETWORKS

const REPORT_OPTIONS: readonly AdminOption[] = [
  { flags: '--source <name>', description: 'the reporting custodian or bank', isRequired: true },
  { flags: '--external-id <id>', description: "the source's own name for the payment", isRequired: true },
  { flags: '--asset <symbol>', description: 'a configured asset', isRequired: true },
  { flags: '--amount <number>', description: 'as decimal text', isRequired: true },
  { flags: '--network <name>', description: 'a crypto network, or WIRE or CUBIX', isRequired: true },
  { flags: '--address <address>', description: 'crypto: the receiving address' },
  { flags: '--tx-hash <hash>', description: 'crypto: transaction hash' },
  {
    flags: '--tx-index <number>',
    description: 'crypto: its output or log inside the transaction, -1 for a native EVM transfer',
    read: integer,
  },
  { flags: '--memo <memo>', description: 'fiat: the memo' },
  { flags: '--remittance <text>', description: 'fiat: the bank’s remittance text with the memo' },
  { flags: '--bank-reference <id>', description: "fiat: the bank's name for the payment" },
  { flags: '--sender <text>', description: 'fiat: the sender’s name' },
  { flags: '--status <status>', description: 'PENDING, COMPLETED (default) or FAILED' },
  { flags: '--confirmations <number>', description: 'number of confirmations', read: integer },
  { flags: '--occurred-at <time>', description: 'RFC 3339', isRequired: true },
]

/** An object's members with a value. */
function present(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function reportBody({ options }: Given) {
  const { source, externalId, asset, amount, network, status, confirmations, occurredAt } = options
  const isFiat = FIAT_NETWORK_NAMES.includes(textOf(network) ?? '')
  const fiat = present({
    network,
    memo_id: options.memo,
    remittance: options.remittance,
    bank_reference: options.bankReference,
    sender: options.sender,
  })
  const crypto = present({ network, address: options.address, tx_hash: options.txHash, tx_index: options.txIndex })
  const common = { source, external_id: externalId, asset, amount, status, confirmations, occurred_at: occurredAt }
  return present({ ...common, ...(isFiat ? { fiat } : { crypto }) })
}

function returnBody({ options }: Given) {
  const { reason, network, address, fiatAccount, memo } = options
  // The API refuses a crypto payment's memo. Without it, the payment could reach another beneficiary.
  const crypto = present({ address, network, memo })
  const fiat = present({ fiat_account_id: fiatAccount, memo, network })
  return { reason, ...(address === undefined ? {} : { crypto }), ...(fiatAccount === undefined ? {} : { fiat }) }
}

interface TraceAnswer {
  readonly deposit: Readonly<Record<string, unknown>>
  readonly names: Readonly<Record<string, string>>
  readonly entries: readonly { readonly at: string; readonly text: string }[]
}

/** A line about the deposit's current state, and one for every event. */
function traceText(answer: object): string {
  const { deposit, names, entries } = answer as TraceAnswer
  const { id, amount, asset, status, secondary_status, disposition } = deposit
  const handled = (disposition as { readonly code?: string } | undefined)?.code
  const state = [status, secondary_status, handled].filter((word) => word !== undefined).join(', ')
  const lines = entries.map(({ at, text }) => `${at}  ${text}`)
  const owners = Object.entries(names).map(([kind, name]) => `, ${kind} ${name}`)
  return `${[`Deposit ${id}: ${amount} ${asset}, ${state}${owners.join('')}`, '', ...lines].map(printable).join('\n')}\n`
}

export const DEPOSIT_NOUNS: readonly AdminNoun[] = [
  {
    name: 'deposit',
    description: 'all customers’ deposits: reports, holds, reversals, returns, and history',
    verbs: [
      {
        usage: 'list',
        description: 'lists deposits',
        example: 'deposit list --unattributed true',
        method: 'GET',
        path: '/deposits',
        options: [
          { flags: '--status <status>', description: 'PENDING, COMPLETED or FAILED' },
          { flags: '--secondary-status <status>', description: 'HELD, REJECTED, REVERSED or RETURNED' },
          { flags: '--disposition <code>', description: 'only this disposition' },
          { flags: '--customer <id|name>', description: 'only this customer’s', named: 'customer' },
          { flags: '--profile <id>', description: 'only this profile’s' },
          { flags: '--asset <symbol>', description: 'only this asset' },
          { flags: '--unattributed <true|false>', description: 'without a profile, or with one' },
        ],
        query: ({ options }) => ({
          status: textOf(options.status),
          secondary_status: textOf(options.secondaryStatus),
          disposition: textOf(options.disposition),
          customer_id: textOf(options.customer),
          profile_id: textOf(options.profile),
          asset: textOf(options.asset),
          unattributed: textOf(options.unattributed),
        }),
        columns: [
          'id',
          'customer_id',
          'profile_id',
          'amount',
          'asset',
          'status',
          'secondary_status',
          'disposition.code',
          'crypto.network',
          'fiat.network',
          'created_at',
        ],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one deposit',
        example: 'deposit show DEPOSIT_ID',
        method: 'GET',
        path: '/deposits/:id',
      },
      {
        usage: 'trace <id>',
        description: 'shows a deposit’s history, the oldest first',
        example: 'deposit trace DEPOSIT_ID',
        method: 'GET',
        path: '/deposits/:id/trace',
        text: traceText,
      },
      {
        usage: 'report',
        description: 'reports a payment, as custody or a bank does. Reporting it again changes nothing',
        example:
          'deposit report --source bank --external-id 7 --asset USD --amount 100 --network WIRE --memo 2XK4MB7QT9WD --occurred-at 2026-01-02T03:04:05Z',
        method: 'POST',
        path: '/deposits',
        options: REPORT_OPTIONS,
        body: reportBody,
      },
      {
        usage: 'assign <id> <profile>',
        description: 'assigns a deposit without a profile to one',
        example: 'deposit assign DEPOSIT_ID PROFILE_ID --run-rules',
        method: 'POST',
        path: '/deposits/:id/assign',
        options: [{ flags: '--run-rules', description: 'rules about the profile may convert it' }],
        body: ({ rest, options }) => ({ profile_id: rest[0], run_rules: options.runRules === true }),
      },
      {
        usage: 'correct <id>',
        description: 'reverses what a deposit credited, and credits it with the right terms',
        example: 'deposit correct DEPOSIT_ID --amount 5.5 --reason "the bank reported 5.05"',
        method: 'POST',
        path: '/deposits/:id/correct',
        options: [
          { flags: '--amount <number>', description: 'as decimal text' },
          { flags: '--asset <symbol>', description: 'a configured asset' },
          { flags: '--profile <id>', description: 'the profile it belongs to' },
          { flags: '--run-rules', description: 'rules may convert the new credit' },
          REASON,
        ],
        body: ({ options: { amount, asset, profile, runRules, reason } }) =>
          present({ amount, asset, profile_id: profile, run_rules: runRules, reason }),
      },
      {
        usage: 'hold <id>',
        description: 'keeps a deposit’s money from its profile',
        example: 'deposit hold DEPOSIT_ID --reason "the sender is unknown"',
        method: 'POST',
        path: '/deposits/:id/hold',
        options: [REASON],
        body: ({ options }) => ({ reason: options.reason }),
      },
      {
        usage: 'release <id>',
        description: 'opens gates that hold a deposit. After the last one, its rules apply if they have not yet',
        example: 'deposit release DEPOSIT_ID --gate REVIEW --seen VERSION --reason "the sender is known"',
        method: 'POST',
        path: '/deposits/:id/release',
        options: RELEASE_OPTIONS,
        body: releaseBody,
      },
      {
        usage: 'reject <id>',
        description: 'keeps a held deposit’s money until it is returned',
        example: 'deposit reject DEPOSIT_ID --reason "a sanctioned sender"',
        method: 'POST',
        path: '/deposits/:id/reject',
        options: [REASON],
        body: ({ options }) => ({ reason: options.reason }),
      },
      {
        usage: 'reverse <id>',
        description: 'takes a deposit back, as its bank has done. The profile owes what it no longer has',
        example: 'deposit reverse DEPOSIT_ID --reason "recalled by the bank"',
        method: 'POST',
        path: '/deposits/:id/reverse',
        options: [REASON],
        body: ({ options }) => ({ reason: options.reason }),
      },
      {
        usage: 'return <id>',
        description: 'sends a deposit’s money to the given destination',
        example: 'deposit return DEPOSIT_ID --reason "not wanted" --network ETHEREUM --address ADDRESS',
        method: 'POST',
        path: '/deposits/:id/return',
        options: [
          REASON,
          { flags: '--network <name>', description: 'a crypto network, or WIRE or CUBIX' },
          { flags: '--address <address>', description: 'crypto: where to' },
          { flags: '--fiat-account <id>', description: 'fiat: where to' },
          { flags: '--memo <memo>', description: 'fiat: what is written on it' },
        ],
        body: returnBody,
      },
    ],
  },
]
