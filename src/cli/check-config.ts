/**
 * `tidegate check-config`: the effective configuration with secrets masked, or every problem with its key. It reads
 * flags, environment and files only: it opens no store and connects to nobody.
 */
import type { Command } from 'commander'
import type { ConfigResult } from '../app/config.ts'
import type { Setting } from '../app/setting-kinds.ts'
import { SETTING_KEYS, SETTINGS } from '../app/settings.ts'
import { addConfigFlags, readConfigResult } from './config-flags.ts'

type GoodConfig = ConfigResult & { readonly ok: true }

const MASK = '********'

export function registerCheckConfig(program: Command): void {
  const command = program
    .command('check-config')
    .description('shows the effective configuration with secrets masked, or every problem with its key')
    .option('--json', 'one JSON object instead of a table')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate check-config --config tidegate.yaml
  $ TIDEGATE_HTTP_PORT=9000 tidegate check-config --json`,
    )
  addConfigFlags(command).action(() => {
    const result = readConfigResult(command)
    const json = command.opts<{ json?: boolean }>().json === true
    process.stdout.write(json ? `${JSON.stringify(asJson(result), null, 2)}\n` : asText(result))
    if (!result.ok) throw new Error(`the configuration has ${count(result.problems.length, 'problem')}`)
  })
}

function asJson(result: ConfigResult): unknown {
  if (!result.ok) return { ok: false, problems: result.problems, warnings: result.warnings }
  const settings = Object.fromEntries(
    SETTING_KEYS.map((key) => [key, { value: shown(result, key), origin: result.origins[key] }]),
  )
  return { ok: true, settings, warnings: result.warnings }
}

function asText(result: ConfigResult): string {
  const lines = result.warnings.map((warning) => `warning: ${warning}`)
  if (!result.ok) {
    lines.push(...table(result.problems.map(({ key, message, origin }) => [key || origin, message, origin])))
    return `${lines.join('\n')}\n`
  }
  const keys = SETTING_KEYS.filter((key) => key !== 'markets')
  lines.push(...table(keys.map((key) => [key, String(shown(result, key)) || '(empty)', result.origins[key]])))
  const markets = result.config.markets.map(({ definition, source }) => [
    `  ${definition.symbol}`,
    source.symbol === '' ? source.venue : `${source.venue}:${source.symbol}`,
    `${count(definition.priceDecimals, 'price decimal')}, ${count(definition.amountDecimals, 'amount decimal')}`,
    definition.depth === 0 ? 'all levels' : `${count(definition.depth, 'level')} a side`,
  ])
  lines.push(`markets (${result.origins.markets})`, ...table(markets))
  return `${lines.join('\n')}\n`
}

function shown(result: GoodConfig, key: (typeof SETTING_KEYS)[number]): unknown {
  const row = SETTINGS[key] as Setting<unknown>
  const value = result.config[key]
  return row.secret && value !== '' ? MASK : row.show(value)
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
