/**
 * `tidegate check-config`: the effective configuration with secrets masked, or every problem with its key. It reads
 * flags, environment and files. Without `--offline` it also asks the markets' venues whether they list the pairs, and
 * whether the markets can represent their books. A venue which does not answer is a warning, not a problem. It compares
 * the assets' decimals with a PostgreSQL store's ledger, and never opens an embedded store.
 */
import type { Command } from 'commander'
import { pairsWithoutPeg } from '../money/orchestrations/pricing/pegs.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { isObject } from '../platform/base/json-value.ts'
import { transportProblem } from '../platform/store/transport-security.ts'
import { feedTransportProblems } from '../service/config/feeds.ts'
import type { ConfigResult } from '../service/config/load.ts'
import { type Config, isLive, SETTING_KEYS } from '../service/config/settings.ts'
import { settingsInForce, shownValue } from '../service/config/settings-in-force.ts'
import { checkDecimals } from '../service/doctor/decimals-check.ts'
import { checkIssuerSecret } from '../service/doctor/issuer-secret.ts'
import { checkModules } from '../service/doctor/module-check.ts'
import { checkRecordings } from '../service/doctor/recording-check.ts'
import { checkRecordingFolder } from '../service/doctor/recording-folder.ts'
import { checkSources } from '../service/doctor/source-check.ts'
import { addressOrigins } from '../service/keys/address-keys.ts'
import { checkTlsFiles } from '../service/listeners/tls-settings.ts'
import { checkBusFiles } from '../service/parts/streaming/start-bus.ts'
import { sourceText } from '../streaming/market/configured-market.ts'
import { checkBooks } from '../streaming/markets/book-check.ts'
import { addConfigFlags, readConfigResult } from './options/config-flags.ts'
import { tableLines } from './terminal/table.ts'

export function registerCheckConfig(program: Command): void {
  const command = program
    .command('check-config')
    .description('shows the effective configuration with secrets masked, or every problem with its key')
    .option('--json', 'one JSON object instead of a table')
    .option(
      '--offline',
      'contacts neither the venues about the sources of the markets nor the store about decimals of assets',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate check-config --config tidegate.yaml
  $ tidegate check-config --config tidegate.yaml --offline
  $ TIDEGATE_HTTP_PORT=9000 tidegate check-config --json`,
    )
  addConfigFlags(command).action(async () => {
    const { json, offline } = command.opts<{ json?: boolean; offline?: boolean }>()
    const result = await withSurroundings(readConfigResult(command), offline === true)
    process.stdout.write(json ? `${JSON.stringify(asJson(result), null, 2)}\n` : asText(result))
    if (!result.ok) throw new Error(`the configuration has ${count(result.problems.length, 'problem')}`)
  })
}

/** The problems which a start would have with the configured files and venues. */
async function withSurroundings(result: ConfigResult, isOffline: boolean): Promise<ConfigResult> {
  if (!result.ok) return result
  const { config, origins } = result
  const checks = [
    checkTlsFiles(config, origins, Date.now()),
    checkIssuerSecret(config, origins),
    await checkRecordings(config, origins),
    await checkModules(config, origins, createSystemClock()),
    checkRecordingFolder(config, origins),
    checkBusFiles(config, origins),
  ]
  let bookWarnings: readonly string[] = []
  if (!isOffline) {
    const clock = createSystemClock()
    const [sources, books] = await Promise.all([checkSources(config, origins, clock), checkBooks(config, clock)])
    checks.push(sources, await checkDecimals(config, origins, clock))
    bookWarnings = books
  }
  const problems = checks.flatMap((check) => check.problems)
  const transport = transportProblem(config['store.url'])
  const plain = feedTransportProblems(config.feeds)
  const known = [...result.warnings, ...(transport === undefined ? [] : [transport]), ...plain]
  // A pair's problem may be reported from the venue's list and again from the book.
  const pegs = pegWarnings(config)
  const ways = secondPersonWarnings(config)
  const warnings = [
    ...new Set([...known, ...pegs, ...ways, ...checks.flatMap((check) => check.warnings), ...bookWarnings]),
  ]
  return problems.length > 0 ? { ok: false, problems, warnings } : { ...result, warnings }
}

/** Pairs at par without a market to monitor their peg. */
function pegWarnings(config: Config): readonly string[] {
  const { assets } = config
  const markets = config.markets.map(({ definition }) => definition)
  const pairs = pairsWithoutPeg({ assets, parAssets: config['conversion.par_assets'], markets })
  if (pairs.length === 0) return []
  const what = 'no market is configured, so they are converted at par whatever their prices are'
  return [`conversion.par_assets: the peg of ${pairs.join(', ')} is not monitored: ${what}`]
}

/** Ways around a second person which the configuration leaves open. */
function secondPersonWarnings(config: Config): readonly string[] {
  const kinds = config['operator.four_eyes']
  const money = ['deposits', 'settlements'].filter((kind) => kinds.includes(kind))
  if (money.length === 0) return []
  const lists = `operator.four_eyes: lists ${money.join(' and ')}`
  return [
    ...(kinds.includes('operators') ? [] : [`${lists} without operators, so one admin can make the second person`]),
    ...(config['rest.sandbox'] ? [`${lists} while rest.sandbox is on, so one client can credit deposits`] : []),
  ]
}

function asJson(result: ConfigResult): unknown {
  if (!result.ok) return { ok: false, problems: result.problems, warnings: result.warnings }
  const settings = Object.fromEntries(
    settingsInForce(result.config, result.origins).map(({ key, value, origin, live }) => [
      key,
      { value, origin, live },
    ]),
  )
  return { ok: true, settings, addresses: addressOrigins(result.config), warnings: result.warnings }
}

function asText(result: ConfigResult): string {
  const lines = result.warnings.map((warning) => `warning: ${warning}`)
  if (!result.ok) {
    lines.push(...tableLines(result.problems.map(({ key, message, origin }) => [key || origin, message, origin])))
    return `${lines.join('\n')}\n`
  }
  const keys = SETTING_KEYS.filter((key) => key !== 'markets' && key !== 'assets' && key !== 'feeds')
  lines.push(
    ...tableLines(
      keys.map((key) => [key, textOf(shownValue(result.config, key)) || '(empty)', result.origins[key], liveMark(key)]),
    ),
  )
  const feeds = [...result.config.feeds].map(([name, feed]) => [
    `  ${name}`,
    name === feed.kind ? '' : feed.kind,
    ...('upstream' in feed ? [feed.upstream.url, ''] : [feed.addresses.url, feed.addresses.restUrl]),
  ])
  lines.push(`feeds (${result.origins.feeds})`, ...tableLines(feeds))
  const markets = result.config.markets.map(({ definition, sources }) => [
    `  ${definition.symbol}`,
    sources.map(sourceText).join(' '),
    `${count(definition.priceDecimals, 'price decimal')}, ${count(definition.amountDecimals, 'amount decimal')}`,
    definition.depth === 0 ? 'all levels' : `${count(definition.depth, 'level')} per side`,
  ])
  lines.push(`markets (${result.origins.markets}; ${liveMark('markets')})`, ...tableLines(markets))
  const assets = result.config.assets.map(({ symbol, decimals, networks }) => [
    `  ${symbol}`,
    count(decimals, 'decimal'),
    networks.join(' ') || 'fiat',
  ])
  lines.push(`assets (${result.origins.assets}; ${liveMark('assets')})`, ...tableLines(assets))
  const addresses = addressOrigins(result.config).map(({ networks, origin, firstAddress = '' }) => [
    `  ${networks.join(' ')}`,
    origin ?? 'no key: no deposit addresses',
    firstAddress && `the first is ${firstAddress}`,
  ])
  lines.push('deposit addresses', ...tableLines(addresses))
  return `${lines.join('\n')}\n`
}

function textOf(value: unknown): string {
  if (!isObject(value)) return String(value)
  return Object.entries(value)
    .map(([name, member]) => `${name}: ${String(member)}`)
    .join(', ')
}

/** Marks settings whose new values are applied on SIGHUP. */
function liveMark(key: (typeof SETTING_KEYS)[number]): string {
  return isLive(key) ? 'live' : ''
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
