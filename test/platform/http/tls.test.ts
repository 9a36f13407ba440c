import { createPrivateKey } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readTlsFiles, TlsFileError } from '../../../src/platform/http/tls.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'

const NOW = Date.UTC(2026, 5, 1)
const DAYS = { from: new Date(Date.UTC(2026, 4, 1)), to: new Date(Date.UTC(2026, 6, 1)) }
const good = await newCertificate('good', DAYS)
const other = await newCertificate('other', DAYS)
const files = certificateFiles(good)

function faultOf(work: () => unknown): { part: string; message: string } {
  try {
    work()
  } catch (error) {
    if (error instanceof TlsFileError) return { part: error.part, message: error.message }
    throw error
  }
  return expect.unreachable('nothing was wrong')
}

describe('a certificate and its key', () => {
  it('a certificate and its key are read from their files', () => {
    const { context, warnings } = readTlsFiles(files, NOW)
    expect([String(context.cert), String(context.key), warnings]).toEqual([good.cert, good.key, []])
  })

  it.each([
    ['no certificate', { cert: 'hello' }, 'certFile', 'is not a certificate in PEM'],
    ['an empty file', { cert: '' }, 'certFile', 'is not a certificate in PEM'],
    ['the key in the place of the certificate', { cert: good.key }, 'certFile', 'is not a certificate in PEM'],
    ['no key', { key: 'hello' }, 'keyFile', 'is not a private key in PEM without a passphrase'],
    ['the certificate in the place of the key', { key: good.cert }, 'keyFile', 'is not a private key in PEM'],
    ['the key of another certificate', { key: other.key }, 'keyFile', 'is not the key for the certificate in'],
    [
      'a key with a passphrase',
      {
        key: createPrivateKey(good.key)
          .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'hush' })
          .toString(),
      },
      'keyFile',
      'is not a private key in PEM without a passphrase',
    ],
  ])('an unusable certificate or key is named: %s', (_case, bad, part, fault) => {
    files.write({ ...good, ...bad })
    const found = faultOf(() => readTlsFiles(files, NOW))
    files.write(good)
    expect(found.part).toBe(part)
    expect(found.message).toContain(`${files[part as 'certFile' | 'keyFile']}: ${fault}`)
    expect(found.message).not.toContain('BEGIN')
  })

  it('a missing certificate and key are named', () => {
    const missing = { ...files, keyFile: `${files.keyFile}.missing` }
    expect(faultOf(() => readTlsFiles(missing, NOW))).toEqual({
      part: 'keyFile',
      message: `${missing.keyFile}: cannot be read (ENOENT)`,
    })
  })

  it('a usable certificate with a weakness gives warnings', () => {
    expect(readTlsFiles(files, DAYS.to.getTime() + 1_000).warnings).toEqual([
      expect.stringContaining('the certificate expired on Jul  1'),
    ])
    expect(readTlsFiles(files, DAYS.from.getTime() - 1_000).warnings).toEqual([
      expect.stringContaining('the certificate is not valid before May  1'),
    ])
    chmodSync(files.keyFile, 0o644)
    expect(readTlsFiles(files, NOW).warnings).toEqual([
      `${files.keyFile}: other users can read the private key (mode 644)`,
    ])
    chmodSync(files.keyFile, 0o600)
  })
})
