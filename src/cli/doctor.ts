/**
 * `tidegate doctor`: checks this installation, one line per finding, with the next step for a problem. A running
 * service is asked. Without one, doctor looks for itself, and opens the embedded store only when no process has it
 * open. It changes nothing. Exit code 1 when something is bad.
 */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type Clock, createSystemClock } from '../platform/base/clock.ts'
import { DataFolderHeld, dataFolderHolder, type FolderHolder } from '../platform/store/data-lock.ts'
import { patiently } from '../platform/store/sql.ts'
import { movesMoney } from '../service/config/roles.ts'
import type { Config } from '../service/config/settings.ts'
import type { Origins } from '../service/config/settings-in-force.ts'
import { issuesTokens } from '../service/config/token-issuer.ts'
import { examineTestSeed } from '../service/doctor/addresses.ts'
import { checkBusFiles } from '../service/doctor/bus-files.ts'
import { examineResult, examineSettings, examineSources } from '../service/doctor/configuration.ts'
import { examineDecimals } from '../service/doctor/decimals-check.ts'
import { examineEncryptionKeyFile, examineFolder, examineOperatorToken } from '../service/doctor/files.ts'
import { bad, type Finding, nextOfConnection, ok, reasonOf, warn } from '../service/doctor/finding.ts'
import { examineNode } from '../service/doctor/node-version.ts'
import { readinessFindings } from '../service/doctor/readiness.ts'
import type { Readiness } from '../service/health/readiness.ts'
import { tryBus } from '../service/parts/streaming/start-bus.ts'
import { callOperator, type OperatorApi, operatorApi, readReadiness } from './admin/operator-client.ts'
import { askAddressPools, askControls, askLedger, askNodes, askSigningKeys } from './doctor/doctor-asked.ts'
import {
  examineFreePort,
  examineIngestPort,
  examinePublicPort,
  examineStreamPort,
  ingestPort,
  operatorPort,
  publicPort,
  streamPort,
} from './doctor/doctor-ports.ts'
import { type Examination, examineStore } from './doctor/doctor-store.ts'
import { addConfigFlags, readConfigResult } from './options/config-flags.ts'
import { reportFindings } from './terminal/findings.ts'
import { clearOf } from './terminal/progress-line.ts'

/** A slewed (not stepped) clock moves by less than this against the monotonic clock during the checks. */
const STEP_MILLISECONDS_MAX = 100

/** The readiness checks about the store. */
const STORE_CHECKS = ['store', 'migrations']

export function registerDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('checks this installation, whether the service runs or not')
    .option('--json', 'JSON instead of lines')
    .option('--operator-url <url>', 'the running service’s operator API address, when operator.port is 0')
    .addHelpText(
      'after',
      `
Each line is ok, warn (works now, put it right) or bad. Exit code 1: something is bad.

Examples:
  $ tidegate doctor --config /etc/tidegate/tidegate.yaml
  $ tidegate doctor --data_dir /var/lib/tidegate --json`,
    )
  addConfigFlags(command).action(async () => {
    const { json, operatorUrl } = command.opts<{ json?: boolean; operatorUrl?: string }>()
    const findings = await examine(command, operatorUrl)
    process.stderr.write(clearOf(process.stderr))
    reportFindings(findings, { json: json === true })
  })
}

async function examine(command: Command, operatorUrl: string | undefined): Promise<Finding[]> {
  const result = readConfigResult(command)
  if (!result.ok) return examineResult(result)
  const { config, origins } = result
  const clock = createSystemClock()
  const examination = { config, origins, clock, operatorUrl }
  const steps = watchForSteps(clock)
  const findings = [
    ...examineResult(result),
    examineFolder(config.data_dir),
    examineOperatorToken(config),
    examineEncryptionKeyFile(config),
    ...examineTestSeed(config),
    ...(await examineSettings(config, origins, clock.wallInstant().milliseconds)),
    ...(await examineSources(config, origins, clock, true)),
    ...(await examineService(examination)),
    ...(await examineBus(config, origins, clock)),
    examineNode(),
  ]
  const clockFinding = steps()
  const isReported = clockFinding.verdict === 'ok' && findings.some((finding) => finding.name === 'clock')
  return isReported ? findings : [...findings, clockFinding]
}

/** Tries the connection. Files that cannot be read are among the findings about the settings. */
async function examineBus(config: Config, origins: Origins, clock: Clock): Promise<Finding[]> {
  if (config['bus.url'] === '') return [ok('bus', 'in process')]
  if (checkBusFiles(config, origins).problems.length > 0) return []
  try {
    return [ok('bus', await tryBus(config, clock))]
  } catch (error) {
    const reason = reasonOf(error)
    const next = nextOfConnection(reason, 'start NATS, or correct bus.url and bus.*')
    return [bad('bus', `no connection to NATS: ${reason}`, next)]
  }
}

async function examineService(examination: Examination): Promise<Finding[]> {
  let holder: FolderHolder | undefined
  try {
    holder = await dataFolderHolder(examination.config.data_dir)
  } catch (error) {
    const next = "put the data folder right, and run this as the service's user"
    return [bad('service', `the data folder’s lock cannot be read (${reasonOf(error)})`, next)]
  }
  return holder === undefined ? examineStopped(examination) : examineRunning(examination, holder)
}

/** No process has the folder open: opens and checks the store, and the ports must be free. */
async function examineStopped(examination: Examination): Promise<Finding[]> {
  const { config } = examination
  const ports: Finding[] = []
  // Other processes may listen to a shared port already.
  const stream = config['stream.reuse_port'] ? undefined : streamPort(config)
  for (const port of [publicPort(config), stream, operatorPort(config), ingestPort(config)]) {
    if (port !== undefined) ports.push(await examineFreePort(port))
  }
  const folder = join(config.data_dir, 'store')
  try {
    const store =
      config['store.url'] === '' && !existsSync(join(folder, 'PG_VERSION'))
        ? [ok('store', `embedded, ${folder} does not exist yet: the first start makes it`)]
        : await patiently(() => examineStore(examination, true))
    return [ok('service', 'not running'), ...store, ...ports]
  } catch (error) {
    // It was started in the meantime.
    if (error instanceof DataFolderHeld) return examineRunning(examination, error.holder)
    throw error
  }
}

/** A process has the folder open: asks the service. Only PostgreSQL is also checked directly. */
async function examineRunning(examination: Examination, holder: FolderHolder): Promise<Finding[]> {
  const { config, origins, clock, operatorUrl } = examination
  const place = holder.host === '' || holder.host === hostname() ? '' : ` on host ${holder.host}`
  const text = `process ${holder.pid}${place} has ${config.data_dir} open`
  const store = config['store.url'] === '' ? undefined : await examineStore(examination, false)
  let api: OperatorApi
  let readiness: Readiness
  try {
    api = operatorApi(config, operatorUrl === undefined ? {} : { operatorUrl })
    readiness = await readReadiness(api)
    await callOperator(api, { method: 'GET', path: '/markets' })
  } catch (error) {
    const next = holder.isElsewhere
      ? 'when that process has certainly ended, start once with --take-over'
      : 'see its log. If it listens elsewhere, give its configuration, or --operator-url'
    return [bad('service', `${text} and does not answer: ${reasonOf(error)}`, next), ...(store ?? [])]
  }
  return [
    ok('service', text),
    ...(store ?? [...storeFindings(readiness), ...(issuesTokens(config) ? [await askSigningKeys(api, clock)] : [])]),
    ...readinessFindings(readiness),
    ...(config['bus.url'] === '' ? [] : await askNodes(api)),
    ...(movesMoney(config) ? [...(await askAddressPools(api)), ...(await askLedger(api))] : []),
    ...(await examineDecimals(config, origins, clock)),
    ...(store === undefined ? await askControls(api) : []),
    ok('operator port', `${api.url}, answered by the service`),
    await examinePublicPort(config),
    ...(await examineStreamPort(config)),
    ...(await examineIngestPort(config)),
  ]
}

/** An embedded store's state, as reported by the service which has it open. */
function storeFindings({ checks }: Readiness): Finding[] {
  const failed = checks.filter(({ name, ok: isWell }) => STORE_CHECKS.includes(name) && !isWell)
  if (failed.length === 0) return [ok('store', 'embedded, opened by the service, schema current')]
  return failed.map(({ detail }) => bad('store', detail, 'see the service’s log'))
}

/** Starts to compare the wall clock with the monotonic clock. The returned function returns the finding. */
function watchForSteps(clock: Clock): () => Finding {
  const difference = (): number => clock.wallInstant().milliseconds - clock.monotonicMilliseconds()
  const before = difference()
  return () => {
    const step = difference() - before
    if (Math.abs(step) <= STEP_MILLISECONDS_MAX) return ok('clock', 'steady')
    return warn('clock', `the wall clock was set by ${Math.round(step)} ms just now`, 'let this machine follow NTP')
  }
}
