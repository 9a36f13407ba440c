/**
 * Stream requests with malformed JSON of every kind: fuzzed text, wrong types, huge numbers, deep nesting, prototype
 * names, duplicate members. The expected response is computed here from the table in the public documentation, and from
 * this connection's subscriptions.
 */
import type { Random } from '../support/random.ts'
import { type Attack, demand, type Family, PROTOTYPE_NAMES, shown } from './family.ts'
import { StreamPeer } from './stream-peer.ts'

const MARKET_CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data']
const REQUESTS_A_CONNECTION = 40

export const streamRequests: Family = {
  name: 'stream requests',
  share: 0.44,
  async run(attack) {
    const { field } = attack
    const peer = await StreamPeer.open(field.stream, field.reader.token)
    const model = new SubscriptionModel(field.markets, field.subscriptionsMax)
    try {
      for (let count = 0; count < REQUESTS_A_CONNECTION; count++) {
        const text = nextText(attack)
        const reply = await peer.ask(text)
        if (reply === undefined) throw new Error(`closed with ${peer.close?.code} instead of an answer: ${shown(text)}`)
        checkReply(text, reply, model)
      }
    } finally {
      peer.destroy()
    }
    return REQUESTS_A_CONNECTION
  },
}

function nextText(attack: Attack): string {
  const text = requestText(attack)
  const sent = attack.random.chance(0.3) ? mutate(attack.random, text) : text
  return Buffer.byteLength(sent) <= attack.field.inboundBytesMax ? sent : nextText(attack)
}

/** One connection's subscriptions, according to the documentation. */
export class SubscriptionModel {
  readonly #markets: readonly string[]
  /** The maximum number of subscriptions, and of entries per request. */
  readonly countMax: number
  readonly #keys = new Set<string>()

  constructor(markets: readonly string[], countMax: number) {
    this.#markets = markets
    this.countMax = countMax
  }

  /** The code of a failing entry. Undefined: it succeeds, and is recorded. */
  apply(action: string, entry: Readonly<Record<string, unknown>>): string | undefined {
    const type = own(entry, 'type')
    if (type === 'heartbeat') {
      const params = own(entry, 'params')
      const isEmpty = params === undefined || params === null || (isObject(params) && Object.keys(params).length === 0)
      return isEmpty ? this.#change(action, 'heartbeat') : 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
    }
    if (typeof type !== 'string' || !MARKET_CHANNELS.includes(type)) return 'UNKNOWN_CHANNEL'
    const params = own(entry, 'params')
    const isKnown =
      isObject(params) && Object.keys(params).join('\n') === 'market' && this.#markets.includes(params.market as string)
    return isKnown ? this.#change(action, `${type} ${params.market}`) : 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
  }

  list(): string[] {
    return [...this.#keys].sort()
  }

  #change(action: string, key: string): string | undefined {
    const hasEffect =
      action === 'subscribe' ? !this.#keys.has(key) && this.#keys.size < this.countMax : this.#keys.has(key)
    if (!hasEffect) return 'NO_EFFECT_ACTION'
    if (action === 'subscribe') this.#keys.add(key)
    else this.#keys.delete(key)
    return undefined
  }
}

interface Reply {
  readonly type?: unknown
  readonly error?: unknown
  readonly message?: unknown
  readonly channels?: readonly Readonly<Record<string, unknown>>[]
}

/** Throws unless `replyText` is the documented reply to `text`. */
export function checkReply(text: string, replyText: string, model: SubscriptionModel): void {
  const about = `${text} was answered ${replyText}`
  const reply = JSON.parse(replyText) as Reply
  const whole = wholeError(text, model.countMax)
  if (whole !== undefined) {
    demand(reply.type, 'error', about)
    demand(reply.error, whole, about)
    demand(typeof reply.message, 'string', about)
    demand(Object.keys(reply).length, 3, about)
    return
  }
  const request = JSON.parse(text) as { type: string; channels: Record<string, unknown>[] }
  demand(reply.type, request.type, about)
  if (request.type === 'subscription_list') {
    const keys = (reply.channels ?? []).map(({ type, params }) =>
      params === undefined ? String(type) : `${type} ${(params as { market: string }).market}`,
    )
    demand(keys.sort().join(), model.list().join(), about)
    return
  }
  demand(reply.channels?.length, request.channels.length, about)
  for (const [index, sent] of request.channels.entries()) {
    const entry = reply.channels?.[index] as Readonly<Record<string, unknown>>
    const code = model.apply(request.type, sent)
    demand(entry.success, code === undefined, `entry ${index} of ${about}`)
    demand(entry.error, code, `entry ${index} of ${about}`)
    for (const name of ['type', 'params']) {
      demand(Object.hasOwn(entry, name), Object.hasOwn(sent, name), `${name} of entry ${index} of ${about}`)
      demand(JSON.stringify(entry[name]), JSON.stringify(sent[name]), `${name} of entry ${index} of ${about}`)
    }
    const members = 1 + Number(Object.hasOwn(sent, 'type')) + Number(Object.hasOwn(sent, 'params'))
    demand(Object.keys(entry).length, members + (code === undefined ? 0 : 2), `members of entry ${index} of ${about}`)
  }
}

/** The code of a request that fails as a whole. Undefined: its entries are answered. */
function wholeError(text: string, entriesMax: number): string | undefined {
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    return 'MALFORMED_REQUEST'
  }
  if (!isObject(request)) return 'MALFORMED_REQUEST'
  const type = own(request, 'type')
  if (type === 'subscription_list') return undefined
  if (type !== 'subscribe' && type !== 'unsubscribe') return 'UNKNOWN_ACTION'
  const channels = own(request, 'channels')
  const isSound =
    Array.isArray(channels) && channels.length > 0 && channels.length <= entriesMax && channels.every(isObject)
  return isSound ? undefined : 'MALFORMED_REQUEST'
}

function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A request as text, valid or not. Its meaning is found by parsing it. */
function requestText({ random, field }: Attack): string {
  const members: string[] = []
  const type = random.pick(['subscribe', 'subscribe', 'unsubscribe', 'subscription_list'])
  if (random.chance(0.95)) members.push(`"type":${random.chance(0.85) ? textForm(random, type) : anyValue(random, 3)}`)
  if (random.chance(0.95)) members.push(`"channels":${channelsText(random, field.markets)}`)
  while (random.chance(0.15)) members.push(`${nameText(random)}:${anyValue(random, 4)}`)
  // The last duplicate member counts, as in every JSON parser.
  if (random.chance(0.05)) members.push(random.pick(members))
  if (random.chance(0.1)) members.reverse()
  return random.chance(0.02) ? `[${members.length}]` : `{${members.join(blank(random))}}`.replaceAll('}{', '},{')
}

function blank(random: Random): string {
  return random.pick([',', ',', ',', ' , ', ',\n\t', '\r\n,'])
}

function channelsText(random: Random, markets: readonly string[]): string {
  if (random.chance(0.08)) return anyValue(random, 3)
  const count = random.chance(0.03) ? random.pick([9, 10, 200]) : random.integer(5)
  const entries = Array.from({ length: count }, () =>
    random.chance(0.03) ? anyValue(random, 2) : entryText(random, markets),
  )
  return `[${entries.join(blank(random))}]`
}

function entryText(random: Random, markets: readonly string[]): string {
  const members: string[] = []
  const type = random.pick([...MARKET_CHANNELS, 'heartbeat'])
  if (random.chance(0.95)) members.push(`"type":${random.chance(0.8) ? textForm(random, type) : anyValue(random, 2)}`)
  if (random.chance(0.9)) members.push(`"params":${paramsText(random, markets)}`)
  if (random.chance(0.1)) members.push(`${nameText(random)}:${anyValue(random, 3)}`)
  if (random.chance(0.1)) members.reverse()
  return `{${members.join(blank(random))}}`
}

function paramsText(random: Random, markets: readonly string[]): string {
  if (random.chance(0.2)) return anyValue(random, 6)
  const market = random.chance(0.8) ? textForm(random, random.pick(markets)) : anyValue(random, 2)
  const more = random.chance(0.15) ? `,${nameText(random)}:${anyValue(random, 2)}` : ''
  return `{${random.pick(['', ' '])}"market":${market}${more}}`
}

/** A text in one of JSON's notations for it. */
function textForm(random: Random, text: string): string {
  if (random.chance(0.8)) return JSON.stringify(text)
  const escaped = [...text].map((character) =>
    random.chance(0.3) ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : character,
  )
  return `"${escaped.join('')}"`
}

function nameText(random: Random): string {
  return JSON.stringify(random.pick([...PROTOTYPE_NAMES, 'id', 'depth', 'interval_ms', 'resume', '', 'type ', 'TYPE']))
}

const SCALARS = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1e999',
  '-1E-400',
  '123456789012345678901234567890.12345678901234567890',
  '9007199254740993',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"é𝄞\u2028"',
  '"market_data "',
  '"MARKET_DATA"',
  '"btcusd"',
  '"../../etc/passwd"',
  '"\' OR 1=1 --"',
]

function anyValue(random: Random, depth: number): string {
  const choice = random.integer(10)
  if (choice === 0) return nested(random)
  if (choice === 1) return JSON.stringify(random.pick(PROTOTYPE_NAMES))
  if (choice === 2) return JSON.stringify('x'.repeat(random.integer(3_000)))
  if (depth > 0 && choice === 3) {
    return `[${Array.from({ length: random.integer(4) }, () => anyValue(random, depth - 1)).join()}]`
  }
  if (depth > 0 && choice <= 5) {
    const members = Array.from(
      { length: random.integer(4) },
      () => `${nameText(random)}:${anyValue(random, depth - 1)}`,
    )
    return `{${members.join()}}`
  }
  return random.pick(SCALARS)
}

/** Nesting so deep that a recursive parser would overflow its stack at a multiple of it. */
function nested(random: Random): string {
  const depth = random.pick([1, 50, 2_000])
  return random.chance(0.5)
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${'{"__proto__":'.repeat(depth)}0${'}'.repeat(depth)}`
}

/** A text with some characters removed, repeated, moved or replaced. */
function mutate(random: Random, text: string): string {
  let characters = [...text].slice(0, 4_000)
  for (let count = 1 + random.integer(4); count > 0; count--) {
    const at = random.integer(characters.length + 1)
    const length = random.chance(0.8) ? 1 : random.integer(20)
    const change = random.integer(4)
    if (change === 0) characters.splice(at, length)
    else if (change === 1) characters.splice(at, 0, random.pick([...'{}[]",:\\\u0000\u001f0e-+.ntfé𝄞\uFEFF ']))
    else if (change === 2) characters.splice(at, 0, ...characters.slice(at, at + length))
    else characters = [...characters.slice(at), ...characters.slice(0, at)]
  }
  return characters.join('')
}
