/** The settings of the OpenID Connect issuer of operators, and the file of its client secret at the start. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readClientSecret } from '../../../src/access/operators/openid-issuer.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { temporaryFolder } from '../../support/running-service.ts'

const ISSUER = {
  'operator.oidc.issuer': 'https://login.example/realms/staff',
  'operator.oidc.client_id': 'tidegate-console',
  'operator.oidc.client_secret_file': '/etc/tidegate/openid-secret',
  'operator.public_url': 'https://operator.example',
  'http.trusted_proxies': '[127.0.0.1]',
}

const load = (flags: Readonly<Record<string, string>>) =>
  loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })

function problemKeys(flags: Readonly<Record<string, string>>): readonly string[] {
  const result = load(flags)
  return result.ok ? [] : result.problems.map(({ key }) => key)
}

describe('the settings of the issuer', () => {
  it('the settings of the issuer are all empty, or complete with the public address', () => {
    expect(load({})).toMatchObject({ ok: true, config: { 'operator.oidc.issuer': '' } })
    expect(load(ISSUER).ok).toBe(true)
    const without = (key: keyof typeof ISSUER) => problemKeys({ ...ISSUER, [key]: '' })
    expect(without('operator.oidc.issuer')).toEqual(['operator.oidc.client_id', 'operator.oidc.client_secret_file'])
    expect(without('operator.oidc.client_id')).toEqual(['operator.oidc.client_id'])
    expect(without('operator.oidc.client_secret_file')).toEqual(['operator.oidc.client_secret_file'])
    expect(without('operator.public_url')).toEqual(['operator.oidc.issuer'])
  })

  it.each([
    ['https://login.example', true],
    ['https://login.example/', true],
    ['http://127.0.0.1:9000/realms/staff', true],
    ['http://localhost:9000', true],
    ['http://login.example', false],
    ['http://localhost.login.example', false],
    ['https://user:password@login.example', false],
    ['https://login.example/?tenant=a', false],
    ['https://login.example/#a', false],
    ['https://login.example/.well-known/openid-configuration', false],
    ['login.example', false],
    ['file:///etc/passwd', false],
  ])('the issuer settings accept or reject the issuer %s: %s', (issuer, isAccepted) => {
    const keys = problemKeys({ ...ISSUER, 'operator.oidc.issuer': issuer })
    expect(keys).toEqual(isAccepted ? [] : ['operator.oidc.issuer'])
  })
})

describe('the file of the client secret', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'secret')
  beforeAll(() => writeFileSync(path, ''))
  afterAll(() => folder.remove())

  it.each([
    ['a secret\n', 'a secret'],
    ['a secret\r\n', 'a secret'],
    ['a-secret', 'a-secret'],
  ])('the file of the client secret has one line: %j', (text, secret) => {
    writeFileSync(path, text)
    expect(readClientSecret(path)).toBe(secret)
  })

  it.each(['', '\n', 'two\nlines\n', 'geheim\0'])(
    'the file of the client secret is refused with other content, which is not shown: %j',
    (text) => {
      writeFileSync(path, text)
      chmodSync(path, 0o600)
      expect(() => readClientSecret(path)).toThrow(`${path}, which does not contain one line of printable text`)
    },
  )

  it('the file of the client secret must exist', () => {
    expect(() => readClientSecret(join(folder.path, 'none'))).toThrow(/none, which cannot be read: ENOENT/)
  })
})
