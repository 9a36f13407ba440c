/**
 * `tidegate admin <noun> <verb>`: the operator API from the shell. Every verb is one call, after the calls which
 * resolve names to ids, except for a whole list as CSV. The answer is written to stdout, as a table on a terminal and as JSON elsewhere. An error is
 * written to stderr, with exit 1.
 */
import { type Command, Option } from 'commander'
import type { Config } from '../../service/config/settings.ts'
import { CONFIG_MEANING, readConfig } from '../options/config-flags.ts'
import { type CreatedClient, reserveCredentialsFile, serviceAddresses } from '../options/credentials-file.ts'
import { printableJson } from '../terminal/styled-line.ts'
import { withIds } from './admin-names.ts'
import { listText, recordText } from './admin-output.ts'
import { type AdminVerb, callOf, type Given, optionsOf, textOf } from './admin-verb.ts'
import { ADMIN_NOUNS } from './admin-verbs.ts'
import { tailEvents } from './event-tail.ts'
import {
  callOperator,
  type OperatorApi,
  type OperatorApiOptions,
  type OperatorCall,
  operatorApi,
} from './operator-client.ts'

interface AdminOptions extends OperatorApiOptions {
  readonly json?: boolean
  readonly credentials?: string
  readonly url?: string
  readonly csv?: boolean
  readonly limit?: string
  readonly pageCursor?: string
}

interface ListPage {
  readonly items: readonly unknown[]
  readonly next_page_cursor?: string
}

/** The API's limit for a page. */
const PAGE_MAX = '1000'

export function registerAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .description(`the operator API from the shell: ${ADMIN_NOUNS.map(({ name }) => name).join(', ')}`)
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate admin customer create acme --streaming
  $ tidegate admin client create acme feed --scope exchange:read_aggregated_marketdata_stream
  $ tidegate admin secret create acme/feed
  $ tidegate admin customer update acme --disable
  $ tidegate admin account update ACCOUNT_ID --status APPROVED
  $ tidegate admin connection list --client acme/feed
  $ tidegate admin market book BTCUSD --depth 10
  $ tidegate admin event tail acme
  $ tidegate admin audit list --limit 20

Customers and clients are named by id or name, clients also as CUSTOMER/CLIENT. Answers are tables on a terminal, and
JSON elsewhere or with --json.

The operator API is at --operator-url, else where the configuration (--config, TIDEGATE_CONFIG, TIDEGATE_*) says; its token is in
--operator-token-file, else in TIDEGATE_OPERATOR_TOKEN, else in the file operator-token of the data folder.`,
    )
  for (const { name, description, verbs } of ADMIN_NOUNS) {
    const [first, ...below] = name.split(' ')
    const parent = below.length === 0 ? admin : admin.commands.find((command) => command.name() === first)
    const noun = (parent as Command).command(below[0] ?? name).description(description)
    noun.addHelpText('after', `\nExamples:\n${verbs.map(({ example }) => `  $ tidegate admin ${example}`).join('\n')}`)
    for (const verb of verbs) registerVerb(noun, verb)
  }
}

function registerVerb(noun: Command, verb: AdminVerb): void {
  const command = noun.command(verb.usage, { isDefault: verb.isDefault === true }).description(verb.description)
  for (const { flags, description, read, isRequired = false } of optionsOf(verb)) {
    const option = new Option(flags, description).makeOptionMandatory(isRequired)
    command.addOption(read === undefined ? option : option.argParser(read))
  }
  command.option('--json', 'JSON on a terminal too')
  addOperatorOptions(command)
    .addHelpText('after', `\nExamples:\n  $ tidegate admin ${verb.example}`)
    .action(async () => {
      const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
      const options = command.opts<AdminOptions>()
      const api = operatorApi(config, options)
      const given = await withIds(api, verb, command.args, options as Given['options'])
      const call = await withMembersRead(api, verb, callOf(verb, given.words, given.options), given.words)
      const isForPeople = process.stdout.isTTY === true && options.json !== true
      if (verb.isTail) {
        const { after, types } = given.options
        await tailEvents({ api, path: call.path, after: textOf(after), types: textOf(types), isForPeople })
        return
      }
      const answer = isWholeCsv(verb, options)
        ? await wholeList(api, call)
        : await callAndKeep(api, call, config, options)
      const json = () => `${printableJson(answer, 2)}\n`
      process.stdout.write(verb.otherText?.(answer, given.options) ?? (isForPeople ? textFor(verb, answer) : json()))
      const fault = verb.fault?.(answer)
      if (fault !== undefined) throw new Error(fault)
    })
}

/** Shows the preceding call's record, and adds the members which the body needs, unless an option gave them. */
async function withMembersRead(
  api: OperatorApi,
  { before, method }: AdminVerb,
  call: OperatorCall,
  words: readonly string[],
): Promise<OperatorCall> {
  if (before === undefined || before.body.every((name) => call.body?.[name] !== undefined)) return call
  const { path } = callOf({ usage: '', description: '', example: '', method, path: before.path }, words, {})
  const record = (await callOperator(api, { method: 'GET', path })) as Readonly<Record<string, unknown>>
  process.stderr.write(recordText(record))
  const read = before.body.map((name) => [name, record[name]] as const)
  return { ...call, body: { ...call.body, ...Object.fromEntries(read) } }
}

/** CSV has no place for the next page's cursor, so it contains every page, unless one page was requested. */
function isWholeCsv({ isPaged }: AdminVerb, { csv, limit, pageCursor }: AdminOptions): boolean {
  return isPaged === true && csv === true && limit === undefined && pageCursor === undefined
}

async function wholeList(api: OperatorApi, call: OperatorCall): Promise<object> {
  const items: unknown[] = []
  let cursor: string | undefined
  do {
    const query = { ...call.query, limit: PAGE_MAX, page_cursor: cursor }
    const page = (await callOperator(api, { ...call, query })) as ListPage
    items.push(...page.items)
    cursor = page.next_page_cursor
  } while (cursor !== undefined)
  return { items }
}

/** The call's answer. With `--credentials`, its secret is in the file and nowhere else. */
async function callAndKeep(
  api: OperatorApi,
  call: OperatorCall,
  config: Config,
  { credentials, url }: AdminOptions,
): Promise<object> {
  if (credentials === undefined) {
    if (url !== undefined) throw new Error('--url is stored with the credentials: it needs --credentials FILE')
    return (await callOperator(api, call)) as object
  }
  const addresses = serviceAddresses(config, url)
  const file = reserveCredentialsFile(credentials)
  let client: CreatedClient
  try {
    client = (await callOperator(api, call)) as CreatedClient
  } catch (error) {
    file.release()
    throw error
  }
  file.write(client, addresses)
  const { client_secret: _, ...rest } = client
  return { ...rest, credentials }
}

function textFor({ columns, text }: AdminVerb, answer: object): string {
  if (text !== undefined) return text(answer)
  if (columns === undefined) return recordText(answer as Parameters<typeof recordText>[0])
  return listText(answer as Parameters<typeof listText>[0], columns)
}

/** Adds the options for the operator API's address and token. */
function addOperatorOptions(command: Command): Command {
  return command
    .option('--operator-url <url>', 'operator API address, such as http://127.0.0.1:8081')
    .option('--operator-token-file <file>', 'file with the operator token')
    .option('--config <file>', CONFIG_MEANING)
    .option('--data_dir <folder>', 'the service’s data folder')
}
