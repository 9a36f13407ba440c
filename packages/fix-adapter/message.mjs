/**
 * FIX messages in tag=value encoding: a decoder that finds messages in a byte stream, an encoder, and the texts of
 * fields. A message with a wrong length or checksum is reported as garbled and skipped, as the specification requires.
 * Its sequence number then shows as a gap. Values stay text: no price or amount becomes a number.
 */

const SOH = 1
const SEPARATOR = '\x01'
/** `10=` and three digits, with the separator. */
const TRAILER_BYTES = 7
/** BeginString and BodyLength together are shorter than this. */
const PREFIX_BYTES_MAX = 40
const START = Buffer.from('8=FIX')

/** Length fields and their data fields, whose values may contain the separator (FIX 4.4 and 5.0 SP2). */
const DATA_FIELDS = new Map([
  [90, 91],
  [93, 89],
  [95, 96],
  [212, 213],
  [348, 349],
  [350, 351],
  [352, 353],
  [354, 355],
  [356, 357],
  [358, 359],
  [360, 361],
  [362, 363],
  [364, 365],
  [445, 446],
  [618, 619],
  [621, 622],
  [1184, 1185],
  [1277, 1278],
  [1280, 1281],
  [1282, 1283],
  [1401, 1402],
  [1403, 1404],
])

/** @typedef {readonly (readonly [tag: number, value: string])[]} Fields */

/** One received message. */
export class Message {
  /** @param {Fields} fields In the order received, from BeginString to CheckSum. */
  constructor(fields) {
    this.fields = fields
    this.type = this.get(35) ?? ''
  }

  /** The first field with this tag. @param {number} tag @returns {string | undefined} */
  get(tag) {
    return this.fields.find(([candidate]) => candidate === tag)?.[1]
  }

  /**
   * A field that counts messages or seconds. Undefined where it is absent or not such a number.
   * @param {number} tag
   * @returns {number | undefined}
   */
  count(tag) {
    const text = this.get(tag)
    return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined
  }

  /**
   * A repeating group's entries, or undefined if their number differs from the announced one. The first field after the
   * count begins each entry. Where an entry has a field twice, in groups inside it, the first one is kept.
   * @param {number} countTag
   * @returns {Map<number, string>[] | undefined}
   */
  entries(countTag) {
    const at = this.fields.findIndex(([tag]) => tag === countTag)
    const count = this.count(countTag)
    if (at < 0 || count === undefined) return undefined
    const first = this.fields[at + 1]?.[0]
    /** @type {Map<number, string>[]} */
    const entries = []
    if (count > 0) {
      for (const [tag, value] of this.fields.slice(at + 1, -1)) {
        if (tag === first) entries.push(new Map())
        const entry = /** @type {Map<number, string>} */ (entries[entries.length - 1])
        if (!entry.has(tag)) entry.set(tag, value)
      }
    }
    return entries.length === count ? entries : undefined
  }
}

/**
 * @typedef {object} DecoderListener
 * @property {(message: Message) => void} onMessage
 * @property {(reason: string) => void} onGarbled Bytes were skipped.
 */

export class Decoder {
  #listener
  #bytesMax
  /** @type {Buffer[]} */
  #chunks = []
  #bytes = 0
  /** With fewer bytes than this, no message can be complete. */
  #neededBytes = 1

  /** @param {DecoderListener} listener @param {number} bytesMax Per message. */
  constructor(listener, bytesMax) {
    this.#listener = listener
    this.#bytesMax = bytesMax
  }

  /** Decodes the messages completed by this chunk. @param {Buffer} chunk */
  push(chunk) {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#neededBytes) return
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes)
    this.#neededBytes = 1
    for (;;) {
      const taken = this.#next(rest)
      if (taken === 0) break
      rest = rest.subarray(taken)
    }
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
  }

  /**
   * Takes one message, or bytes to skip. Returns their number, or 0 where more bytes are needed. @param {Buffer} bytes
   */
  #next(bytes) {
    if (bytes.length < START.length) return 0
    if (bytes.indexOf(START) !== 0) return this.#skip(bytes, 'bytes that begin no message')
    const lengthAt = bytes.indexOf(SOH) + 1
    const bodyAt = lengthAt === 0 ? 0 : bytes.indexOf(SOH, lengthAt) + 1
    if (bodyAt === 0) return bytes.length < PREFIX_BYTES_MAX ? 0 : this.#skip(bytes, 'no BodyLength')
    const [, digits] = /^9=([0-9]{1,9})$/.exec(bytes.toString('latin1', lengthAt, bodyAt - 1)) ?? []
    if (digits === undefined) return this.#skip(bytes, 'BodyLength is not the second field')
    const trailerAt = bodyAt + Number(digits)
    const end = trailerAt + TRAILER_BYTES
    if (end > this.#bytesMax) return this.#skip(bytes, 'BodyLength is too large')
    if (bytes.length < end) {
      this.#neededBytes = end
      return 0
    }
    const trailer = bytes.toString('latin1', trailerAt, end)
    if (bytes[trailerAt - 1] !== SOH || bytes[end - 1] !== SOH || !/^10=[0-9]{3}/.test(trailer))
      return this.#skip(bytes, 'BodyLength is wrong')
    if (Number(trailer.slice(3, 6)) !== checksum(bytes, trailerAt)) return this.#skip(bytes, 'CheckSum is wrong')
    const fields = fieldsOf(bytes.toString('latin1', 0, end))
    if (fields === undefined || fields[2]?.[0] !== 35) return this.#skip(bytes, 'a field has no tag or no value')
    this.#listener.onMessage(new Message(fields))
    return end
  }

  /** Skips to the next possible start of a message. @param {Buffer} bytes @param {string} reason */
  #skip(bytes, reason) {
    this.#listener.onGarbled(reason)
    const next = bytes.indexOf(START, 1)
    return next > 0 ? next : Math.max(1, bytes.length - START.length + 1)
  }
}

/**
 * A message's bytes, with BodyLength and CheckSum added.
 * @param {string} beginString
 * @param {Fields} fields From MsgType on.
 * @returns {Buffer}
 */
export function encodeMessage(beginString, fields) {
  const body = Buffer.from(fields.map(([tag, value]) => `${tag}=${value}${SEPARATOR}`).join(''), 'latin1')
  const head = Buffer.from(`8=${beginString}${SEPARATOR}9=${body.length}${SEPARATOR}`, 'latin1')
  const bytes = Buffer.concat([head, body])
  const trailer = `10=${String(checksum(bytes, bytes.length)).padStart(3, '0')}${SEPARATOR}`
  return Buffer.concat([bytes, Buffer.from(trailer, 'latin1')])
}

/**
 * A time in FIX's format: UTCTimestamp with milliseconds.
 * @param {number} milliseconds Since 1970.
 */
export function timestampText(milliseconds) {
  return new Date(milliseconds).toISOString().replaceAll('-', '').replace('T', '-').replace('Z', '')
}

/**
 * RFC 3339 from a UTCTimestamp, or from UTCDateOnly and UTCTimeOnly joined by `-`. Up to nine fraction digits are kept.
 * Undefined where the text has another form.
 * @param {string | undefined} text
 * @returns {string | undefined}
 */
export function rfc3339Of(text) {
  const parts = /^(\d{4})(\d\d)(\d\d)-(\d\d:\d\d):(\d\d)(?:\.(\d{1,12}))?$/.exec(text ?? '')
  if (parts === null) return undefined
  const [, year, month, day, minutes, seconds, fraction = ''] = parts
  // A leap second becomes the end of the second before it.
  const [whole, digits] = seconds === '60' ? ['59', '999999999'] : [seconds, fraction.slice(0, 9)]
  const result = `${year}-${month}-${day}T${minutes}:${whole}${digits === '' ? '' : `.${digits}`}Z`
  return Number.isNaN(Date.parse(result)) ? undefined : result
}

/** The sum over the bytes before `end`, modulo 256. @param {Buffer} bytes @param {number} end */
function checksum(bytes, end) {
  let sum = 0
  for (let at = 0; at < end; at++) sum += /** @type {number} */ (bytes[at])
  return sum & 255
}

/** @param {string} text @returns {Fields | undefined} */
function fieldsOf(text) {
  /** @type {[number, string][]} */
  const fields = []
  let dataTag = 0
  let dataLength = 0
  for (let at = 0; at < text.length; ) {
    const equals = text.indexOf('=', at)
    const tag = text.slice(at, equals)
    if (equals < 0 || !/^[1-9][0-9]{0,8}$/.test(tag)) return undefined
    const isData = Number(tag) === dataTag
    const end = isData ? equals + 1 + dataLength : text.indexOf(SEPARATOR, equals)
    if (end <= equals + 1 || text.charCodeAt(end) !== SOH) return undefined
    const value = text.slice(equals + 1, end)
    fields.push([Number(tag), value])
    dataTag = DATA_FIELDS.get(Number(tag)) ?? 0
    dataLength = dataTag === 0 || !/^[0-9]{1,7}$/.test(value) ? 0 : Number(value)
    at = end + 1
  }
  return fields
}
