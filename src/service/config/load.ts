/**
 * Builds the effective configuration: flags over environment over file over defaults. It reports all wrong values at
 * once (a limited number in full), each with its key and where the value comes from. Relations between keys are checked
 * once every value is valid. It never quotes a secret.
 */
import { dirname } from 'node:path'
import { isObject } from '../../platform/base/json-value.ts'
import { nearest } from '../../platform/base/nearest.ts'
import { fileErrorText } from '../../platform/base/regular-file.ts'
import type { ConfiguredMarket } from '../../streaming/market/configured-market.ts'
import { assetAmountProblems } from './asset-amounts.ts'
import { type Feeds, feedKeyOf, feedMemberOf, withFeedMember } from './feeds.ts'
import { FOLLOW_ALL_MARKETS_MAX } from './followed-markets.ts'
import { limitProblems } from './limits.ts'
import { simulatorProblems } from './markets.ts'
import { type ConfigProblem, ProblemList } from './problem-list.ts'
import { RELATIONS } from './relations.ts'
import { isRemoved, REMOVED_SETTINGS, removedText } from './removed-settings.ts'
import type { Problem, Setting } from './setting-kinds.ts'
import { type Config, SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts'
import { feedProblems, ingestProblems, withModulesIn } from './sources.ts'
import { readYaml } from './yaml.ts'

export interface ConfigInput {
  /** The flags' values by key. */
  readonly flags: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** `--config FILE`, or `TIDEGATE_CONFIG`. */
  readonly file: string | undefined
  /** Reads a text file, and throws what `node:fs` throws. */
  readonly readFile: (path: string) => string
  /** The running verb's defaults where they differ from the table, as in a configuration file. */
  readonly verbDefaults?: VerbDefaults
}

export type VerbDefaults = Readonly<Partial<Record<SettingKey, unknown>>>

export type ConfigResult =
  | {
      readonly ok: true
      readonly config: Config
      readonly origins: Readonly<Record<SettingKey, string>>
      readonly warnings: readonly string[]
      /** Whether the configuration file contains no value, as a truncated file does. */
      readonly isFileEmpty: boolean
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[]; readonly warnings: readonly string[] }

/** Other variables with the prefix. */
const OTHER_VARIABLES = ['TIDEGATE_CONFIG', 'TIDEGATE_CLIENT_ID', 'TIDEGATE_CLIENT_SECRET', 'TIDEGATE_LONG']

/** Keys whose amounts must be in configured assets. */
const AMOUNT_KEYS = [
  'conversion.notional_max',
  'conversion.desk_limits',
  'orchestrations.minimums',
  'review_above.deposits',
  'review_above.payments',
] as const

/** The default for `auth.directory_stale_seconds` where other nodes report on a bus whether they reach the store. */
const DIRECTORY_STALE_SECONDS_WITH_BUS = 60

/** Unknown variables named in the warning. */
const UNKNOWN_NAMES_MAX = 20

interface RawValue {
  readonly value: unknown
  readonly origin: string
}

/** One origin's values: for keys, and for single members of `feeds` by their own keys. */
interface Layer {
  readonly values: Map<SettingKey, RawValue>
  readonly members: Map<string, RawValue>
}

export function loadConfig(input: ConfigInput): ConfigResult {
  const problems = new ProblemList()
  const warnings: string[] = []
  const inFile = readConfigFile(input, problems, warnings)
  const { values: raw, members } = layered([
    readVerbDefaults(input),
    inFile,
    readEnvironment(input, problems, warnings),
    readFlags(input, problems, warnings),
  ])

  const values: Partial<Record<SettingKey, unknown>> = {}
  const origins: Partial<Record<SettingKey, string>> = {}
  for (const key of SETTING_KEYS) {
    const row = SETTINGS[key] as Setting<unknown>
    const found = raw.get(key)
    origins[key] = found?.origin ?? 'default'
    if (found === undefined) {
      values[key] = row.initial
      continue
    }
    const reading = row.read(found.value)
    if ('value' in reading) values[key] = reading.value
    else for (const problem of reading.problems) problems.add(located(key, found.origin, problem))
  }
  if (!raw.has('auth.directory_stale_seconds') && values['bus.url'] !== '') {
    values['auth.directory_stale_seconds'] = DIRECTORY_STALE_SECONDS_WITH_BUS
  }
  const { markets = [] } = values as Partial<Config>
  if (!raw.has('stream.follow') && markets.length > FOLLOW_ALL_MARKETS_MAX) values['stream.follow'] = 'wanted'
  if (values.markets !== undefined) {
    const isInFile = input.file !== undefined && origins.markets === input.file
    const folder = isInFile ? dirname(input.file) : '.'
    values.markets = withModulesIn(folder, values.markets as readonly ConfiguredMarket[])
  }
  if (values.feeds !== undefined) {
    const { feeds, origin } = readMembers(values.feeds as Feeds, members, problems)
    values.feeds = feeds
    if (origins.feeds === 'default' && origin !== undefined) origins.feeds = origin
    const markets = raw.get('markets')
    for (const problem of feedProblems(markets?.value, feeds)) {
      problems.add(located('markets', markets?.origin ?? '', problem))
    }
  }
  if (problems.count > 0) return { ok: false, problems: problems.all(), warnings }
  const config = values as Config
  const knownOrigins = origins as Record<SettingKey, string>
  const broken = brokenRelations(config, knownOrigins)
  if (broken.length > 0) return { ok: false, problems: broken, warnings }
  const isFileEmpty = input.file !== undefined && inFile.values.size + inFile.members.size === 0
  return { ok: true, config, origins: knownOrigins, warnings, isFileEmpty }
}

/**
 * Lowest precedence first: later layers replace earlier ones key by key, and a complete map replaces single members.
 */
function layered(layers: readonly Layer[]): Layer {
  const all: Layer = newLayer()
  for (const { values, members } of layers) {
    for (const [key, value] of values) all.values.set(key, value)
    if (values.has('feeds')) all.members.clear()
    for (const [key, value] of members) all.members.set(key, value)
  }
  return all
}

/** The feeds with the separately given members, and where the last one comes from. */
function readMembers(
  configured: Feeds,
  members: ReadonlyMap<string, RawValue>,
  problems: ProblemList,
): { readonly feeds: Feeds; readonly origin: string | undefined } {
  let feeds = configured
  let last: string | undefined
  for (const [key, { value, origin }] of members) {
    const member = feedMemberOf(key)
    const changed = member === undefined ? undefined : withFeedMember(feeds, member, value)
    if (typeof changed === 'string') problems.add({ key, origin, message: changed })
    else if (changed !== undefined) feeds = changed
    last = origin
  }
  return { feeds, origin: last }
}

function newLayer(): Layer {
  return { values: new Map(), members: new Map() }
}

/** Problems between keys whose values are valid on their own. */
function brokenRelations(config: Config, origins: Readonly<Record<SettingKey, string>>): ConfigProblem[] {
  const broken = RELATIONS.filter((relation) => !relation.holds(config)).map(({ key, other, rule }) => {
    const origin = origins[key] === 'default' ? origins[other] : origins[key]
    return { key, origin, message: `is ${shown(config, key)}; it ${rule} (${shown(config, other)})` }
  })
  const inMarkets = [
    ...simulatorProblems(config.markets, config['simulator.allowed']),
    ...ingestProblems(config.markets, config),
  ]
  const amounts = AMOUNT_KEYS.flatMap((key) =>
    assetAmountProblems(config[key], config.assets).map((problem) => located(key, origins[key], problem)),
  )
  const limits = limitProblems(config['limits.defaults'], config.assets).map((problem) =>
    located('limits.defaults', origins['limits.defaults'], problem),
  )
  return [...broken, ...inMarkets.map((problem) => located('markets', origins.markets, problem)), ...amounts, ...limits]
}

function shown(config: Config, key: SettingKey): string {
  const value = config[key]
  if (value === '') return 'empty'
  return SETTINGS[key].secret ? 'set' : String(value)
}

/** `TIDEGATE_HTTP_PORT` for `http.port`. */
export function variableOf(key: string): string {
  return `TIDEGATE_${key.toUpperCase().replaceAll('.', '_')}`
}

function located(key: string, origin: string, problem: Problem): ConfigProblem {
  return { key: key + problem.path, origin, message: problem.message }
}

function readVerbDefaults({ verbDefaults = {} }: ConfigInput): Layer {
  const layer = newLayer()
  for (const [key, value] of Object.entries(verbDefaults)) {
    layer.values.set(key as SettingKey, { value, origin: 'default' })
  }
  return layer
}

function readFlags({ flags }: ConfigInput, problems: ProblemList, warnings: string[]): Layer {
  const layer = newLayer()
  for (const [key, text] of Object.entries(flags)) {
    const origin = `--${key}`
    if (isSettingKey(key)) addText(layer.values, key, text, origin, problems)
    else if (feedMemberOf(key) !== undefined) layer.members.set(key, { value: text, origin })
    else if (isRemoved(key)) warnings.push(removedText(key, origin))
    else problems.add({ key, origin, message: () => unknownKey(key) })
  }
  return layer
}

/** Empty variables count as absent, because container files omit one this way. */
function readEnvironment(input: ConfigInput, problems: ProblemList, warnings: string[]): Layer {
  const layer = newLayer()
  const { values: found } = layer
  const known = new Set(OTHER_VARIABLES)
  for (const key of SETTING_KEYS) {
    const name = variableOf(key)
    known.add(name)
    const text = input.environment[name]
    if (text) addText(found, key, text, name, problems)
    if (!SETTINGS[key].secret) continue
    const fileName = `${name}_FILE`
    known.add(fileName)
    const path = input.environment[fileName]
    if (!path) continue
    if (text) problems.add({ key, origin: fileName, message: `is given twice, by ${name} too` })
    else addSecretFile(found, key, path, fileName, input, problems)
  }
  for (const key of Object.keys(REMOVED_SETTINGS)) {
    const name = variableOf(key)
    known.add(name)
    if (input.environment[name]) warnings.push(removedText(key, name))
  }
  const others = Object.keys(input.environment).filter((name) => name.startsWith('TIDEGATE_') && !known.has(name))
  const unknown = others.filter((name) => {
    const key = feedKeyOf(name)
    const text = input.environment[name]
    if (key !== undefined && text) layer.members.set(key, { value: text, origin: name })
    return key === undefined
  })
  if (unknown.length > 0) {
    const described = unknown.slice(0, UNKNOWN_NAMES_MAX).map((name) => {
      const meant = nearest(name, [...known])
      return meant === undefined ? name : `${name} (did you mean ${meant}?)`
    })
    const more = unknown.length > UNKNOWN_NAMES_MAX ? ` and ${unknown.length - UNKNOWN_NAMES_MAX} more` : ''
    warnings.push(`unknown variables: ${described.join(', ')}${more}`)
  }
  return layer
}

function addText(
  found: Map<SettingKey, RawValue>,
  key: SettingKey,
  text: string,
  origin: string,
  problems: ProblemList,
): void {
  if (!SETTINGS[key].structured) {
    found.set(key, { value: text, origin })
    return
  }
  const result = readYaml(text)
  if ('problem' in result) problems.add({ key, origin, message: result.problem })
  else found.set(key, { value: result.value, origin })
}

function addSecretFile(
  found: Map<SettingKey, RawValue>,
  key: SettingKey,
  path: string,
  origin: string,
  input: ConfigInput,
  problems: ProblemList,
): void {
  try {
    // Editors and `echo` end files with a line break, which does not belong to the secret.
    found.set(key, { value: input.readFile(path).replace(/\r?\n$/, ''), origin: `${origin} (${path})` })
  } catch (error) {
    problems.add({ key, origin, message: `cannot be read from ${path}: ${fileErrorText(error)}` })
  }
}

function readConfigFile(input: ConfigInput, problems: ProblemList, warnings: string[]): Layer {
  const layer = newLayer()
  if (input.file === undefined) return layer
  const origin = input.file
  let text: string
  try {
    text = input.readFile(input.file)
  } catch (error) {
    problems.add({ key: '', origin, message: `cannot be read: ${fileErrorText(error)}` })
    return layer
  }
  const result = readYaml(text)
  if ('problem' in result) problems.add({ key: '', origin, message: result.problem })
  else if (result.value !== null && result.value !== undefined)
    collect(result.value, '', origin, { layer, problems, warnings })
  return layer
}

interface Found {
  readonly layer: Layer
  readonly problems: ProblemList
  readonly warnings: string[]
}

/** Collects a file's known keys: `http: {port: 1}` and `http.port: 1` are equal. */
function collect(value: unknown, prefix: string, origin: string, found: Found): void {
  const { layer, problems, warnings } = found
  if (!isObject(value)) {
    const message = () => (prefix === '' ? 'does not contain keys and values' : unknownKey(prefix))
    problems.add({ key: prefix, origin, message })
    return
  }
  for (const [member, inner] of Object.entries(value)) {
    const key = prefix === '' ? member : `${prefix}.${member}`
    if (feedMemberOf(key) !== undefined) layer.members.set(key, { value: inner, origin })
    else if (isRemoved(key)) warnings.push(removedText(key, origin))
    else if (!isSettingKey(key)) {
      // An empty section (`http:` with all its lines commented out) counts as absent.
      if (inner === null && SETTING_KEYS.some((known) => known.startsWith(`${key}.`))) continue
      collect(inner, key, origin, found)
    } else if (layer.values.has(key)) problems.add({ key, origin, message: 'is given twice' })
    else layer.values.set(key, { value: inner, origin })
  }
}

function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}

function unknownKey(key: string): string {
  const meant = nearest(key, SETTING_KEYS)
  return meant === undefined ? 'is an unknown key' : `is an unknown key; did you mean ${meant}?`
}
