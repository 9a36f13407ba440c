/**
 * A raw recording's file: JSON lines, compressed with gzip, so that `zcat` shows it and a crash leaves everything
 * complete a second before. The first line is the header. It contains no addresses and no secrets: an HTTP request is
 * recorded by its path and query, and connectors send no credentials.
 */

import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import { hasCode } from '../../../src/platform/base/error-code.ts'
import { isObject } from '../../../src/platform/base/json-value.ts'
import { once } from '../awaited.ts'

const FORMAT = 'tidegate raw recording 1'

const FLUSH_MILLISECONDS = 1_000
/** Text that may wait for the disk. */
const WAITING_BYTES_MAX = 67_108_864

export interface RawHeader {
  /** The recorded venues' names. */
  readonly venues: readonly string[]
}

/**
 * One venue event. `connection` counts from 1. HTTP answers have `path` instead, and either a `text` or a `problem`.
 * `at` is the receive time in milliseconds since the epoch.
 */
export interface RawEvent {
  readonly venue: string
  readonly at: number
  readonly kind: 'open' | 'sent' | 'frame' | 'down' | 'http'
  readonly connection?: number
  readonly path?: string
  /** The frame, the request or the body, verbatim. For a `down`, the reason. */
  readonly text?: string
  readonly problem?: string
}

/** Connectors send them after a silence, whose length differs in a playback, so they are not recorded. */
export function isKeepAlive(request: string): boolean {
  return /\bping\b/i.test(request)
}

export interface RawWriter {
  write(event: RawEvent): void
  /** Resolves when everything is in the file. */
  close(): Promise<void>
}

/** @param onFailure called once when the file can no longer be written */
export async function openRawWriter(
  path: string,
  { venues }: RawHeader,
  onFailure: (error: Error) => void,
): Promise<RawWriter> {
  // Readable only by its owner, although it contains no secrets.
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await once(file, 'open')
  const gzip = createGzip()
  let isClosed = false
  const written = pipeline(gzip, file).catch((error: Error) => {
    if (!isClosed) onFailure(error)
  })
  const timer = setInterval(() => gzip.flush(constants.Z_SYNC_FLUSH), FLUSH_MILLISECONDS)
  gzip.write(`${JSON.stringify({ format: FORMAT, venues })}\n`)
  return {
    write(event) {
      if (gzip.destroyed || gzip.writableEnded) return
      gzip.write(`${JSON.stringify(event)}\n`)
      if (gzip.writableLength > WAITING_BYTES_MAX) gzip.destroy(new Error('the disk is too slow for this recording'))
    },
    async close() {
      clearInterval(timer)
      gzip.end()
      await written
      isClosed = true
    },
  }
}

/**
 * A raw recording's header.
 * @throws {Error}
 */
export async function readRawHeader(path: string): Promise<RawHeader> {
  for await (const line of linesOf(path)) return headerOf(path, line)
  throw new Error(`${path} is not a raw recording`)
}

/**
 * A raw recording's events in order, read as they are consumed. An incomplete end is ignored.
 * @throws {Error} for a line that cannot be read
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
  // The error is thrown below.
  unzip.on('error', () => undefined)
  try {
    for await (const line of createInterface({ input: file.pipe(unzip), crlfDelay: Number.POSITIVE_INFINITY }))
      yield line
    if (unzip.errored !== null) throw unzip.errored
  } catch (error) {
    // A crash left part of the last member.
    if (hasCode(error, 'Z_BUF_ERROR')) return
    throw error
  } finally {
    file.destroy()
  }
}

function headerOf(path: string, line: string): RawHeader {
  const { format, venues } = parse(line) ?? {}
  if (format !== FORMAT || !Array.isArray(venues)) throw new Error(`${path} is not a raw recording`)
  return { venues }
}

function eventOf(path: string, line: string, number: number): RawEvent {
  const value = parse(line)
  const { at, venue, kind } = value ?? {}
  if (value === undefined || typeof at !== 'number' || typeof venue !== 'string' || typeof kind !== 'string') {
    throw new Error(`line ${number} of the raw recording ${path} cannot be read`)
  }
  return value as unknown as RawEvent
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
