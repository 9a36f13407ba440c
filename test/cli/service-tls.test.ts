/** The service over TLS as a process: its output, a certificate replaced at run time, and unusable files. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { certificateFiles, newCertificate } from '../support/certificates.ts'
import { type RunningCommand, runCommand, startCommand } from '../support/command-line.ts'
import { sendRaw } from '../support/raw-http.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-service-tls-'))
const started: RunningCommand[] = []
afterAll(async () => {
  for (const { child, result } of started) {
    child.kill('SIGKILL')
    await result
  }
  rmSync(folder, { recursive: true, force: true })
})
const first = await newCertificate('first')
const files = certificateFiles(first)
const FLAGS = ['--http.port', '0', '--operator.port', '0', '--data_dir', join(folder, 'data')]
const TLS = ['--http.tls.cert_file', files.certFile, '--http.tls.key_file', files.keyFile]

function commonName(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

describe('serve over TLS', () => {
  it('serve over TLS prints wss and https addresses, and loads a new certificate on SIGHUP unless it is broken', async () => {
    const service = startCommand(['serve', ...FLAGS, ...TLS])
    started.push(service)
    const ready = JSON.parse(await service.line((line) => line.startsWith('{"ready":true')))
    expect(ready).toMatchObject({
      http: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      ws: expect.stringMatching(/^wss:\/\/127\.0\.0\.1:\d+$/),
      operator: expect.stringMatching(/^http:/),
    })
    const request = 'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    expect((await sendRaw(ready.http, request)).map(({ status }) => status)).toEqual([401])
    expect(await commonName(ready.http)).toBe('first')
    files.write(await newCertificate('second'))
    service.child.kill('SIGHUP')
    await service.errorLine((line) => line.includes('certificate of the public listener reloaded'))
    expect(await commonName(ready.http)).toBe('second')
    files.write({ cert: 'broken' })
    service.child.kill('SIGHUP')
    const line = await service.errorLine((each) => each.includes('it stays as it was'))
    expect(JSON.parse(line)).toMatchObject({
      level: 'error',
      problems: [expect.stringContaining(`http.tls.cert_file names ${files.certFile}: is not a certificate in PEM`)],
    })
    expect(await commonName(ready.http)).toBe('second')
    service.child.kill('SIGTERM')
    expect((await service.result).code).toBe(0)
  }, 120_000)

  it('serve over TLS exits with 1 and one line that names the key of an unusable file, as check-config does', async () => {
    const data = ['--data_dir', join(folder, 'other')]
    const flags = [
      ...FLAGS.slice(0, 4),
      ...data,
      '--http.tls.cert_file',
      files.certFile,
      '--http.tls.key_file',
      join(folder, 'missing'),
    ]
    const message = `http.tls.key_file names ${join(folder, 'missing')}: cannot be read (ENOENT)`
    files.write(first)
    const service = await runCommand(['serve', ...flags, '--log.level', 'error'])
    expect([service.code, service.stdout]).toEqual([1, ''])
    expect(service.stderr.trim().split('\n')).toEqual([expect.stringContaining(message)])
    const checked = await runCommand(['check-config', '--json', ...flags])
    expect(checked.code).toBe(1)
    const origin = '--http.tls.key_file'
    expect(JSON.parse(checked.stdout).findings).toContainEqual({
      verdict: 'bad',
      name: 'certificate',
      detail: `${message} (from ${origin})`,
      key: 'http.tls.key_file',
      origin,
      next: 'correct the files. A running service reads them again on SIGHUP',
    })
  }, 120_000)
})
