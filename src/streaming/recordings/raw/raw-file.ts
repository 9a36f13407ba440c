/**
 * The file of a raw recording: lines of JSON in gzip members, one member per second, so that `zcat` shows it and a crash
 * leaves every complete member readable. The first line is the header. It contains no addresses and no secrets: an HTTP
 * request is recorded by its path and query, and connectors send no credentials.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import type { Clock } from '../../../platform/base/clock.ts'
import { hasCode } from '../../../platform/base/error-code.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import { RecordingError } from '../recording.ts'

const FORMAT = 'tidegate raw recording 1'

export interface RawHeader {
  readonly writtenBy: string
  readonly startedAt: string
  /** The settings `markets` of the recorder, in the form of a configuration file. */
  readonly markets: readonly unknown[]
  /** Kinds of the recorded feeds by name. */
  readonly feeds: Readonly<Record<string, string>>
}

/**
 * One event of a feed. `connection` counts from 1; HTTP answers have `path` instead, and either a `text` or a `problem`.
 * `at` is the receive time in nanoseconds since the epoch.
 */
export interface RawEvent {
  readonly feed: string
  readonly at: bigint
  readonly kind: 'open' | 'sent' | 'frame' | 'down' | 'http'
  readonly connection?: number
  readonly path?: string
  /** The frame, the request or the body, verbatim; the reason of a `down`. */
  readonly text?: string
  readonly problem?: string
  readonly retryAfterMilliseconds?: number
}

export function rawHeaderLine({ writtenBy, startedAt, markets, feeds }: RawHeader): string {
  return `${JSON.stringify({ format: FORMAT, written_by: writtenBy, started_at: startedAt, markets, feeds })}\n`
}

export function rawEventLine({ at, ...event }: RawEvent): string {
  return `${JSON.stringify({ at: String(at), ...event })}\n`
}

export function nowNanoseconds(clock: Clock): bigint {
  const { milliseconds, nanoseconds } = clock.wallInstant()
  return BigInt(milliseconds) * 1_000_000n + BigInt(nanoseconds)
}

/**
 * The header of a raw recording.
 * @throws {RecordingError}
 */
export async function readRawHeader(path: string): Promise<RawHeader> {
  for await (const line of linesOf(path)) return headerOf(path, line)
  throw new RecordingError(`${path} is not a raw recording`)
}

/**
 * The events of a raw recording in order, read as they are consumed. An incomplete end is ignored.
 * @throws {RecordingError} for a line that cannot be read
 */
export async function* readRawEvents(path: string): AsyncGenerator<RawEvent> {
  let number = 0
  for await (const line of linesOf(path)) {
    number += 1
    if (number === 1) headerOf(path, line)
    else yield eventOf(path, line, number)
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const unzip = createGunzip()
  const file = createReadStream(path)
  file.on('error', (error) => unzip.destroy(error))
  // It is thrown below.
  unzip.on('error', () => undefined)
  try {
    for await (const line of createInterface({ input: file.pipe(unzip), crlfDelay: Number.POSITIVE_INFINITY }))
      yield line
    if (unzip.errored !== null) throw unzip.errored
  } catch (error) {
    // A crash left a part of the last member.
    if (hasCode(error, 'Z_BUF_ERROR')) return
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof RecordingError) throw error
    throw new RecordingError(`the raw recording ${path} cannot be read: ${code ?? message}`)
  } finally {
    file.destroy()
  }
}

function headerOf(path: string, line: string): RawHeader {
  const { format, written_by: writtenBy, started_at: startedAt, markets, feeds } = parse(line) ?? {}
  const isHeader = typeof writtenBy === 'string' && typeof startedAt === 'string' && Array.isArray(markets)
  if (format !== FORMAT || !isHeader || !isObject(feeds)) throw new RecordingError(`${path} is not a raw recording`)
  return { writtenBy, startedAt, markets, feeds: feeds as Record<string, string> }
}

function eventOf(path: string, line: string, number: number): RawEvent {
  const value = parse(line)
  const { at, feed, kind } = value ?? {}
  if (value === undefined || typeof at !== 'string' || typeof feed !== 'string' || typeof kind !== 'string') {
    throw new RecordingError(`line ${number} of the raw recording ${path} cannot be read`)
  }
  return { ...(value as unknown as RawEvent), at: BigInt(at) }
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
