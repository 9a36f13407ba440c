/**
 * Reads a listener's certificate and key, and the authorities for its clients. An error names the file and the rule,
 * and never quotes the content.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { fileErrorText, readRegularFile } from '../base/regular-file.ts'
import { preferredCiphers } from './cipher-preference.ts'
import type { TlsContext } from './node-server.ts'
import { newTicketChain } from './session-tickets.ts'

export interface TlsFiles {
  /** PEM: the certificate, then its chain. */
  readonly certFile: string
  /** PEM, without a passphrase. */
  readonly keyFile: string
  /** PEM: authorities that must have signed a client's certificate. Absent: clients need none. */
  readonly clientCaFile?: string
}

export interface TlsIdentity {
  readonly context: TlsContext
  /** The certificate's expiry, milliseconds since the epoch. */
  readonly endsMilliseconds: number
  /** Defects that do not prevent its use. */
  readonly warnings: readonly string[]
}

/** A file that cannot be used. */
export class TlsFileError extends Error {
  override name = 'TlsFileError'
  readonly part: keyof TlsFiles

  /** @param part which file */
  constructor(part: keyof TlsFiles, path: string, fault: string) {
    super(`${path}: ${fault}`)
    this.part = part
  }
}

const READABLE_BY_OTHERS = 0o077
/** A certificate chain has some kilobytes. */
const FILE_BYTES_MAX = 1_048_576

/**
 * Reads the files.
 * @param nowMilliseconds wall clock, to check the validity period
 * @throws TlsFileError
 */
export function readTlsFiles(files: TlsFiles, nowMilliseconds: number): TlsIdentity {
  const { certFile, keyFile, clientCaFile } = files
  const cert = readPart('certFile', certFile)
  const key = readPart('keyFile', keyFile)
  const certificate = parse('certFile', certFile, 'is not a certificate in PEM', () => new X509Certificate(cert))
  const privateKey = parse('keyFile', keyFile, 'is not a private key in PEM without a passphrase', () => keyOf(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TlsFileError('keyFile', keyFile, `is not the key for the certificate in ${certFile}`)
  }
  const ciphers = preferredCiphers()
  const context = { cert, key, minVersion: 'TLSv1.2', ...(ciphers === undefined ? {} : { ciphers }) } as const
  parse('certFile', certFile, 'is rejected by the TLS library', () => createSecureContext(context))
  const clients = clientCaFile === undefined ? {} : clientCertificates(clientCaFile)
  const endsMilliseconds = Date.parse(certificate.validTo)
  return {
    // A new chain each time: a session is not resumed past a change of the certificate or the authorities.
    context: { ...context, ...clients, tickets: newTicketChain(nowMilliseconds) },
    endsMilliseconds,
    warnings: [...datesOf(certificate, certFile, nowMilliseconds), ...modeOf(keyFile)],
  }
}

function clientCertificates(path: string): Pick<TlsContext, 'ca' | 'requestCert'> {
  const ca = readPart('clientCaFile', path)
  parse('clientCaFile', path, 'is not a certificate in PEM', () => new X509Certificate(ca))
  parse('clientCaFile', path, 'is rejected by the TLS library', () => createSecureContext({ ca }))
  return { ca, requestCert: true }
}

function readPart(part: keyof TlsFiles, path: string): Buffer {
  try {
    return readRegularFile(path, FILE_BYTES_MAX)
  } catch (error) {
    throw new TlsFileError(part, path, `cannot be read (${fileErrorText(error)})`)
  }
}

function parse<Result>(part: keyof TlsFiles, path: string, fault: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new TlsFileError(part, path, `${fault} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
}

function keyOf(pem: Buffer): KeyObject {
  return createPrivateKey({ key: pem, format: 'pem' })
}

function datesOf(certificate: X509Certificate, path: string, nowMilliseconds: number): string[] {
  const { validFrom, validTo } = certificate
  if (nowMilliseconds > Date.parse(validTo)) return [`${path}: the certificate expired on ${validTo}`]
  if (nowMilliseconds < Date.parse(validFrom)) return [`${path}: the certificate is not valid before ${validFrom}`]
  return []
}

function modeOf(path: string): string[] {
  const mode = statSync(path).mode & 0o777
  if ((mode & READABLE_BY_OTHERS) === 0) return []
  return [`${path}: other users can read the private key (mode ${mode.toString(8)})`]
}
