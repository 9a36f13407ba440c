/**
 * `tidegate admin <noun> <verb>`: the operator API from the shell. Every verb is one call of it; what it answers goes
 * to stdout as JSON, or, for a list on a terminal, as a table; what it refuses goes to stderr, with exit 1.
 */
import { type Command, Option } from 'commander'
import { type AdminVerb, callOf, optionsOf } from './admin-verb.ts'
import { ADMIN_NOUNS } from './admin-verbs.ts'
import { readConfig } from './config-flags.ts'
import { callOperator, type OperatorApiOptions, operatorApi } from './operator-client.ts'
import { printable } from './styled-line.ts'
import { tableLines } from './table.ts'

interface ListAnswer {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly next_page_cursor?: string
}

export function registerAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .description(`the operator API from the shell: ${ADMIN_NOUNS.map(({ name }) => name).join(', ')}`)
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate admin customer create acme --streaming
  $ tidegate admin client create CUSTOMER_ID feed --scope exchange:read_aggregated_marketdata_stream
  $ tidegate admin secret create CLIENT_ID
  $ tidegate admin customer update CUSTOMER_ID --disable
  $ tidegate admin account update ACCOUNT_ID --status APPROVED
  $ tidegate admin connection list --client CLIENT_ID
  $ tidegate admin market book BTCUSD --depth 10
  $ tidegate admin audit list --limit 20

The operator API is at --operator-url, else where the configuration (--config, TIDEGATE_*) says; its token is in
--operator-token-file, else in TIDEGATE_OPERATOR_TOKEN, else in the file operator-token of the data folder.`,
    )
  for (const { name, description, verbs } of ADMIN_NOUNS) {
    const noun = admin.command(name).description(description)
    noun.addHelpText('after', `\nExamples:\n${verbs.map(({ example }) => `  $ tidegate admin ${example}`).join('\n')}`)
    for (const verb of verbs) registerVerb(noun, verb)
  }
}

function registerVerb(noun: Command, verb: AdminVerb): void {
  const command = noun.command(verb.usage).description(verb.description)
  for (const { flags, description, read, isRequired = false } of optionsOf(verb)) {
    const option = new Option(flags, description).makeOptionMandatory(isRequired)
    command.addOption(read === undefined ? option : option.argParser(read))
  }
  if (verb.columns !== undefined) command.option('--json', 'JSON on a terminal too')
  addOperatorOptions(command)
    .addHelpText('after', `\nExamples:\n  $ tidegate admin ${verb.example}`)
    .action(async () => {
      const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
      const options = command.opts<OperatorApiOptions & { json?: boolean }>()
      const call = callOf(verb, command.args, options as Readonly<Record<string, unknown>>)
      const answer = await callOperator(operatorApi(config, options), call)
      const isTable = verb.columns !== undefined && process.stdout.isTTY === true && options.json !== true
      process.stdout.write(
        isTable ? asTable(answer as ListAnswer, verb.columns) : `${JSON.stringify(answer, null, 2)}\n`,
      )
    })
}

/** Lets a verb say where the operator API is and what opens it. */
function addOperatorOptions(command: Command): Command {
  return command
    .option('--operator-url <url>', 'where the operator API is, like http://127.0.0.1:8081')
    .option('--operator-token-file <file>', 'file that holds the operator token')
    .option('--config <file>', 'YAML file with configuration keys')
    .option('--data_dir <folder>', 'data folder of the service')
}

/** A column that no record has a value for is left out. */
function asTable({ items, next_page_cursor: cursor }: ListAnswer, columns: readonly string[]): string {
  if (items.length === 0) return '(none)\n'
  const shown = columns.filter((column) => items.some((item) => memberOf(item, column) !== undefined))
  const rows = items.map((item) => shown.map((column) => cellOf(memberOf(item, column))))
  const lines = tableLines([shown.map((column) => column.replaceAll(/[._]/g, ' ')), ...rows])
  if (cursor !== undefined) lines.push('', `more: --page-cursor ${cursor}`)
  return `${lines.join('\n')}\n`
}

function memberOf(item: Readonly<Record<string, unknown>>, column: string): unknown {
  return column
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], item)
}

/** Names come from outside: nothing in a cell can steer the terminal. */
function cellOf(value: unknown): string {
  if (value === undefined) return '-'
  if (Array.isArray(value)) return printable(value.join(' '))
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
