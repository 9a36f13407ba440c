/**
 * The FIX adapter's configuration: one JSON file, fully checked before anything starts. Unknown members are errors.
 * Secrets come from files or from the environment, never from the configuration itself, and no error contains them.
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** @import { ConnectionOptions } from '../publisher/connection.mjs' */
/** @import { EntrySettings, KeyedBy } from './entries.mjs' */
/** @import { MarketSettings } from './market.mjs' */
/** @import { SessionSettings } from './session.mjs' */
/** @import { State, States } from './trading-state.mjs' */
/** @import { TradeSettings } from './trades.mjs' */

/**
 * @typedef {{ host: string, port: number, tls: { ca?: string } | undefined }} Address
 * @typedef {object} Configuration
 * @property {Address & SessionSettings} fix
 * @property {readonly (MarketSettings & EntrySettings & TradeSettings)[]} markets
 * @property {ConnectionOptions} tidegate
 *
 * @typedef {Readonly<Record<string, unknown>>} Members
 * @typedef {Readonly<Record<string, string | undefined>>} Environment
 */

const SECRET_OF_TIDEGATE = 'TIDEGATE_CLIENT_SECRET'
const SECRET_OF_FIX = 'FIX_PASSWORD'

export class ConfigurationError extends Error {}

/**
 * Reads and checks the file. Paths in it are relative to it.
 * @param {string} file
 * @param {Environment} environment
 * @returns {Configuration}
 * @throws {ConfigurationError} Names the member and the rule.
 */
export function loadConfiguration(file, environment) {
  /** @type {unknown} */
  let document
  try {
    document = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ConfigurationError(`${file}: ${/** @type {Error} */ (error).message}`)
  }
  const root = new Reader(document, 'the file', dirname(resolve(file)))
  const configuration = {
    fix: fixOf(root.object('fix'), environment),
    markets: marketsOf(root.list('markets'), root.object('market_data', {})),
    tidegate: tidegateOf(root.object('tidegate'), environment),
  }
  root.end()
  return configuration
}

/** @param {Reader} reader @param {Environment} environment */
function fixOf(reader, environment) {
  const username = reader.text('username', '')
  const password = reader.secret('password_file', environment[SECRET_OF_FIX], undefined)
  const isTls = reader.flag('tls', false)
  const ca = reader.content('tls_ca_file')
  // The operator expects TLS. Without it, the password would be sent in plain text.
  if (ca !== undefined && !isTls) fail('fix: tls_ca_file', 'needs "tls": true')
  const fix = {
    host: reader.text('host'),
    port: reader.integer('port', undefined, 1, 65_535),
    tls: isTls ? (ca === undefined ? {} : { ca }) : undefined,
    version: /** @type {SessionSettings['version']} */ (reader.oneOf('version', ['FIX.4.4', 'FIXT.1.1'])),
    senderCompId: reader.text('sender_comp_id'),
    targetCompId: reader.text('target_comp_id'),
    username: username === '' ? undefined : username,
    password,
    heartbeatSeconds: reader.integer('heartbeat_seconds', 30, 1, 3_600),
    resetSequenceNumbers: reader.flag('reset_sequence_numbers', true),
  }
  reader.end()
  return fix
}

/** @param {readonly Reader[]} list @param {Reader} common */
function marketsOf(list, common) {
  const shared = {
    keyedBy: /** @type {KeyedBy} */ (common.oneOf('keyed_by', ['price', 'position', 'order'])),
    depth: common.integer('depth', 0, 0, 100_000),
    refresh: /** @type {MarketSettings['refresh']} */ (common.oneOf('refresh', ['incremental', 'full'])),
    securityStatus: common.flag('security_status', false),
    tradeSideTag: common.integer('trade_side_tag', 2446, 1, 999_999_999),
    states: { tradingStatus: common.states('trading_status'), sessionPhase: common.states('session_phase') },
  }
  common.end()
  const markets = list.map((reader) => {
    const own = {
      market: reader.text('market'),
      symbol: reader.text('symbol'),
      priceDecimals: reader.integer('price_decimals', undefined, 0, 18),
      amountDecimals: reader.integer('amount_decimals', undefined, 0, 18),
    }
    reader.end()
    return { ...shared, ...own }
  })
  if (markets.length === 0) throw new ConfigurationError('markets: at least one is needed')
  for (const member of /** @type {const} */ (['market', 'symbol'])) {
    if (new Set(markets.map((market) => market[member])).size < markets.length) {
      throw new ConfigurationError(`markets: two have the same ${member}`)
    }
  }
  return markets
}

/** @param {Reader} reader @param {Environment} environment */
function tidegateOf(reader, environment) {
  const clientSecret = reader.secret('client_secret_file', environment[SECRET_OF_TIDEGATE], SECRET_OF_TIDEGATE)
  const tidegate = {
    url: reader.text('url'),
    authUrl: reader.text('auth_url').replace(/\/+$/, ''),
    clientId: reader.text('client_id'),
    clientSecret: /** @type {string} */ (clientSecret),
  }
  reader.end()
  return tidegate
}

/** Reads one object's members, and names the wrong ones. */
class Reader {
  #members
  #name
  #folder
  /** @type {Set<string>} */
  #read = new Set()

  /** @param {unknown} value @param {string} name @param {string} folder */
  constructor(value, name, folder) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(name, 'must be an object')
    this.#members = /** @type {Members} */ (value)
    this.#name = name
    this.#folder = folder
  }

  /** Rejects members that were not read. */
  end() {
    const unknown = Object.keys(this.#members).find((member) => !this.#read.has(member))
    if (unknown !== undefined) fail(`${this.#name}: ${unknown}`, 'is not a known member')
  }

  /** @param {string} member @param {Members} [otherwise] @returns {Reader} */
  object(member, otherwise) {
    return new Reader(this.#value(member, otherwise), member, this.#folder)
  }

  /** @param {string} member @returns {Reader[]} */
  list(member) {
    const value = this.#value(member, undefined)
    if (!Array.isArray(value)) fail(member, 'must be a list')
    return /** @type {unknown[]} */ (value).map(
      (entry, index) => new Reader(entry, `${member}[${index}]`, this.#folder),
    )
  }

  /** Printable ASCII. @param {string} member @param {string} [otherwise] @returns {string} */
  text(member, otherwise) {
    const value = this.#value(member, otherwise)
    if (typeof value !== 'string' || !/^[ -~]*$/.test(value)) fail(this.#of(member), 'must be text of printable ASCII')
    if (value === '' && otherwise !== '') fail(this.#of(member), 'must not be empty')
    return /** @type {string} */ (value)
  }

  /** @param {string} member @param {number | undefined} otherwise @param {number} min @param {number} max */
  integer(member, otherwise, min, max) {
    const value = this.#value(member, otherwise)
    if (!Number.isInteger(value) || Number(value) < min || Number(value) > max) {
      fail(this.#of(member), `must be an integer from ${min} to ${max}`)
    }
    return Number(value)
  }

  /** @param {string} member @param {boolean} otherwise */
  flag(member, otherwise) {
    const value = this.#value(member, otherwise)
    if (typeof value !== 'boolean') fail(this.#of(member), 'must be true or false')
    return value === true
  }

  /**
   * One of the texts, or the first where the member is absent. @param {string} member @param {readonly string[]} texts
   */
  oneOf(member, texts) {
    const text = this.text(member, texts[0])
    if (!texts.includes(text)) fail(this.#of(member), `must be one of ${texts.join(', ')}`)
    return text
  }

  /** @param {string} member @returns {States} */
  states(member) {
    const value = /** @type {Members} */ (this.#value(member, {}))
    const states = ['OPEN', 'HALTED', 'AUCTION', 'CLOSED']
    if (typeof value !== 'object' || Object.values(value).some((state) => !states.includes(String(state)))) {
      fail(this.#of(member), `must have values of ${states.join(', ')}`)
    }
    return /** @type {Record<string, State>} */ (value)
  }

  /** @param {string} member @returns {string | undefined} */
  path(member) {
    const text = this.text(member, '')
    return text === '' ? undefined : resolve(this.#folder, text)
  }

  /** The named file's content. @param {string} member @returns {string | undefined} */
  content(member) {
    const file = this.path(member)
    try {
      return file === undefined ? undefined : readFileSync(file, 'utf8')
    } catch (error) {
      return fail(this.#of(member), /** @type {NodeJS.ErrnoException} */ (error).code ?? 'cannot be read')
    }
  }

  /**
   * The named file's content without its line end, or the value from the environment.
   * @param {string} member
   * @param {string | undefined} fromEnvironment
   * @param {string | undefined} requiredName The variable to name where there is neither.
   */
  secret(member, fromEnvironment, requiredName) {
    const secret = this.content(member)?.replace(/\r?\n$/, '') ?? fromEnvironment
    if (requiredName !== undefined && (secret ?? '') === '') fail(this.#of(member), `or ${requiredName} must be set`)
    if (secret !== undefined && !/^[ -~]+$/.test(secret)) fail(this.#of(member), 'must be one line of printable ASCII')
    return secret
  }

  /** @param {string} member */
  #of(member) {
    return `${this.#name}: ${member}`
  }

  /** @param {string} member @param {unknown} otherwise */
  #value(member, otherwise) {
    this.#read.add(member)
    const value = this.#members[member] ?? otherwise
    if (value === undefined) fail(this.#of(member), 'is missing')
    return value
  }
}

/** @param {string} where @param {string} rule @returns {never} */
function fail(where, rule) {
  throw new ConfigurationError(`${where} ${rule}`)
}
