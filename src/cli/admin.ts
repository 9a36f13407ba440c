/**
 * `tidegate admin <noun> <verb>`: the operator API from the shell. Every verb is one call of it; what it answers goes
 * to stdout as JSON, what it refuses to stderr, with exit 1. The operator's token is never taken from the command line,
 * where every user of the machine could read it, and never printed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from './config-flags.ts'

interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/admin/v1`, parts of it encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: Readonly<Record<string, unknown>>
}

interface ListOptions {
  readonly limit?: string
  readonly order?: string
  readonly pageCursor?: string
}

/** Longer than the slowest answer the service gives itself time for. */
const CALL_MILLISECONDS_MAX = 15_000

export function registerAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .description('the operator API from the shell: customers, clients, secrets, audit')
    .addHelpText(
      'after',
      `
Examples:
  tidegate admin customer create acme --streaming
  tidegate admin client create CUSTOMER_ID feed --scope exchange:read_aggregated_marketdata_stream
  tidegate admin secret create CLIENT_ID
  tidegate admin customer update CUSTOMER_ID --disable
  tidegate admin audit list --limit 20

The operator API is at --operator-url, else where the configuration (--config, TIDEGATE_*) says; its token is in
--operator-token-file, else in TIDEGATE_OPERATOR_TOKEN, else in the file operator-token of the data folder.`,
    )
  registerCustomerVerbs(noun(admin, 'customer', 'customers, and who of them is on the streaming allow list'))
  registerClientVerbs(noun(admin, 'client', 'OAuth clients of a customer'))
  registerSecretVerbs(noun(admin, 'secret', 'secrets of a client; two may live at once'))
  registerAuditVerbs(noun(admin, 'audit', 'who changed what, when'))
}

function noun(admin: Command, name: string, description: string): Command {
  return admin.command(name).description(description)
}

function registerCustomerVerbs(customer: Command): void {
  verb(customer, 'create <name>', 'creates a customer', 'customer create acme --streaming')
    .option('--streaming', 'put it on the streaming allow list')
    .action(
      call((name: string, { streaming = false }: { streaming?: boolean }) => ({
        method: 'POST',
        path: '/customers',
        body: { name, streaming },
      })),
    )
  listVerb(customer, 'list', 'lists customers, the newest first', 'customer list --limit 1000').action(
    call((options: ListOptions) => ({ method: 'GET', path: '/customers', query: pageQuery(options) })),
  )
  verb(customer, 'update <id>', 'changes a customer', 'customer update ID --disable --streaming off')
    .option('--enable', 'let it in again')
    .option('--disable', 'shut it out: no tokens, live connections closed')
    .option('--streaming <on|off>', 'put it on the streaming allow list, or take it off', onOrOff)
    .action(
      call((id: string, { streaming, ...flags }: EnableFlags & { streaming?: boolean }) => ({
        method: 'PATCH',
        path: `/customers/${encodeURIComponent(id)}`,
        body: { ...enabledOf(flags), ...(streaming === undefined ? {} : { streaming }) },
      })),
    )
}

function registerClientVerbs(client: Command): void {
  verb(
    client,
    'create <customer-id> <name>',
    'creates a client and shows its secret, once',
    'client create CUSTOMER_ID feed --scope exchange:read_aggregated_marketdata_stream',
  )
    .requiredOption('--scope <scope...>', 'scopes it holds')
    .action(
      call((customerId: string, name: string, { scope }: { scope: string[] }) => ({
        method: 'POST',
        path: `/customers/${encodeURIComponent(customerId)}/clients`,
        body: { name, scopes: scope },
      })),
    )
  listVerb(
    client,
    'list <customer-id>',
    'lists the clients of a customer, the newest first',
    'client list CUSTOMER_ID',
  ).action(
    call((customerId: string, options: ListOptions) => ({
      method: 'GET',
      path: `/customers/${encodeURIComponent(customerId)}/clients`,
      query: pageQuery(options),
    })),
  )
  verb(client, 'update <client-id>', 'changes a client', 'client update CLIENT_ID --disable')
    .option('--enable', 'let it in again')
    .option('--disable', 'shut it out: no tokens, live connections closed')
    .option('--scope <scope...>', 'the scopes it holds from now on')
    .option('--no-scopes', 'take all its scopes')
    .action(
      call((clientId: string, { scope, scopes, ...flags }: EnableFlags & { scope?: string[]; scopes: boolean }) => ({
        method: 'PATCH',
        path: `/clients/${encodeURIComponent(clientId)}`,
        body: {
          ...enabledOf(flags),
          ...(scope === undefined ? {} : { scopes: scope }),
          ...(scopes ? {} : { scopes: [] }),
        },
      })),
    )
}

function registerSecretVerbs(secret: Command): void {
  verb(secret, 'create <client-id>', 'makes another secret and shows it, once', 'secret create CLIENT_ID').action(
    call((clientId: string) => ({ method: 'POST', path: `/clients/${encodeURIComponent(clientId)}/secrets` })),
  )
  verb(
    secret,
    'delete <client-id> <secret-id>',
    'takes a secret out of force; tokens it got stay valid',
    'secret delete CLIENT_ID SECRET_ID',
  ).action(
    call((clientId: string, secretId: string) => ({
      method: 'DELETE',
      path: `/clients/${encodeURIComponent(clientId)}/secrets/${encodeURIComponent(secretId)}`,
    })),
  )
}

function registerAuditVerbs(audit: Command): void {
  listVerb(audit, 'list', 'lists changes, the newest first', 'audit list --limit 20').action(
    call((options: ListOptions) => ({ method: 'GET', path: '/audit', query: pageQuery(options) })),
  )
}

function verb(noun: Command, usage: string, description: string, example: string): Command {
  return noun
    .command(usage)
    .description(description)
    .option('--operator-url <url>', 'where the operator API is, like http://127.0.0.1:8081')
    .option('--operator-token-file <file>', 'file that holds the operator token')
    .option('--config <file>', 'YAML file with configuration keys')
    .option('--data_dir <folder>', 'data folder of the service')
    .addHelpText('after', `\nExamples:\n  tidegate admin ${example}`)
}

function listVerb(noun: Command, usage: string, description: string, example: string): Command {
  return verb(noun, usage, description, example)
    .option('--limit <number>', 'records a page, 1 to 1000')
    .option('--order <ASC|DESC>', 'by time of creation')
    .option('--page-cursor <cursor>', 'next_page_cursor of the page before')
}

interface EnableFlags {
  readonly enable?: true
  readonly disable?: true
}

function enabledOf({ enable, disable }: EnableFlags): { enabled?: boolean } {
  if (enable && disable) throw new Error('--enable and --disable exclude each other')
  return enable || disable ? { enabled: enable === true } : {}
}

function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new InvalidArgumentError('It must be on or off.')
}

function pageQuery({ limit, order, pageCursor }: ListOptions): NonNullable<Call['query']> {
  return { limit, order, page_cursor: pageCursor }
}

/** A commander action that makes one call: its arguments are the verb's, its options, and the command itself. */
function call<Arguments extends unknown[]>(
  callOf: (...given: Arguments) => Call,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command
    const answer = await perform(command, callOf(...(given.slice(0, -1) as Arguments)))
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
  }
}

async function perform(command: Command, { method, path, query, body }: Call): Promise<unknown> {
  const { url, token } = operatorApi(command)
  const target = new URL(`${url}/admin/v1${path}`)
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) target.searchParams.set(name, value)
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const signal = AbortSignal.timeout(CALL_MILLISECONDS_MAX)
  const init: RequestInit = { method, headers, signal }
  if (body !== undefined) init.body = JSON.stringify(body)
  const response = await fetch(target, init).catch((error: Error) => {
    throw new Error(`the operator API at ${url} does not answer (${reasonOf(error)}): is the service running?`)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(refusalOf(response.status, text))
  return JSON.parse(text)
}

function reasonOf(error: Error): string {
  const cause = error.cause as NodeJS.ErrnoException | undefined
  return cause?.code ?? cause?.message ?? error.message
}

/** One line: the code and detail of the problem, and the record that is in the way. */
function refusalOf(status: number, text: string): string {
  try {
    const { code, detail, meta } = JSON.parse(text) as { code: string; detail: string; meta?: unknown }
    return `${code} (${status}): ${detail}${meta === undefined ? '' : ` ${JSON.stringify(meta)}`}`
  } catch (error) {
    return `the operator API answered ${status} with what is no problem document (${(error as Error).name})`
  }
}

function operatorApi(command: Command): { readonly url: string; readonly token: string } {
  const { operatorUrl, operatorTokenFile } = command.opts<{ operatorUrl?: string; operatorTokenFile?: string }>()
  const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
  const port = config['operator.port']
  if (operatorUrl === undefined && port === 0) {
    throw new Error('operator.port is 0, so --operator-url must say where the operator API is')
  }
  const host = config['operator.host']
  const url = operatorUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`--operator-url '${url}' is no http address`)
  const configured = operatorTokenFile === undefined ? config['operator.token'] : ''
  const token = configured || readTokenFile(operatorTokenFile ?? join(config.data_dir, 'operator-token'))
  return { url: url.replace(/\/+$/, ''), token }
}

function readTokenFile(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(
      `no operator token at ${path} (${(error as NodeJS.ErrnoException).code}): ` +
        'give --operator-token-file or TIDEGATE_OPERATOR_TOKEN, or --data_dir of the running service',
    )
  }
  if (!/^[!-~]+$/.test(text)) throw new Error(`${path} does not hold a token`)
  return text
}
