/**
 * The kinds of values that a setting can have: what each accepts, from text (flags, environment) and from YAML values,
 * and the words that describe it in problems, help and the reference page. A message never quotes a secret.
 */

export interface Problem {
  /** Where inside the value (`[0].depth`); empty for the value itself. */
  readonly path: string
  readonly message: string
}

export type Reading<Value> = { readonly value: Value } | { readonly problems: readonly Problem[] }

export interface Setting<Value> {
  readonly initial: Value
  /** One phrase for people: what the value does, with its unit where the key does not say it. */
  readonly meaning: string
  /** What is accepted, in words: `0 to 65535`. */
  readonly accepts: string
  readonly secret: boolean
  /** Text of flags and environment is read as YAML before `read` sees it. */
  readonly structured: boolean
  read(value: unknown): Reading<Value>
  /** The value as a configuration file would hold it. */
  show(value: Value): unknown
}

interface Common<Value> {
  readonly initial: Value
  readonly meaning: string
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
      const what = secret ? 'is' : `is ${JSON.stringify(raw) ?? 'nothing'},`
      return { problems: [{ path: '', message: `${what} not ${accepts}` }] }
    },
  }
}

/** Text that matches; YAML values that are not text are refused, since what was typed is lost (0123, no, 1e3). */
export function text(common: Common<string> & { accepts: string; pattern: RegExp; secret?: boolean }): Setting<string> {
  const { accepts, pattern, secret, ...rest } = common
  return setting(
    rest,
    accepts,
    (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
    secret === true,
  )
}

/** An absolute address of one of the schemes, without user, query or fragment; trailing slashes are taken off. */
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

export function integer(common: Common<number> & { min: number; max: number }): Setting<number> {
  const { min, max, ...rest } = common
  return setting(rest, `a whole number from ${min} to ${max}`, (value) => {
    const number = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max ? number : undefined
  })
}

/** A duration in seconds with up to three fraction digits. */
export function seconds(common: Common<number> & { min: number; max: number }): Setting<number> {
  const { min, max, ...rest } = common
  return setting(rest, `seconds from ${min} to ${max}, at most 3 fraction digits`, (value) => {
    const digits = typeof value === 'number' ? String(value) : value
    if (typeof digits !== 'string' || !/^[0-9]{1,9}(\.[0-9]{1,3})?$/.test(digits)) return undefined
    const number = Number(digits)
    return number >= min && number <= max ? number : undefined
  })
}

export function choice<const Value extends string>(
  common: Common<Value> & { values: readonly Value[] },
): Setting<Value> {
  const { values, ...rest } = common
  return setting(rest, `one of ${values.join(', ')}`, (value) => values.find((candidate) => candidate === value))
}
