/** Certificates for tests, self-signed or from an authority, in a folder that is removed after the file's tests. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { afterAll } from 'vitest'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Creates a self-signed certificate for 127.0.0.1. `commonName` distinguishes it from others. */
export function newCertificate(commonName: string, days: Days = {}): Promise<Certificate> {
  return create(commonName, {
    days,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
}

/** Creates an authority's certificate. */
export function newAuthority(commonName: string): Promise<Certificate> {
  const usage = { name: 'keyUsage', keyCertSign: true, critical: true } as const
  return create(commonName, { extensions: [{ name: 'basicConstraints', cA: true, critical: true }, usage] })
}

/** Creates a client's certificate, signed by an authority. */
export function newClientCertificate(commonName: string, authority: Certificate, days: Days = {}) {
  return create(commonName, { days, authority, extensions: [{ name: 'extKeyUsage', clientAuth: true }] })
}

interface Days {
  readonly from?: Date
  readonly to?: Date
}

interface Contents {
  readonly days?: Days
  /** Absent: self-signed. */
  readonly authority?: Certificate
  readonly extensions: NonNullable<NonNullable<Parameters<typeof generate>[1]>['extensions']>
}

async function create(commonName: string, { days = {}, authority, extensions }: Contents): Promise<Certificate> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    ...(days.from === undefined ? {} : { notBeforeDate: days.from }),
    ...(days.to === undefined ? {} : { notAfterDate: days.to }),
    ...(authority === undefined ? {} : { ca: { cert: authority.cert, key: authority.key } }),
    extensions,
  })
  return { cert, key }
}

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  write(certificate: Partial<Certificate>): void
}

/** Two files with a certificate and its key. Only the owner may read the key. */
export function certificateFiles(certificate: Certificate): CertificateFiles {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-tls-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const certFile = join(folder, 'cert.pem')
  const keyFile = join(folder, 'key.pem')
  const write = ({ cert, key }: Partial<Certificate>): void => {
    if (cert !== undefined) writeFileSync(certFile, cert)
    if (key !== undefined) writeFileSync(keyFile, key, { mode: 0o600 })
  }
  write(certificate)
  return { certFile, keyFile, write }
}
