/** The operator's verbs about the ledger. How a statement is written, for people and as CSV, is here too. */

import { csvField } from '../../platform/base/csv.ts'
import { printable } from '../terminal/styled-line.ts'
import { tableLines } from '../terminal/table.ts'
import { type AdminNoun, textOf, timeOf } from './admin-verb.ts'

const LINE_COLUMNS = [
  'created_at',
  'effective_at',
  'posting_id',
  'group_id',
  'debit',
  'debit_profile_id',
  'credit',
  'credit_profile_id',
  'amount',
  'change',
  'balance',
] as const

type Line = Readonly<Partial<Record<(typeof LINE_COLUMNS)[number], string>>>

interface Statement {
  readonly from: string
  readonly to: string
  readonly assets: readonly {
    readonly asset: string
    readonly opening: { readonly balance: string }
    readonly lines: readonly Line[]
    readonly closing: { readonly balance: string }
  }[]
}

export const LEDGER_NOUNS: readonly AdminNoun[] = [
  {
    name: 'statement',
    description: 'a profile’s postings',
    verbs: [
      {
        usage: 'show',
        isDefault: true,
        description: 'a profile’s balances when a period starts and ends, and every posting between',
        example: 'statement --profile PROFILE_ID --from 2026-11-01 --to 2026-12-01 --csv',
        method: 'GET',
        path: '/profiles/:id/statement',
        pathOptions: ['profile'],
        options: [
          { flags: '--profile <id>', description: 'the profile', isRequired: true },
          {
            flags: '--from <time>',
            description: 'start, like 2006-01-02T15:04:05Z, or a day in UTC',
            isRequired: true,
          },
          { flags: '--to <time>', description: 'end, not included', isRequired: true },
          { flags: '--csv', description: 'comma-separated values, on a terminal too' },
        ],
        query: ({ options }) => ({ from: timeOf(options.from), to: timeOf(options.to) }),
        otherText: (answer, { csv }) => (csv === true ? statementCsv(answer as Statement) : undefined),
        text: (answer) => statementText(answer as Statement),
      },
    ],
  },
  {
    name: 'ledger',
    description: 'whether balances, transfers and postings agree',
    verbs: [
      {
        usage: 'show',
        description: 'shows what comparing balances, transfers and postings found',
        example: 'ledger show',
        method: 'GET',
        path: '/ledger',
      },
    ],
  },
  {
    name: 'ledger entry',
    description: 'your own entries about the desk, fees and profiles’ debts',
    verbs: [
      {
        usage: 'create <kind>',
        description:
          'books desk_hedge, desk_funding, desk_withdrawal, fee_sweep, network_cost, debt_repayment or write_off',
        example:
          'ledger entry create desk_hedge --leg USD:30000:IN --leg BTC:0.5:OUT --reference "trade 7" --reason "hedge of the day"',
        method: 'POST',
        path: '/ledger/entries',
        options: [
          {
            flags: '--leg <leg...>',
            description: 'ASSET:AMOUNT, for a hedge ASSET:AMOUNT:IN and :OUT',
            isRequired: true,
          },
          { flags: '--profile <id>', description: 'for debt_repayment and write_off' },
          { flags: '--reference <text>', description: 'your own name for it: booked once', isRequired: true },
          { flags: '--reason <text>', description: 'why', isRequired: true },
          { flags: '--effective-at <time>', description: 'when it happened (default: now)' },
        ],
        body: ({ rest: [kind], options }) => ({
          kind,
          legs: (options.leg as readonly string[]).map(legOf),
          reference: options.reference,
          reason: options.reason,
          ...(options.profile === undefined ? {} : { profile_id: options.profile }),
          ...(options.effectiveAt === undefined ? {} : { effective_at: options.effectiveAt }),
        }),
      },
      {
        usage: 'list',
        description: 'lists entries',
        example: 'ledger entry list --kind write_off',
        method: 'GET',
        path: '/ledger/entries',
        options: [
          { flags: '--kind <kind>', description: 'only this kind' },
          { flags: '--reference <text>', description: 'only this reference' },
          { flags: '--profile <id>', description: 'only this profile’s' },
        ],
        query: ({ options }) => ({
          kind: textOf(options.kind),
          reference: textOf(options.reference),
          profile_id: textOf(options.profile),
        }),
        columns: ['id', 'kind', 'legs', 'profile_id', 'reference', 'reverses', 'reversed_by', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one entry, or its reversal',
        example: 'ledger entry show ENTRY_ID',
        method: 'GET',
        path: '/ledger/entries/:id',
      },
      {
        usage: 'reverse <id>',
        description: 'books an entry’s opposite, once',
        example: 'ledger entry reverse ENTRY_ID --reason "booked twice"',
        method: 'POST',
        path: '/ledger/entries/:id/reverse',
        options: [{ flags: '--reason <text>', description: 'why', isRequired: true }],
        body: ({ options }) => ({ reason: options.reason }),
      },
    ],
  },
]

/** ASSET:AMOUNT or ASSET:AMOUNT:DIRECTION. */
function legOf(text: string) {
  const [asset, amount, direction, ...others] = text.split(':')
  if (!asset || !amount || others.length > 0)
    throw new Error(`--leg must be ASSET:AMOUNT or ASSET:AMOUNT:IN, not ${text}`)
  return { asset, amount, ...(direction === undefined ? {} : { direction }) }
}

/** Per asset an opening row, the lines, and a closing row. */
function statementCsv({ from, to, assets }: Statement): string {
  const header = ['entry', 'asset', ...LINE_COLUMNS]
  const row = (entry: string, asset: string, line: Line) =>
    [entry, asset, ...LINE_COLUMNS.map((column) => line[column] ?? '')].map(csvField).join(',')
  const rows = assets.flatMap(({ asset, opening, lines, closing }) => [
    row('opening', asset, { created_at: from, balance: opening.balance }),
    ...lines.map((line) => row('line', asset, line)),
    row('closing', asset, { created_at: to, balance: closing.balance }),
  ])
  return `${[header.join(','), ...rows].join('\n')}\n`
}

/** One table per asset. The last column is a transfer's other profile. */
function statementText({ from, to, assets }: Statement): string {
  if (assets.length === 0) return '(none)\n'
  const account = (bucket = '', profileId?: string) => (profileId === undefined ? bucket : `${bucket} of ${profileId}`)
  const tables = assets.map(({ asset, opening, lines, closing }) => {
    const rows = lines.map((line) => [
      line.created_at ?? '',
      account(line.debit, line.debit_profile_id),
      account(line.credit, line.credit_profile_id),
      line.amount ?? '',
      line.change ?? '',
      line.balance ?? '',
      line.group_id ?? '',
    ])
    const table = [
      [asset, 'debit', 'credit', 'amount', 'change', 'balance', 'group'],
      [from, 'opening', '', '', '', opening.balance, ''],
      ...rows,
      [to, 'closing', '', '', '', closing.balance, ''],
    ]
    return tableLines(table.map((row) => row.map(printable))).join('\n')
  })
  return `${tables.join('\n\n')}\n`
}
