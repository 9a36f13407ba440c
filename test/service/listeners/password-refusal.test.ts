/** The warning at the start that the operator listener refuses passwords from other machines. */
import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { passwordRefusal } from '../../../src/service/listeners/password-refusal.ts'

function refusalWith(flags: Readonly<Record<string, string>>): string | undefined {
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return passwordRefusal(result.config)
}

it.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost'])(
  'the password refusal is absent on the loopback address %s',
  (host) => {
    expect(refusalWith({ 'operator.host': host })).toBeUndefined()
  },
)

it.each(['0.0.0.0', '::', '192.0.2.1', 'operator.example'])(
  'the password refusal names the missing setting on %s',
  (host) => {
    expect(refusalWith({ 'operator.host': host })).toMatch(
      /refuses passwords.*operator\.tls\.cert_file.*operator\.public_url/,
    )
  },
)

it('the password refusal is absent with a certificate, and with a trusted proxy', () => {
  const host = { 'operator.host': '0.0.0.0' }
  const files = { 'operator.tls.cert_file': '/cert.pem', 'operator.tls.key_file': '/key.pem' }
  expect(refusalWith({ ...host, ...files })).toBeUndefined()
  const proxy = { 'operator.public_url': 'https://operator.example', 'http.trusted_proxies': '[192.0.2.9]' }
  expect(refusalWith({ ...host, ...proxy })).toBeUndefined()
})
