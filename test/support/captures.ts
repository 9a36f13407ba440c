/**
 * Reads recordings of exchanges, real or synthetic. They are lines of text: `<unix seconds>: <frame>` as received,
 * `<address> <- <unix seconds>: <frame>` as sent by the client, `<address> <-> <unix seconds>` where it connected, and
 * `<url> -> <unix seconds>: <body>` for the response to an HTTP request. Lines about the recording itself
 * (`configuration: …`) are skipped.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { isReal, recordedFile } from './recorded-files.ts'

export interface CaptureLine {
  readonly kind: 'received' | 'sent' | 'connected' | 'answer'
  /** Milliseconds since the epoch, with a fraction. */
  readonly milliseconds: number
  /** The frame or the body. Empty where the client connected. */
  readonly text: string
  /** The server's or the request's address. Empty for frames received on the connection. */
  readonly address: string
}

const LINE = /^(?:([a-z]+:\/\/\S+) (<->|<-|->) )?([0-9]+(?:\.[0-9]+)?)(?:: (.*))?$/s
const KINDS = { '<->': 'connected', '<-': 'sent', '->': 'answer' } as const

/**
 * For `describe.skipIf`, where synthetic recordings are not sufficient: true when one of the named files is not a real
 * one.
 */
export function capturesMissing(...files: readonly string[]): boolean {
  return files.some((file) => !isReal(`captures/${file}`))
}

/** All lines in one file, in order. */
export function readCapture(file: string): CaptureLine[] {
  const bytes = readFileSync(recordedFile(`captures/${file}`))
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('configuration: '))
    .map(readLine)
}

/** The frames received by the client, in order. */
export function receivedFrames(file: string): { readonly milliseconds: number; readonly text: string }[] {
  return readCapture(file).filter(({ kind }) => kind === 'received')
}

function readLine(line: string): CaptureLine {
  const match = LINE.exec(line)
  if (match === null) throw new Error(`no line of a capture: ${line.slice(0, 80)}`)
  const [, address = '', arrow, seconds, text = ''] = match
  const kind = arrow === undefined ? 'received' : KINDS[arrow as keyof typeof KINDS]
  return { kind, milliseconds: Number(seconds) * 1000, text, address }
}
