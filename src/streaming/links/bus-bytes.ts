/**
 * Writes and reads the bytes of bus messages: LEB128 integers (seven bits per byte, least significant first), doubles
 * and texts. A reader checks every length against the bytes left. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'

export class BusFormatError extends Error {
  override name = 'BusFormatError'
}

const INITIAL_BYTES = 512
const DOUBLE_BYTES = 8
/** The longest integer in bytes: 36 times seven bits hold more than any amount. */
const INTEGER_BYTES_MAX = 36

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A whole number from 0 to the greatest safe integer. */
  integer(value: number): void {
    this.#reserve(INTEGER_BYTES_MAX)
    let rest = value
    // Bitwise operators work on 32 bits only, so a larger number's lower bits are taken by arithmetic.
    while (rest >= 0x1000_0000) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.#bytes[this.#length++] = rest
  }

  scaled(value: Scaled): void {
    if (typeof value === 'number') {
      this.integer(value)
      return
    }
    this.#reserve(INTEGER_BYTES_MAX)
    let rest = value
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#bytes[this.#length++] = Number(rest)
  }

  float(value: number): void {
    this.#reserve(DOUBLE_BYTES)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  text(value: string): void {
    const bytes = Buffer.byteLength(value)
    this.integer(bytes)
    this.#reserve(bytes)
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** Returns the bytes. The writer is not used afterwards. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

export class ByteReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  byte(): number {
    const byte = this.#bytes[this.#position++]
    if (byte === undefined) throw new BusFormatError('a message ends early')
    return byte
  }

  /** @throws {BusFormatError} for a number that is not a safe integer */
  integer(): number {
    const value = this.scaled()
    if (typeof value === 'bigint') throw new BusFormatError('an integer is too large')
    return value
  }

  scaled(): Scaled {
    let value = 0
    let scale = 1
    for (let count = 0; ; count++) {
      const byte = this.byte()
      const digit = byte & 0x7f
      if (digit > 0 && (scale > Number.MAX_SAFE_INTEGER || value + digit * scale > Number.MAX_SAFE_INTEGER)) {
        this.#position -= count + 1
        return this.#large()
      }
      value += digit * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
  }

  float(): number {
    if (this.#position + DOUBLE_BYTES > this.#bytes.length) throw new BusFormatError('a message ends early')
    const value = this.#bytes.readDoubleLE(this.#position)
    this.#position += DOUBLE_BYTES
    return value
  }

  text(): string {
    const length = this.integer()
    const end = this.#position + length
    if (end > this.#bytes.length) throw new BusFormatError('a message ends early')
    const value = this.#bytes.toString('utf8', this.#position, end)
    this.#position = end
    return value
  }

  list<Item>(read: () => Item): Item[] {
    const count = this.integer()
    // Every item takes at least one byte, so a wrong count cannot request more memory than the message has.
    if (count > this.#bytes.length - this.#position) throw new BusFormatError('a list is longer than its message')
    const items: Item[] = []
    for (let index = 0; index < count; index++) items.push(read())
    return items
  }

  end(): void {
    if (this.#position !== this.#bytes.length) throw new BusFormatError('a message has bytes after its last member')
  }

  #large(): Scaled {
    let value = 0n
    let shift = 0n
    for (let count = 0; count < INTEGER_BYTES_MAX; count++) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
      shift += 7n
    }
    throw new BusFormatError('an integer has too many digits')
  }
}
