/**
 * The `feeds` setting: connections to venues by name, so several feeds of one kind can be used side by side. Kinds and
 * default addresses come from the venue table. For each kind there is a default feed with the kind's name. The kind
 * `tidegate` is a publisher (`upstream-feed`), which has no default address and no `rest_url`. Flags, variables and
 * flat keys in a file address single members of the map: `feeds.NAME.url` and `feeds.NAME.rest_url`.
 */
import { isObject, type JsonObject } from '../../platform/base/json-value.ts'
import { nearest } from '../../platform/base/nearest.ts'
import type { Upstream } from '../../streaming/sources/tidegate/tidegate-source.ts'
import type { VenueAddresses } from '../../streaming/sources/venues/venue.ts'
import { VENUE_NAMES, VENUES, type VenueName } from '../../streaming/sources/venues/venues.ts'
import { given, type Problem, type Reading, type Setting, url } from './setting-kinds.ts'
import { readUpstreamFeed, showUpstreamFeed, upstreamTransportProblem } from './upstream-feed.ts'

type Feed =
  | { readonly kind: VenueName; readonly addresses: VenueAddresses }
  | { readonly kind: 'tidegate'; readonly upstream: Upstream }

/** By name. */
export type Feeds = ReadonlyMap<string, Feed>

/** One member of the map, named by a flag, a variable or a flat key. */
interface FeedMember {
  readonly name: string
  readonly member: 'url' | 'rest_url'
}

/** Each feed is one connection. */
const FEEDS_MAX = 64
const NAME = /^[a-z][a-z0-9-]{0,31}$/
export const FEED_NAME_WORDS = '1 to 32 small letters, digits and hyphens, beginning with a letter'
/** Names for other kinds of sources, present and future. */
const RESERVED: readonly string[] = ['ingest', 'module', 'replay', 'simulator']
const MEMBERS = ['kind', 'url', 'rest_url']
const KINDS: readonly Feed['kind'][] = [...VENUE_NAMES, 'tidegate']
const MEMBER_KEY = /^feeds\.([^.]+)\.(url|rest_url)$/
const MEMBER_VARIABLE = /^TIDEGATE_FEEDS_(.+?)_(REST_URL|URL)$/

const ADDRESSES = {
  url: url({ initial: '', meaning: '', schemes: ['wss', 'ws'] }),
  rest_url: url({ initial: '', meaning: '', schemes: ['https', 'http'] }),
}

const FEEDS_DEFAULT: Feeds = new Map(
  VENUE_NAMES.map((name) => [name, { kind: name, addresses: defaultAddressesOf(name) }]),
)

export function feeds(common: { readonly meaning: string }): Setting<Feeds> {
  return {
    ...common,
    initial: FEEDS_DEFAULT,
    accepts: 'a map of feeds by name',
    secret: false,
    structured: true,
    read: readFeeds,
    show: (value) => Object.fromEntries([...value].map(([name, feed]) => [name, showFeed(feed)])),
  }
}

/** The member named by a key, whether or not the feed exists. Undefined for any other key. */
export function feedMemberOf(key: string): FeedMember | undefined {
  const match = MEMBER_KEY.exec(key)
  return match === null ? undefined : ({ name: match[1], member: match[2] } as FeedMember)
}

/** The key for a variable's member: `feeds.binance-us.url` for `TIDEGATE_FEEDS_BINANCE_US_URL`. */
export function feedKeyOf(variable: string): string | undefined {
  const match = MEMBER_VARIABLE.exec(variable)
  if (match === null) return undefined
  const [, name = '', member = ''] = match
  return `feeds.${name.toLowerCase().replaceAll('_', '-')}.${member.toLowerCase()}`
}

/** The feeds with one member replaced, or why this is not possible. */
export function withFeedMember(known: Feeds, { name, member }: FeedMember, value: unknown): Feeds | string {
  const feed = known.get(name)
  if (feed === undefined)
    return `names no feed (${unknownFeedText(name, known)}). Add a new feed to feeds, with its kind`
  const reading = ADDRESSES[member].read(value)
  if ('problems' in reading) return reading.problems[0]?.message ?? ''
  if (feed.kind === 'tidegate') {
    if (member === 'rest_url') return `is not a member of a feed with the kind ${feed.kind}`
    return new Map([...known, [name, { ...feed, upstream: { ...feed.upstream, url: reading.value } }]])
  }
  const addresses = { ...feed.addresses, [member === 'url' ? 'url' : 'restUrl']: reading.value }
  return new Map([...known, [name, { ...feed, addresses }]])
}

/** The feeds that send a secret over a connection readable to others, each with its remedy. */
export function feedTransportProblems(known: Feeds): readonly string[] {
  return [...known].flatMap(([name, feed]) => {
    const problem = feed.kind === 'tidegate' ? upstreamTransportProblem(name, feed.upstream) : undefined
    return problem === undefined ? [] : [problem]
  })
}

/** A hint at the existing feeds for an unknown name. */
export function unknownFeedText(name: string, known: Feeds): string {
  const names = [...known.keys()]
  const meant = nearest(name, names)
  return meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`
}

function readFeeds(raw: unknown): Reading<Feeds> {
  // An empty section (`feeds:` with all its lines commented out) counts as absent.
  if (raw === null) return { value: FEEDS_DEFAULT }
  if (!isObject(raw)) return { problems: [{ path: '', message: 'is not a map of feeds by name' }] }
  const entries = Object.entries(raw)
  if (entries.length > FEEDS_MAX) {
    return { problems: [{ path: '', message: `has ${entries.length} feeds, but at most ${FEEDS_MAX} are allowed` }] }
  }
  const problems: Problem[] = []
  const read = new Map(FEEDS_DEFAULT)
  for (const [name, entry] of entries) {
    const path = `.${name}`
    const wrong = nameProblem(name)
    if (wrong === undefined) {
      const feed = readFeed(name, entry, path, problems)
      if (feed !== undefined) read.set(name, feed)
    } else problems.push({ path, message: wrong })
  }
  return problems.length > 0 ? { problems } : { value: read }
}

function defaultAddressesOf(kind: VenueName): VenueAddresses {
  const [{ url: address, restUrl }] = VENUES[kind].exchanges
  return { url: address, restUrl }
}

function nameProblem(name: string): string | undefined {
  if (RESERVED.includes(name)) return `is a reserved name (as are ${RESERVED.filter((one) => one !== name).join(', ')})`
  if (!NAME.test(name)) return `is not a name of ${FEED_NAME_WORDS}`
  // TIDEGATE_FEEDS_NAME_REST_URL would be ambiguous.
  return name.endsWith('-rest') ? 'is not a name: it ends in -rest' : undefined
}

/** An entry's feed. Problems are added to `problems`. Undefined when the entry is not a feed. */
function readFeed(name: string, entry: unknown, path: string, problems: Problem[]): Feed | undefined {
  const note = (member: string, message: string): void => void problems.push({ path: path + member, message })
  if (!isObject(entry)) {
    note('', 'is not an object')
    return undefined
  }
  const { kind: named = FEEDS_DEFAULT.has(name) ? name : undefined } = entry
  const kind = KINDS.find((one) => one === named)
  if (kind === undefined) {
    note('.kind', `${given(named)}, not one of ${KINDS.join(', ')}`)
    return undefined
  }
  if (FEEDS_DEFAULT.has(name) && kind !== name) note('.kind', `is ${kind}, but the feed ${name} is of the kind ${name}`)
  if (kind === 'tidegate') {
    const upstream = readUpstreamFeed(entry, path, problems)
    return upstream === undefined ? undefined : { kind, upstream }
  }
  return readVenueFeed(kind, name, entry, note)
}

function readVenueFeed(
  kind: VenueName,
  name: string,
  entry: JsonObject,
  note: (member: string, message: string) => void,
): Feed {
  for (const member of Object.keys(entry)) {
    if (MEMBERS.includes(member)) continue
    const meant = nearest(member, MEMBERS)
    note(`.${member}`, meant === undefined ? 'is unknown' : `is unknown; did you mean ${meant}?`)
  }
  const addresses = defaultAddressesOf(kind)
  const read = (member: 'url' | 'rest_url', initial: string): string => {
    const value = entry[member]
    if (value === undefined) return initial
    const reading = ADDRESSES[member].read(value)
    if ('value' in reading) return reading.value
    for (const problem of reading.problems) note(`.${member}`, problem.message)
    return initial
  }
  if (kind !== name && (entry.url === undefined) !== (entry.rest_url === undefined)) {
    const missing = entry.url === undefined ? 'url' : 'rest_url'
    note(`.${missing}`, `is missing: url and rest_url must belong to the same exchange. Set both or neither`)
  }
  return { kind, addresses: { url: read('url', addresses.url), restUrl: read('rest_url', addresses.restUrl) } }
}

function showFeed(feed: Feed): unknown {
  if (feed.kind === 'tidegate') return showUpstreamFeed(feed.upstream)
  const { kind, addresses } = feed
  return { kind, url: addresses.url, rest_url: addresses.restUrl }
}
