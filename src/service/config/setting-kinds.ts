/**
 * The kinds of setting values: what each accepts as text (flags, environment) and as a YAML value, and its description
 * in problems, help and the reference page. Messages never quote a secret.
 */

export interface Problem {
  /** Place inside the value (`[0].depth`), empty for the value itself. */
  readonly path: string
  readonly message: string
}

/** Longest quoted part. */
const SHOWN_CHARACTERS_MAX = 100

/** The given value in a message. */
export function given(value: unknown): string {
  return value === undefined ? 'is missing' : `is ${shownValue(value)}`
}

/** A value as JSON, truncated. */
function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text
}

export type Reading<Value> = { readonly value: Value } | { readonly problems: readonly Problem[] }

export interface Setting<Value> {
  readonly initial: Value
  /** The value's meaning in one phrase, with the unit where the key does not contain it. */
  readonly meaning: string
  /** Describes the accepted values: `a whole number from 0 to 65535`. */
  readonly accepts: string
  readonly secret: boolean
  /** Whether a reload applies a new value. Otherwise a restart is needed. */
  readonly live?: true
  /** Whether a store keeps the default of its first start. `initial` is then the default of a new store in `serve`. */
  readonly isKeptByStore?: true
  /** Whether text in flags and variables is parsed as YAML before `read`. */
  readonly structured: boolean
  read(value: unknown): Reading<Value>
  /** The value as in a configuration file. */
  show(value: Value): unknown
}

interface Common<Value> {
  readonly initial: Value
  readonly meaning: string
  readonly live?: true
  readonly isKeptByStore?: true
}

function setting<Value>(
  common: Common<Value>,
  accepts: string,
  read: (value: unknown) => Value | undefined,
  secret = false,
): Setting<Value> {
  return {
    ...common,
    accepts,
    secret,
    structured: false,
    show: (value) => value,
    read(raw) {
      const value = read(raw)
      if (value !== undefined) return { value }
      const what = secret ? 'is' : `is ${shownValue(raw)},`
      return { problems: [{ path: '', message: `${what} not ${accepts}` }] }
    },
  }
}

/** Text that matches a pattern. YAML values with other types are refused because their text is lost (0123, no, 1e3). */
export function text(common: Common<string> & { accepts: string; pattern: RegExp; secret?: boolean }): Setting<string> {
  const { accepts, pattern, secret, ...rest } = common
  return setting(
    rest,
    accepts,
    (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
    secret === true,
  )
}

/** An absolute address with one of the schemes, without user, query or fragment. Trailing slashes are removed. */
export function url(common: Common<string> & { schemes: readonly string[]; optional?: boolean }): Setting<string> {
  const { schemes, optional, ...rest } = common
  const accepts = `an address starting with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`
  return setting(rest, accepts, (value) => {
    if (value === '' && optional === true) return ''
    if (typeof value !== 'string' || !URL.canParse(value)) return undefined
    const parsed = new URL(value)
    const extra = parsed.username + parsed.password + parsed.search + parsed.hash
    if (!schemes.includes(parsed.protocol.slice(0, -1)) || extra !== '') return undefined
    return value.replace(/\/+$/, '')
  })
}

/** A PostgreSQL address as its own tools write it, or empty. It may contain a password and is never quoted. */
export function databaseUrl(common: Common<string>): Setting<string> {
  const accepts = 'an address such as postgres://user:password@host:5432/database'
  // A host in the query is a socket's folder. The address then has no host before the path.
  const isAddress = (value: string) =>
    /^postgres(ql)?:\/\/[^\s\0]+$/.test(value) && (URL.canParse(value) || URL.canParse(value.replace('@/', '@host/')))
  const read = (value: unknown) => (typeof value === 'string' && (value === '' || isAddress(value)) ? value : undefined)
  return setting(common, accepts, read, true)
}

/** One or more NATS addresses, separated by commas, or empty. They may contain a password and are never quoted. */
export function natsUrl(common: Common<string>): Setting<string> {
  const accepts = 'addresses such as nats://user:password@host:4222 or tls://host, separated by commas'
  const isAddress = (value: string) => {
    if (!/^(nats|tls):\/\/[^\s\0]+$/.test(value) || !URL.canParse(value)) return false
    const { hostname, pathname, search, hash } = new URL(value)
    return hostname !== '' && /^\/?$/.test(pathname) && search + hash === ''
  }
  const fits = (value: string) => value === '' || value.split(',').every(isAddress)
  return setting(common, accepts, (value) => (typeof value === 'string' && fits(value) ? value : undefined), true)
}

export function integer(common: Common<number> & { min: number; max: number }): Setting<number> {
  const { min, max, ...rest } = common
  return setting(rest, `a whole number from ${min} to ${max}`, (value) => {
    const number = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max ? number : undefined
  })
}

/** A whole number, or empty text. */
export function optionalInteger(common: Common<number | ''> & { min: number; max: number }): Setting<number | ''> {
  const number = integer({ ...common, initial: common.min })
  const accepts = `${number.accepts}, or empty`
  return setting<number | ''>(common, accepts, (value) => {
    if (value === '' || value === null) return ''
    const reading = number.read(value)
    return 'value' in reading ? reading.value : undefined
  })
}

/** A whole number, or the word `auto`. */
export function integerOrAuto(common: Common<number> & { min: number; max: number }): Setting<number | 'auto'> {
  const number = integer(common)
  return setting<number | 'auto'>(common, `${number.accepts}, or auto`, (value) => {
    if (value === 'auto') return 'auto'
    const reading = number.read(value)
    return 'value' in reading ? reading.value : undefined
  })
}

/** A duration in seconds with up to three fraction digits. */
export function seconds(common: Common<number> & { min: number; max: number }): Setting<number> {
  return fraction(common, 'seconds')
}

/** A factor with up to three fraction digits. */
export function factor(common: Common<number> & { min: number; max: number }): Setting<number> {
  return fraction(common, 'a number')
}

function fraction(common: Common<number> & { min: number; max: number }, what: string): Setting<number> {
  const { min, max, ...rest } = common
  return setting(rest, `${what} from ${min} to ${max}, at most 3 fraction digits`, (value) => {
    const digits = typeof value === 'number' ? String(value) : value
    if (typeof digits !== 'string' || !/^[0-9]{1,9}(\.[0-9]{1,3})?$/.test(digits)) return undefined
    const number = Number(digits)
    return number >= min && number <= max ? number : undefined
  })
}

/** `true` or `false`, as a YAML value or as text. */
export function toggle(common: Common<boolean>): Setting<boolean> {
  return setting(common, 'true or false', (value) => {
    const isOn = value === true || value === 'true'
    return isOn || value === false || value === 'false' ? isOn : undefined
  })
}

export function choice<const Value extends string>(
  common: Common<Value> & { values: readonly Value[] },
): Setting<Value> {
  const { values, ...rest } = common
  return setting(rest, `one of ${values.join(', ')}`, (value) => values.find((candidate) => candidate === value))
}

/**
 * A list of distinct texts that each pass `fits`. A single text is a list with one entry. Empty by default unless
 * `initial` is given.
 */
export function list(common: {
  readonly initial?: readonly string[]
  readonly live?: true
  readonly meaning: string
  readonly accepts: string
  readonly fits: (entry: string) => boolean
}): Setting<readonly string[]> {
  const { initial = [], meaning, live, accepts, fits } = common
  return {
    initial,
    meaning,
    ...(live === undefined ? {} : { live }),
    accepts: `a list of ${accepts}`,
    secret: false,
    structured: true,
    show: (value) => value,
    read(raw) {
      const entries: unknown[] = Array.isArray(raw) ? raw : raw === null || raw === '' ? [] : [raw]
      const seen = new Set<unknown>()
      const problems = entries.flatMap((entry, index): Problem[] => {
        const path = Array.isArray(raw) ? `[${index}]` : ''
        const shown = shownValue(entry)
        if (typeof entry !== 'string' || !fits(entry))
          return [{ path, message: `is ${shown}, but accepted are ${accepts}` }]
        if (seen.has(entry)) return [{ path, message: `${shown} is named twice` }]
        seen.add(entry)
        return []
      })
      return problems.length > 0 ? { problems } : { value: entries as string[] }
    },
  }
}
