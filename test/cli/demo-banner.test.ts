import { describe, expect, it } from 'vitest'
import { type DemoBanner, demoBanner } from '../../src/cli/terminal/demo-banner.ts'

const BANNER: DemoBanner = {
  verb: 'demo',
  symbols: ['BTCUSD', 'ETHUSD'],
  publicUrl: 'http://127.0.0.1:8080',
  ws: 'ws://127.0.0.1:8080',
  operator: 'http://127.0.0.1:8081',
  operatorTokenFile: 'data/operator-token',
  access: { credentialsFile: 'data/demo-client.json', tokenRequestFile: 'data/demo-token-request' },
  program: '/srv/tidegate/dist/main.js',
  folder: '/srv/tidegate',
}

describe('the banner of the demo', () => {
  it('the demo banner has at most 15 lines, one of which is a command that watches a market with this program', () => {
    const text = demoBanner(BANNER)
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
    expect(text).toContain('\n  node dist/main.js watch BTCUSD\n')
    expect(text).toContain('\n  curl -s -d @data/demo-token-request http://127.0.0.1:8080/oauth2/token\n')
  })

  it('the demo banner names the pages for a browser, and the ladder only where it is served', () => {
    const withPage = demoBanner({ ...BANNER, pageUrl: 'http://127.0.0.1:8080', publicUrl: 'https://books.example' })
    expect(withPage).toContain('http://127.0.0.1:8080/ (a live ladder), http://127.0.0.1:8080/docs/ (the API)\n')
    expect(withPage.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
    expect(demoBanner(BANNER)).toContain('  browser      http://127.0.0.1:8080/docs/ (the API)\n')
  })

  it('the demo banner quotes paths for a shell in another folder', () => {
    const text = demoBanner({
      ...BANNER,
      folder: '/home/user',
      program: "/srv/it's here/main.js",
      access: { credentialsFile: 'books/demo-client.json', tokenRequestFile: 'books/demo-token-request' },
    })
    expect(text).toContain("node '/srv/it'\\''s here/main.js' watch BTCUSD --credentials books/demo-client.json\n")
  })

  it('the demo banner names no client when the service trusts an outside issuer', () => {
    const text = demoBanner({ ...BANNER, verb: 'replay', access: { issuer: 'https://issuer.example' } })
    expect(text).toContain('from https://issuer.example, there is no demo client')
    expect(text).not.toContain('watch')
    expect(text).toContain('Ctrl-C ends the replay.')
  })
})
