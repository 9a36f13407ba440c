/**
 * `tidegate check-config`: the effective configuration with secrets masked, or every problem with its key. It reads
 * flags, environment and files, and reports its findings like `doctor`. Without `--offline` it also asks the markets'
 * venues whether they list the pairs, and whether the markets can represent their books. A venue which does not answer
 * is a warning, not a problem. It compares the assets' decimals with a PostgreSQL store's ledger, and never opens an
 * embedded store.
 */
import type { Command } from 'commander'
import { createSystemClock } from '../platform/base/clock.ts'
import { isObject } from '../platform/base/json-value.ts'
import type { ConfigResult } from '../service/config/load.ts'
import { type Config, isLive, SETTING_KEYS } from '../service/config/settings.ts'
import { settingsInForce, shownValue } from '../service/config/settings-in-force.ts'
import { type StoreDefault, withStoreDefaults } from '../service/config/store-defaults.ts'
import { examineResult, examineSettings, examineSources } from '../service/doctor/configuration.ts'
import { examineDecimals } from '../service/doctor/decimals-check.ts'
import { examineDefaults, examineNotices } from '../service/doctor/defaults.ts'
import type { Finding } from '../service/doctor/finding.ts'
import { readServerStore } from '../service/doctor/server-store.ts'
import { addressOrigins } from '../service/keys/address-keys.ts'
import { readStoreDefaults } from '../service/process/setting-defaults.ts'
import { sourceText } from '../streaming/market/configured-market.ts'
import { addConfigFlags, readConfigResult } from './options/config-flags.ts'
import { reportFindings } from './terminal/findings.ts'
import { countText, tableLines } from './terminal/table.ts'

type ReadConfig = ConfigResult & { readonly ok: true }

export function registerCheckConfig(program: Command): void {
  const command = program
    .command('check-config')
    .description('shows the effective configuration with secrets masked, or every problem with its key')
    .option('--json', 'JSON instead of a table')
    .option('--offline', 'asks neither the venues about sources nor the store about decimals')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate check-config --config tidegate.yaml
  $ tidegate check-config --config tidegate.yaml --offline
  $ TIDEGATE_HTTP_PORT=9000 tidegate check-config --json`,
    )
  addConfigFlags(command).action(async () => {
    const { json = false, offline = false } = command.opts<{ json?: boolean; offline?: boolean }>()
    const read = readConfigResult(command)
    const defaults = read.ok && !offline ? await defaultsOfServer(read.config) : []
    const result = read.ok ? withStoreDefaults(read, defaults) : read
    const findings = await examine(result, !offline)
    if (result.ok) {
      findings.push(...examineDefaults(result.origins, defaults), ...examineNotices(result.config, result.origins))
    }
    const isUsable = result.ok && findings.every(({ verdict }) => verdict !== 'bad')
    reportFindings(findings, {
      json,
      // The table below shows the values which are well.
      shown: findings.filter(({ verdict }) => verdict !== 'ok'),
      addition: isUsable ? { document: asDocument(result), lines: asLines(result) } : undefined,
    })
  })
}

/** A store that cannot be read is among the findings. */
async function defaultsOfServer(config: Config): Promise<readonly StoreDefault[]> {
  const read = await readServerStore(config, createSystemClock(), readStoreDefaults)
  return read === 'unreachable' ? [] : (read ?? [])
}

async function examine(result: ConfigResult, asksOthers: boolean): Promise<Finding[]> {
  if (!result.ok) return examineResult(result)
  const { config, origins } = result
  const clock = createSystemClock()
  return [
    ...examineResult(result),
    ...(await examineSettings(config, origins, clock.wallInstant().milliseconds)),
    ...(await examineSources(config, origins, clock, asksOthers)),
    ...(asksOthers ? await examineDecimals(config, origins, clock) : []),
  ]
}

function asDocument({ config, origins }: ReadConfig): object {
  const settings = settingsInForce(config, origins).map(({ key, value, origin, live }) => [
    key,
    { value, origin, live },
  ])
  return { settings: Object.fromEntries(settings), addresses: addressOrigins(config) }
}

function asLines(result: ReadConfig): string[] {
  const lines: string[] = []
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
    `${countText(definition.priceDecimals, 'price decimal')}, ${countText(definition.amountDecimals, 'amount decimal')}`,
    definition.depth === 0 ? 'all levels' : `${countText(definition.depth, 'level')} per side`,
  ])
  lines.push(`markets (${result.origins.markets}; ${liveMark('markets')})`, ...tableLines(markets))
  const assets = result.config.assets.map(({ symbol, decimals, networks }) => [
    `  ${symbol}`,
    countText(decimals, 'decimal'),
    networks.join(' ') || 'fiat',
  ])
  lines.push(`assets (${result.origins.assets}; ${liveMark('assets')})`, ...tableLines(assets))
  const addresses = addressOrigins(result.config).map(({ networks, origin, firstAddress = '' }) => [
    `  ${networks.join(' ')}`,
    origin ?? 'no key: no deposit addresses',
    firstAddress && `the first is ${firstAddress}`,
  ])
  return [...lines, 'deposit addresses', ...tableLines(addresses)]
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
