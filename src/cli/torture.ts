/**
 * `tidegate torture`: a conformance server for customers' clients. On the loopback interface it does what a service may
 * do to a connection (close codes, refused handshakes, changed markets, pauses), and checks the client's reaction on
 * the wire. Exit code 1 means a wrong reaction. It needs no store and no configuration.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { CLIENT_ID } from '../conformance/stimulus/torture/client-id.ts'
import { ClientProcess } from '../conformance/stimulus/torture/client-process.ts'
import { ScenarioDriver } from '../conformance/stimulus/torture/driver.ts'
import { WRONG_REACTIONS } from '../conformance/stimulus/torture/reactions.ts'
import { playScenarios, SCENARIOS, type ScenarioResult } from '../conformance/stimulus/torture/scenarios.ts'
import { ScriptedMarkets } from '../conformance/stimulus/torture/scripted-markets.ts'
import { TortureService } from '../conformance/stimulus/torture/service.ts'
import { positiveInteger } from './options/option-values.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './terminal/environment.ts'
import { printable, printableJson } from './terminal/styled-line.ts'

interface TortureOptions {
  readonly credentials: string
  readonly port: number
  readonly markets: readonly string[]
  readonly pace: number
  readonly only?: readonly string[]
  readonly json?: boolean
}

const NAME_WIDTH = Math.max(...SCENARIOS.map(({ name }) => name.length))

const HELP = `
The client under test is the program after \`--\`, which is started again after each scenario that ends it, or any client
with the credentials file’s addresses. It subscribes at least one of the markets. The service’s times
are divided by --pace. The client’s delays are not: up to 40 s pass before a client counts as gone.

Exit code 0: every reaction was right. 1: a reaction was wrong, or there was no client.

Examples:
  $ tidegate torture -- node examples/node/stream.mjs BTCUSD
  $ tidegate torture --pace 20 --json -- ./my-client --config test.toml
  $ tidegate torture --port 9000 --only close-4001 --only market-changed

Scenarios:
${SCENARIOS.map(({ name, plays, expects }) => `  ${name.padEnd(NAME_WIDTH)}  ${plays}\n  ${' '.repeat(NAME_WIDTH)}  right: ${expects}`).join('\n')}

Wrong reactions:
${Object.entries(WRONG_REACTIONS)
  .map(([name, rule]) => `  ${name.padEnd(NAME_WIDTH)}  ${rule}`)
  .join('\n')}`

export function registerTorture(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  program
    .command('torture')
    .summary('tests how a client reacts')
    .description('Plays what a service may do to a client, and names every wrong reaction.')
    .argument('[command...]', 'the client under test with its arguments, after `--`')
    .option('--credentials <file>', 'file for the credentials', './torture-client.json')
    .option('--port <port>', 'port on 127.0.0.1 (0 = any free one)', positiveInteger, 0)
    .option('--markets <symbols>', 'markets, comma-separated', marketList, ['BTCUSD', 'ETHUSD', 'SOLUSD'])
    .option('--pace <factor>', 'how many times faster than real time', positiveInteger, 1)
    .option('--only <name>', 'play this scenario (may be repeated)', addScenario)
    .option('--json', 'the results as one JSON line')
    .addHelpText('after', HELP)
    .action((command: string[], options: TortureOptions) => stayAlive(torture(command, options, environment)))
}

async function torture(
  command: readonly string[],
  options: TortureOptions,
  environment: CommandEnvironment,
): Promise<void> {
  const { clock, stdout, stderr } = environment
  const scenarios = SCENARIOS.filter(({ name }) => options.only?.includes(name) ?? true)
  const service = new TortureService(new ScriptedMarkets(options.markets, clock), clock, () => driver.notify())
  const variables = { ...environment.variables, TIDEGATE_CREDENTIALS: options.credentials }
  const client = command.length === 0 ? undefined : new ClientProcess(command, variables, clock, () => driver.notify())
  const ask = (text: string) => stderr.write(`${text}\n`)
  const driver = new ScenarioDriver({ service, clock, pace: options.pace, client, ask })
  await service.listen(options.port)
  const removeSignals = environment.onStopSignal(() => driver.stop())
  const results: ScenarioResult[] = []
  try {
    writeCredentials(options.credentials, service.credentials)
    stderr.write(
      `stream ${service.url.replace(/^http/, 'ws')}/ · tokens ${service.url}/oauth2/token · credentials ${options.credentials}\n`,
    )
    await playScenarios(driver, scenarios, (result) => {
      results.push(result)
      if (options.json !== true) stdout.write(resultText(result))
    })
  } finally {
    removeSignals()
    await client?.stop()
    await service.stop()
  }
  const ok = results.every(({ outcome }) => outcome !== 'wrong')
  stdout.write(options.json === true ? `${printableJson({ ok, pace: options.pace, results })}\n` : summaryText(results))
  if (!ok) environment.setExitCode(1)
}

/** Writes the credentials file. Overwrites only a file from an earlier run. */
function writeCredentials(path: string, credentials: object): void {
  if (existsSync(path) && !isOurs(readFileSync(path, 'utf8'))) {
    throw new Error(`${path} contains other credentials: choose an unused path with --credentials FILE`)
  }
  writeFileSync(path, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
}

function isOurs(text: string): boolean {
  try {
    return (JSON.parse(text) as { client_id?: unknown } | null)?.client_id === CLIENT_ID
  } catch {
    return false
  }
}

function resultText({ name, outcome, reaction, rule, detail }: ScenarioResult): string {
  const explanation = detail === undefined ? '' : printable(detail)
  if (outcome === 'right') return `right    ${name}\n`
  if (outcome === 'skipped') return `skipped  ${name.padEnd(NAME_WIDTH)}  ${explanation}\n`
  const indent = ' '.repeat('skipped  '.length + NAME_WIDTH + 2)
  return `WRONG    ${name.padEnd(NAME_WIDTH)}  ${reaction}: ${explanation}\n${indent}${rule}\n`
}

function summaryText(results: readonly ScenarioResult[]): string {
  const count = (outcome: ScenarioResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  return `\n${count('right')} right, ${count('wrong')} wrong, ${count('skipped')} skipped\n`
}

function marketList(text: string): readonly string[] {
  const symbols = text.split(',')
  if (!symbols.every((symbol) => /^[A-Z0-9]{4,20}$/.test(symbol)) || new Set(symbols).size < symbols.length) {
    throw new InvalidArgumentError('It must list different symbols, like BTCUSD,ETHUSD.')
  }
  return symbols
}

function addScenario(name: string, earlier: readonly string[] = []): readonly string[] {
  if (!SCENARIOS.some((scenario) => scenario.name === name)) {
    throw new InvalidArgumentError('It must be a scenario’s name. --help lists them.')
  }
  return [...earlier, name]
}
