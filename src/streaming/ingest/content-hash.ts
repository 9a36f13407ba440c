/**
 * A hash over a numbered message's effect on its market, to compare the copies from two lines: book changes, executions
 * and the instrument state. Levels may come in any order, and decimals are hashed by value (`1.50` is `1.5`). Times are
 * excluded, because each line may stamp its own. With 53 bits the hash detects faults; it does not protect against a
 * publisher that computes collisions. `AppliedHashes` keeps those for the last messages. Pure.
 */
import type {
  PublicationMessage,
  PublishedInstrument,
  PublishedLevel,
  SnapshotMessage,
} from '../sources/publication/message.ts'

/** Two lanes, 32 bits each. */
class Hash {
  #first = 0x811c9dc5 | 0
  #second = 0x9747b28c | 0

  code(code: number): void {
    this.#first = Math.imul(this.#first ^ code, 0x01000193)
    const mixed = Math.imul(this.#second ^ code, 0xcc9e2d51 | 0)
    this.#second = (mixed << 13) | (mixed >>> 19)
  }

  text(text: string): void {
    for (let index = 0; index < text.length; index++) this.code(text.charCodeAt(index))
    this.code(-1)
  }

  /** A decimal's digits without zeros that leave its value unchanged. */
  decimal(text: string): void {
    let end = text.length
    if (text.includes('.')) {
      while (text.charCodeAt(end - 1) === ZERO) end--
      if (text.charCodeAt(end - 1) === POINT) end--
    }
    let index = 0
    while (index < end && text.charCodeAt(index) === ZERO) index++
    for (; index < end; index++) this.code(text.charCodeAt(index))
    this.code(-2)
  }

  /** Adds entries in any order: the sum over their hashes. */
  unordered<Entry>(entries: readonly Entry[], add: (hash: Hash, entry: Entry) => void): void {
    const parts = this.unorderedInParts(entries, add)
    while (parts.next().done !== true);
  }

  /** Does the same in steps, about 0.1 ms each. */
  *unorderedInParts<Entry>(entries: readonly Entry[], add: (hash: Hash, entry: Entry) => void): Generator<void, void> {
    let first = 0
    let second = 0
    const hash = new Hash()
    for (let start = 0; start < entries.length; start += PART_ENTRIES) {
      const end = Math.min(entries.length, start + PART_ENTRIES)
      for (let index = start; index < end; index++) {
        hash.#first = 0x811c9dc5 | 0
        hash.#second = 0x9747b28c | 0
        add(hash, entries[index] as Entry)
        first = (first + spread(hash.#first)) | 0
        second = (second + spread(hash.#second)) | 0
      }
      if (end < entries.length) yield
    }
    this.code(entries.length)
    this.code(first)
    this.code(second)
  }

  /** A whole number below 2^53. */
  get value(): number {
    return (spread(this.#first) >>> 0) * 0x200000 + (spread(this.#second) >>> 11)
  }
}

/** Entries added between two steps. */
const PART_ENTRIES = 2_048

const ZERO = '0'.charCodeAt(0)
const POINT = '.'.charCodeAt(0)

/** Spreads every bit over the word: MurmurHash3's final step. */
function spread(word: number): number {
  let mixed = word ^ (word >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Hashes for large SNAPSHOTs, computed in parts. */
const computed = new WeakMap<SnapshotMessage, number>()

/** Computes a SNAPSHOT's hash in steps, for the next `contentHash` call with the same object. */
export function* hashInParts(message: SnapshotMessage): Generator<void, void> {
  computed.set(message, yield* snapshotHash(message))
}

function* snapshotHash({ type, instrument, bids, asks, orders }: SnapshotMessage): Generator<void, number> {
  const hash = new Hash()
  hash.text(type)
  addInstrument(hash, instrument)
  yield* hash.unorderedInParts(bids, addLevel)
  yield* hash.unorderedInParts(asks, addLevel)
  hash.code(orders === undefined ? 0 : 1)
  yield* hash.unorderedInParts(orders ?? [], (each, order) => addMembers(each, order))
  return hash.value
}

function wholeSnapshotHash(message: SnapshotMessage): number {
  const parts = snapshotHash(message)
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
  }
}

/** A message's hash; a whole number below 2^53. */
export function contentHash(message: PublicationMessage): number {
  if (message.type === 'SNAPSHOT') return computed.get(message) ?? wholeSnapshotHash(message)
  const hash = new Hash()
  hash.text(message.type)
  if (message.type === 'INSTRUMENT') addInstrument(hash, message.instrument)
  if (message.type === 'UPDATE') {
    hash.code(message.missed === undefined ? 0 : 1)
    if (message.instrument !== undefined) addInstrument(hash, message.instrument)
    addLevels(hash, message.bids, message.asks)
    hash.code(message.orders === undefined ? 0 : 1)
    for (const change of message.orders ?? []) addMembers(hash, change)
    hash.code(message.executions.length)
    for (const execution of message.executions) addMembers(hash, execution)
  }
  return hash.value
}

function addLevels(hash: Hash, bids: readonly PublishedLevel[], asks: readonly PublishedLevel[]): void {
  hash.unordered(bids, addLevel)
  hash.unordered(asks, addLevel)
}

function addLevel(hash: Hash, { price, amount }: PublishedLevel): void {
  hash.decimal(price)
  hash.decimal(amount)
}

function addInstrument(hash: Hash, instrument: PublishedInstrument): void {
  const { priceDecimals, amountDecimals, state, reason, simulated } = instrument
  hash.text(`${priceDecimals} ${amountDecimals} ${state} ${simulated} ${reason}`)
}

type Members = {
  readonly id?: string | undefined
  readonly side?: string | undefined
  readonly venue?: string | undefined
  readonly price?: string | undefined
  readonly amount?: string | undefined
  readonly type?: string | undefined
  readonly orderId?: string | undefined
}

function addMembers(hash: Hash, { type, orderId, id, side, venue, price, amount }: Members): void {
  hash.text(type ?? '')
  hash.text(orderId ?? '')
  hash.text(id ?? '')
  hash.text(side ?? '')
  hash.text(venue ?? '')
  hash.decimal(price ?? '')
  hash.decimal(amount ?? '')
}

/** Messages with kept hashes, 32 KiB per market: 400 ms at 10,000 messages per second. */
const HASHES_KEPT = 4_096

/** The hashes for the last messages in one epoch, by `seq`. */
export class AppliedHashes {
  #hashes: Float64Array | undefined
  /** Numbers after `#from` up to `#to` can be kept. Missing ones are NaN. */
  #from = 0
  #to = 0

  /** Keeps the hash for a message later than all before. */
  record(seq: number, hash: number): void {
    this.#hashes ??= new Float64Array(HASHES_KEPT)
    if (this.#from === this.#to || seq - this.#to > HASHES_KEPT) this.#from = seq - 1
    for (let missing = Math.max(this.#to, this.#from) + 1; missing < seq; missing++) {
      this.#hashes[missing % HASHES_KEPT] = Number.NaN
    }
    this.#hashes[seq % HASHES_KEPT] = hash
    this.#to = seq
    this.#from = Math.max(this.#from, seq - HASHES_KEPT)
  }

  /** Undefined when it is not kept. */
  get(seq: number): number | undefined {
    if (seq <= this.#from || seq > this.#to) return undefined
    const hash = this.#hashes?.[seq % HASHES_KEPT]
    return hash === undefined || Number.isNaN(hash) ? undefined : hash
  }

  clear(): void {
    this.#from = this.#to
  }
}
