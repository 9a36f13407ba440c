/** The settings of the public listener that are lists or files: what they accept and reject, and the error texts. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { checkTlsFiles } from '../../../src/service/listeners/tls-settings.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'

const good = await newCertificate('good')
const files = certificateFiles(good)

function load(flags: Record<string, string>, yaml?: string) {
  return loadConfig({
    flags,
    environment: {},
    file: yaml === undefined ? undefined : 'x.yaml',
    readFile: () => yaml ?? '',
  })
}

function configOf(result: ReturnType<typeof load>) {
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
  return result
}

function problemsOf(result: ReturnType<typeof load>): string[] {
  return result.ok ? [] : result.problems.map(describeProblem)
}

describe('a list setting', () => {
  it('a list setting is text in a flag and a list in a file; a single entry needs no list', () => {
    const key = 'http.trusted_proxies'
    expect(configOf(load({})).config[key]).toEqual([])
    expect(configOf(load({ [key]: '[loopback, 10.0.0.0/8]' })).config[key]).toEqual(['loopback', '10.0.0.0/8'])
    expect(configOf(load({ [key]: '["fd00::/8"]' })).config[key]).toEqual(['fd00::/8'])
    expect(configOf(load({ [key]: 'loopback' })).config[key]).toEqual(['loopback'])
    const yaml = 'http:\n  trusted_proxies:\n    - 192.0.2.1\n  cors_origins: []\n'
    expect(configOf(load({}, yaml)).config[key]).toEqual(['192.0.2.1'])
  })

  it('a list setting names each invalid entry', () => {
    expect(problemsOf(load({ 'http.trusted_proxies': '[loopback, any, 7, loopback]' }))).toEqual([
      'http.trusted_proxies[1] is "any", but accepted are addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal` (from --http.trusted_proxies)',
      'http.trusted_proxies[2] is 7, but accepted are addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal` (from --http.trusted_proxies)',
      'http.trusted_proxies[3] "loopback" is named twice (from --http.trusted_proxies)',
    ])
  })
})

describe('the origin', () => {
  it.each(['https://app.example.com', 'http://localhost:3000', 'https://[::1]:8443', '*'])(
    'the origin %s is valid',
    (origin) => {
      expect(configOf(load({ 'http.cors_origins': JSON.stringify([origin]) })).config['http.cors_origins']).toEqual([
        origin,
      ])
    },
  )
  it.each([
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com:443',
    'https://App.example.com',
    'https://*.example.com',
    'https://user@app.example.com',
    'wss://app.example.com',
    'null',
    '',
  ])('the origin %j is rejected', (origin) => {
    expect(problemsOf(load({ 'http.cors_origins': JSON.stringify([origin]) }))).toHaveLength(1)
  })
})

describe('TLS settings', () => {
  const both = { 'http.tls.cert_file': files.certFile, 'http.tls.key_file': files.keyFile }
  const check = (flags: Record<string, string>) => {
    const { config, origins } = configOf(load(flags))
    return checkTlsFiles(config, origins, Date.now())
  }

  it('TLS settings require both files or neither', () => {
    for (const key of ['http.tls.cert_file', 'http.tls.key_file'] as const) {
      const [problem, ...others] = problemsOf(load({ [key]: both[key] }))
      expect([problem, others]).toEqual([expect.stringContaining('must be set together with http.tls.key_file'), []])
      expect(problem).toContain(`(from --${key})`)
      expect(problem).toContain('empty')
    }
    expect(check({})).toEqual({ problems: [], warnings: [] })
    expect(check(both)).toEqual({ problems: [], warnings: [] })
  })

  it('TLS settings name the key and the origin of an unusable file', () => {
    const { problems } = check({ ...both, 'http.tls.key_file': '/nowhere/key.pem' })
    expect(problems.map(describeProblem)).toEqual([
      'http.tls.key_file names /nowhere/key.pem: cannot be read (ENOENT) (from --http.tls.key_file)',
    ])
    files.write({ cert: 'hello' })
    expect(check(both).problems.map(({ key }) => key)).toEqual(['http.tls.cert_file'])
    files.write(good)
  })
})
