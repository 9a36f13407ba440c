/** The settings of deliveries: what is accepted, and that no problem quotes a secret. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'

const secretOf = (bytes: number, fill: number) => `whsec_${Buffer.alloc(bytes, fill).toString('base64')}`
const FIRST = secretOf(32, 1)
const SECOND = secretOf(24, 2)

function load(flags: Readonly<Record<string, string>>, environment: Readonly<Record<string, string>> = {}) {
  return loadConfig({ flags, environment, file: undefined, readFile: () => `${FIRST}\n${SECOND}\n` })
}

const YAML = `
deliveries:
  webhook_url: https://pay.example/deliveries
  webhook_secrets: [${FIRST}, ${SECOND}]
`

const URL_KEY = 'deliveries.webhook_url'
const SECRETS_KEY = 'deliveries.webhook_secrets'

describe('the settings of deliveries', () => {
  it('the delivery settings accept two secrets, one after another or as a list, from a file too', () => {
    const flags = { [URL_KEY]: 'https://pay.example/deliveries' }
    const both = `${FIRST} ${SECOND}`
    const given = load({ ...flags, [SECRETS_KEY]: both })
    const fromFile = load(flags, { TIDEGATE_DELIVERIES_WEBHOOK_SECRETS_FILE: 'secrets' })
    const listed = loadConfig({ flags: {}, environment: {}, file: 'tidegate.yaml', readFile: () => YAML })
    for (const result of [given, fromFile, listed])
      expect(result).toMatchObject({ ok: true, config: { [SECRETS_KEY]: both } })
  })

  it.each([
    ['a secret that is too short', secretOf(23, 3)],
    ['three of them', `${FIRST} ${SECOND} ${secretOf(24, 4)}`],
    ['the same twice', `${FIRST} ${FIRST}`],
    ['text without its prefix', FIRST.slice(6)],
  ])('the delivery settings refuse %s, and do not quote it', (_, secrets) => {
    const result = load({ [URL_KEY]: 'https://pay.example', [SECRETS_KEY]: secrets })
    expect(result.ok).toBe(false)
    expect(JSON.stringify(result)).toContain(SECRETS_KEY)
    expect(JSON.stringify(result)).not.toContain(secrets.slice(6, 30))
  })

  it('the delivery settings need a secret where there is an address', () => {
    const result = load({ [URL_KEY]: 'https://pay.example' })
    expect(result).toMatchObject({ ok: false, problems: [{ key: SECRETS_KEY }] })
    expect(load({ [SECRETS_KEY]: FIRST }).ok).toBe(true)
  })

  it.each([
    ['http://pay.example/', false],
    ['http://10.0.0.1/', false],
    ['ftp://pay.example/', false],
    ['https://user:geheim@pay.example/', false],
    ['http://127.0.0.1:9090/deliveries', true],
    ['http://[::1]:9090/', true],
    ['https://10.0.0.1/', true],
  ])('the delivery settings accept or reject the address %s: %s', (url, isAccepted) => {
    const result = load({ [URL_KEY]: url, [SECRETS_KEY]: FIRST })
    expect(result.ok).toBe(isAccepted)
    expect(JSON.stringify(result)).not.toContain('geheim')
  })
})
