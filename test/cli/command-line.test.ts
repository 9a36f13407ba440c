/** The command line: exit codes, one line on stderr, the help of every verb, and check-config. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { SETTING_KEYS } from '../../src/service/config/settings.ts'
import type { Finding } from '../../src/service/doctor/finding.ts'
import { runCommand, startCommand } from '../support/command-line.ts'
import { listedPair, startListingVenue } from '../support/listing-venue.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-cli-'))

afterAll(() => rmSync(folder, { recursive: true }))

describe('a mistake on the command line', () => {
  it.each([
    ['an unknown verb', ['serv'], 2, "tidegate: unknown command 'serv' (Did you mean serve?)"],
    [
      'an unknown flag',
      ['serve', '--http.prt', '1'],
      2,
      "tidegate: unknown option '--http.prt' (Did you mean --http.port?)",
    ],
    [
      'a flag without its value',
      ['serve', '--http.port'],
      1,
      "tidegate: option '--http.port <value>' argument missing",
    ],
    [
      'a surplus argument',
      ['serve', 'now'],
      1,
      "tidegate: too many arguments for 'serve'. Expected 0 arguments but got 1.",
    ],
    [
      'invalid values',
      ['serve', '--http.port=x', '--stream.token_expiry', 'never'],
      1,
      'tidegate: http.port is "x", not a whole number from 0 to 65535 (from --http.port); stream.token_expiry is "never", not one of keep, close (from --stream.token_expiry)',
    ],
    ['an option that needs another one', ['replay', 'btc.recording', '--json'], 1, 'tidegate: --json is for --info'],
    ['a missing file', ['demo', '--config', 'missing.yaml'], 1, 'tidegate: missing.yaml: cannot be read: ENOENT'],
  ])('a mistake on the command line such as %s is one line on stderr', async (_name, args, code, line) => {
    expect(await runCommand(args, { cwd: folder })).toEqual({ code, stdout: '', stderr: `${line}\n` })
  })

  it('a mistake on the command line without a verb shows the help and exits with 2', async () => {
    const { code, stderr } = await runCommand([])
    expect(code).toBe(2)
    expect(stderr).toContain('check-config')
  })
})

/** Without a process of its own, which costs 0.2 s. */
async function helpOf(verb: string): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    const parsed = createProgram().parseAsync(['node', 'tidegate', verb, '--help'])
    await expect(parsed).rejects.toMatchObject({ code: 'commander.helpDisplayed', exitCode: 0 })
    return write.mock.calls.map(([text]) => text).join('')
  } finally {
    vi.restoreAllMocks()
  }
}

describe('--help', () => {
  it('--help of serve has examples and every setting', async () => {
    const { code, stdout, stderr } = await runCommand(['serve', '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/Examples:\n +(\$ )?tidegate serve/)
    for (const key of SETTING_KEYS) expect(stdout).toContain(`--${key} <value>`)
  })

  it.each([
    'demo',
    'check-config',
    'check-executor',
    'check-publisher',
    'check-screening',
    'check-webhook',
    'migrate',
    'watch',
    'verify',
    'torture',
    'admin',
    'doctor',
  ])('--help of %s has examples', async (verb) => {
    expect(await helpOf(verb)).toMatch(new RegExp(`Examples:\\n +(\\$ )?tidegate ${verb}`))
  })

  it('--help ends without an error when its output is closed early', async () => {
    const command = startCommand(['record', '--help'])
    command.child.stdout.destroy()
    expect(await command.result).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('--help lists the verbs, and --version prints the version', async () => {
    expect((await runCommand(['--help'])).stdout).toMatch(/serve .*\n[\s\S]*migrate /)
    expect((await runCommand(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

const isBad = ({ verdict }: Finding): boolean => verdict === 'bad'

/** The findings of this verdict and name in a JSON document. */
function detailsOf(verdict: Finding['verdict'], document: string, name: string): string[] {
  const { findings } = JSON.parse(document) as { findings: Finding[] }
  return findings.flatMap((finding) => (finding.verdict === verdict && finding.name === name ? [finding.detail] : []))
}

describe('check-config', () => {
  const file = join(folder, 'good.yaml')
  const MARKET = 'symbol: BTCUSD, base_asset: BTC, quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 1000'
  writeFileSync(
    file,
    `http: {port: 9000}
operator: {token: very-secret-operator-token}
simulator: {allowed: true}
markets: [{${MARKET}, sources: [simulator]}]
`,
  )
  const bad = join(folder, 'bad.yaml')
  writeFileSync(bad, 'http: {prt: 9000}\nsimulator: {rate: 0}\n')

  it('check-config shows every effective value and its origin, with secrets masked', async () => {
    const { code, stdout, stderr } = await runCommand(['check-config', '--config', file, '--log.level', 'debug'], {
      environment: { TIDEGATE_SIMULATOR_SEED: '7', TIDEGATE_NONSENSE: '1' },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('very-secret')
    expect(stdout).toMatch(/^warn +configuration +unknown variables: TIDEGATE_NONSENSE/)
    expect(stdout).toMatch(new RegExp(`^http.port +9000 +${file}$`, 'm'))
    expect(stdout).toMatch(/^operator\.token +\*+ /m)
    expect(stdout).toMatch(/^simulator\.seed +7 +TIDEGATE_SIMULATOR_SEED$/m)
    expect(stdout).toMatch(/^log\.level +debug +--log\.level +live$/m)
    expect(stdout).toMatch(/^ {2}BTCUSD +simulator +2 price decimals, 8 amount decimals +1000 levels per side$/m)
    for (const key of SETTING_KEYS) expect(stdout).toContain(key)
  })

  it('check-config prints JSON', async () => {
    const { code, stdout } = await runCommand(['check-config', '--json', '--config', file])
    expect(code).toBe(0)
    const document = JSON.parse(stdout)
    expect(document.ok).toBe(true)
    expect(Object.keys(document.settings)).toEqual(SETTING_KEYS)
    expect(document.settings['http.port']).toEqual({ value: 9000, origin: file, live: false })
    expect(document.settings['operator.token'].value).toBe('********')
    expect(document.settings.markets.value[0].sources).toEqual(['simulator'])
  })

  it('check-config warns about a store on another machine without verified TLS, and masks the secrets of the store', async () => {
    const key = 'ab'.repeat(32)
    const flags = [
      '--conversion.par_assets',
      '[]',
      '--store.url',
      'postgres://u:geheim@db.example.com/tide',
      '--keys.encryption_key',
      key,
    ]
    const { code, stdout } = await runCommand(['check-config', '--json', '--offline', '--config', file, ...flags])
    expect(code).toBe(0)
    const { settings } = JSON.parse(stdout)
    expect(detailsOf('warn', stdout, 'store')).toEqual([expect.stringContaining('store.url sets no sslmode')])
    expect(settings['keys.encryption_key'].value).toBe('********')
    expect(stdout).not.toMatch(new RegExp(`geheim|${key}`))
    const wrong = await runCommand(['check-config', '--keys.encryption_key', 'geheim'])
    expect(wrong.stdout).toContain('is not 32 bytes in base64 or as 64 hexadecimal digits')
    expect(wrong.stdout).not.toContain('geheim')
  })

  it('check-config reads the file of the issuer’s client secret as a start does', async () => {
    const secret = join(folder, 'issuer-secret')
    const issuer = ['--operator.oidc.issuer', 'https://issuer.test', '--operator.oidc.client_id', 'tidegate']
    const proxy = ['--operator.public_url', 'https://ops.test', '--http.trusted_proxies', '127.0.0.1']
    const flags = [...issuer, ...proxy, '--operator.oidc.client_secret_file', secret, '--offline', '--json']
    const missing = await runCommand(['check-config', '--config', file, ...flags])
    const key = 'operator.oidc.client_secret_file'
    expect([missing.code, JSON.parse(missing.stdout).findings.filter(isBad)]).toEqual([
      1,
      [
        {
          verdict: 'bad',
          name: 'issuer secret',
          detail: `${key} names ${secret}, which cannot be read: ENOENT (from --${key})`,
          next: "correct the file, and run this as the service's user",
          key,
          origin: `--${key}`,
        },
      ],
    ])
    writeFileSync(secret, 'the secret\n')
    chmodSync(secret, 0o644)
    const open = await runCommand(['check-config', '--config', file, '--conversion.par_assets', '[]', ...flags])
    expect([open.code, detailsOf('warn', open.stdout, 'issuer secret')]).toEqual([
      0,
      [`${secret}: other users can read the client secret (mode 644)`],
    ])
  })

  it('check-config asks the venues whether they list the sources of the markets, unless it is offline', async () => {
    const { url, close } = await startListingVenue([listedPair('BTC/USD', 'post_only')])
    const named = join(folder, 'venues.yaml')
    const market = 'quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 10'
    writeFileSync(
      named,
      `feeds: {kraken: {url: '${url}'}}
conversion: {par_assets: []}
markets:
  - {symbol: BTCUSD, base_asset: BTC, ${market}, sources: ['kraken:BTC/USD']}
  - {symbol: XXXUSD, base_asset: XXX, ${market}, sources: ['kraken:XXX/USD']}
`,
    )
    const text = await runCommand(['check-config', '--config', named])
    expect([text.code, text.stderr]).toEqual([1, 'tidegate: checks failed: sources\n'])
    const [unlisted, restricted] = text.stdout.split('\n').filter((line) => line.includes('sources  '))
    expect(unlisted).toContain(
      `bad   sources  markets[1].sources[0] is kraken:XXX/USD, which kraken does not list (from ${named}); next: `,
    )
    expect(restricted).toContain(
      'warn  sources  markets[0].sources[0]: kraken lists BTC/USD as post_only. Its book may stand still; next: ',
    )
    const named2 = ['--feeds={"kraken-2": {"kind": "kraken"}}', '--feeds.kraken-2.url', 'ws://127.0.0.1:9']
    const offline = await runCommand(['check-config', '--json', '--offline', '--config', named, ...named2])
    expect(offline.code).toBe(0)
    expect(detailsOf('warn', offline.stdout, 'sources')).toEqual([])
    const { value } = JSON.parse(offline.stdout).settings.feeds
    expect(value['kraken-2']).toMatchObject({ kind: 'kraken', url: 'ws://127.0.0.1:9' })
    close()
    const unwatched = await runCommand(['check-config', '--json', '--offline', '--conversion.par_assets=[USD, USDC]'])
    expect(detailsOf('warn', unwatched.stdout, 'pegs')).toEqual([
      'conversion.par_assets: no peg is monitored for USD/USDC: no market is configured, so they are converted at par whatever their prices are',
    ])
    const four = async (...flags: string[]) => {
      const { stdout } = await runCommand(['check-config', '--json', '--offline', ...flags])
      return detailsOf('warn', stdout, 'second person')
    }
    expect(await four('--operator.four_eyes=[deposits, settlements]', '--rest.sandbox=true')).toEqual([
      'operator.four_eyes: lists deposits and settlements without operators, so one admin can make the second person',
      'operator.four_eyes: lists deposits and settlements while rest.sandbox is on, so one client can credit deposits',
    ])
    expect(await four('--operator.four_eyes=[deposits, operators]')).toEqual([])
    const away = await runCommand(['check-config', '--json', '--config', named])
    expect(away.code).toBe(0)
    expect(detailsOf('warn', away.stdout, 'sources')).toEqual([expect.stringContaining('kraken could not be asked')])
  })

  it('check-config reports every problem with its key on stdout, and what failed in one line on stderr', async () => {
    const text = await runCommand(['check-config', '--config', bad])
    expect(text.code).toBe(1)
    expect(text.stderr).toBe('tidegate: checks failed: configuration\n')
    expect(text.stdout).toMatch(/^bad +configuration +http\.prt is an unknown key; did you mean http\.port\? /m)
    expect(text.stdout).toMatch(/^bad +configuration +simulator\.rate is 0, not a whole number/m)
    const json = await runCommand(['check-config', '--json', '--config', bad])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout).findings.map(({ key }: { key: string }) => key)).toEqual([
      'http.prt',
      'simulator.rate',
    ])
  })

  it('check-config prints its whole JSON document where a pipe does not hold it at once', async () => {
    const many = join(folder, 'many.yaml')
    const markets = Array.from({ length: 600 }, (_, index) => {
      const symbols = `symbol: A${index}USD, base_asset: A${index}, quote_asset: USD`
      return `  - {${symbols}, price_decimals: 2, amount_decimals: 8, depth: 10, sources: ["replay:/nowhere/at.all"]}\n`
    })
    writeFileSync(many, `markets:\n${markets.join('')}`)
    const { code, stdout } = await runCommand(['check-config', '--offline', '--json', '--config', many])
    expect(code).toBe(1)
    expect(stdout.length).toBeGreaterThan(100_000)
    expect(detailsOf('bad', stdout, 'sources')).toHaveLength(markets.length)
  })
})
