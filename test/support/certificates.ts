/** Self-signed certificates for tests, in a folder that is removed after the tests of the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { afterAll } from 'vitest'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Creates a certificate of 127.0.0.1; `commonName` distinguishes it from others. */
export async function newCertificate(commonName: string, days: { from?: Date; to?: Date } = {}): Promise<Certificate> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    ...(days.from === undefined ? {} : { notBeforeDate: days.from }),
    ...(days.to === undefined ? {} : { notAfterDate: days.to }),
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  return { cert, key }
}

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  write(certificate: Partial<Certificate>): void
}

/** Two files with a certificate and its key; only the owner may read the key. */
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
