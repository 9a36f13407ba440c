/**
 * `tidegate demo`: the service with one customer and one client, which has every scope. The client's credentials are in
 * two files in the data folder, readable by their owner only. No secret is printed.
 */
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { addressesAt } from '../access/clients/operator-answers.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { createLog } from '../platform/base/log.ts'
import { isLoopbackHost } from '../platform/http/host-check.ts'
import type { Service } from '../service/compose.ts'
import { DEMO_DEFAULTS } from '../service/config/markets.ts'
import type { Config } from '../service/config/settings.ts'
import { issuesTokens } from '../service/config/token-issuer.ts'
import { runUntilSignal } from '../service/process/lifecycle.ts'
import { startWatchdog } from '../service/process/watchdog.ts'
import { addConfigFlags, addTakeOverFlag, isTakeOver, readConfig, readConfigResult } from './options/config-flags.ts'
import { readyLine, withReload } from './serve.ts'
import { demoBanner } from './terminal/demo-banner.ts'
import { showStart } from './terminal/start-progress.ts'

interface DemoFiles {
  /** The file for `watch` and `verify`. */
  readonly credentials: string
  /** A token request's body, for curl. */
  readonly tokenRequest: string
}

export function registerDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('runs the service with simulated markets and one client with every scope')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate demo
  $ tidegate demo --http.port 0 --operator.port 0 --simulator.rate 500`,
    )
  addConfigFlags(addTakeOverFlag(command)).action(() => runDemo(command, 'demo'))
}

/** Runs the service with one client, which has every scope. `what` is the verb. */
export async function runDemo(command: Command, what: 'demo' | 'replay'): Promise<void> {
  const warnings: string[] = []
  // On a terminal, logs would hide the lines with the next steps.
  const verbDefaults = { ...DEMO_DEFAULTS, ...(process.stderr.isTTY ? { 'log.level': 'warn' } : {}) }
  const { config, origins } = readConfig(command, verbDefaults, (warning) => warnings.push(warning))
  const log = createLog(config['log.level'])
  for (const warning of warnings) log.warn({ warning }, 'configuration warning')
  startWatchdog(log, config['process.hang_seconds'])
  const clock = createSystemClock()
  const endProgress = showStart(what, process.stderr, clock)
  const { startService } = await import('../service/compose.ts')
  await runUntilSignal(log, clock, async (signal) => {
    const takeOver = isTakeOver(command)
    const hasDemoPage = what === 'demo'
    const options = {
      config,
      origins,
      log,
      clock,
      random: Math.random,
      signal,
      takeOver,
      hasTestSeed: true,
      hasDemoPage,
    }
    const service = await startService(options).finally(endProgress)
    const files = issuesTokens(config) ? await writeCredentials(service, config) : undefined
    process.stdout.write(bannerOf(what, service, config, files))
    if (!process.stdout.isTTY) process.stdout.write(readyLine(service.addresses))
    return withReload(service, () => readConfigResult(command, verbDefaults))
  })
}

/** Ensures that the demo client exists, and writes its secret and the current addresses to the files. */
async function writeCredentials(service: Service, config: Config): Promise<DemoFiles> {
  const folder = config.data_dir
  const files = { credentials: join(folder, 'demo-client.json'), tokenRequest: join(folder, 'demo-token-request') }
  const client = await service.ensureDemoClient(readCredentials(files.credentials))
  const { publicUrl, streamUrl } = service.addresses
  const document = {
    client_id: client.clientId,
    client_secret: client.clientSecret,
    scopes: client.scopes,
    ...addressesAt(publicUrl, streamUrl),
  }
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
    scope: STREAM_SCOPE,
  })
  writePrivate(files.credentials, `${JSON.stringify(document, null, 2)}\n`)
  writePrivate(files.tokenRequest, form.toString())
  return files
}

/** The client from an earlier start. Undefined when the file is missing or damaged: then a new secret is created. */
function readCredentials(path: string): { clientId: string; clientSecret: string } | undefined {
  let document: { client_id?: unknown; client_secret?: unknown } | null
  try {
    document = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const { client_id: clientId, client_secret: clientSecret } = document ?? {}
  if (typeof clientId !== 'string' || typeof clientSecret !== 'string') return undefined
  return { clientId, clientSecret }
}

/** Replaces a file atomically. Only its owner can ever read it. */
function writePrivate(path: string, text: string): void {
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  // A file left over from an interrupted start keeps its own mode.
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

/** @param files the demo client's. None with an external issuer, which has its own clients */
function bannerOf(verb: 'demo' | 'replay', service: Service, config: Config, files: DemoFiles | undefined): string {
  const { publicUrl, http, ws, operator } = service.addresses
  const hasPage = verb === 'demo' && files !== undefined && isLoopbackHost(new URL(http).host)
  return demoBanner({
    verb,
    symbols: config.markets.map(({ definition }) => definition.symbol),
    publicUrl,
    ...(hasPage ? { pageUrl: http } : {}),
    ws,
    operator,
    operatorTokenFile: join(config.data_dir, 'operator-token'),
    access:
      files === undefined
        ? { issuer: config['auth.issuer'] }
        : { credentialsFile: files.credentials, tokenRequestFile: files.tokenRequest },
    program: process.argv[1] ?? '',
    folder: process.cwd(),
  })
}
