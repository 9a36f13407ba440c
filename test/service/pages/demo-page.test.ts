/** The page of the demo and its tokens: which requests get them, and which do not. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Directory } from '../../../src/access/clients/directory.ts'
import { createTokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import { DemoPage } from '../../../src/service/pages/demo-page.ts'
import { newAuthority, newSigningKey } from '../../support/auth-fixtures.ts'
import { openPublicListener } from '../../support/public-listener.ts'
import { type RawAnswer, sendRaw } from '../../support/raw-http.ts'
import { ensureBuilt } from '../../support/running-service.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const CLIENT_ID = '01999999-0000-7000-8000-000000000001'
const directory = new Directory()
directory.replace({
  authority: newAuthority(),
  keys: [newSigningKey('key')],
  customers: [{ id: 'customer', name: 'demo', enabled: true, streaming: true }],
  clients: [
    { clientId: CLIENT_ID, customerId: 'customer', name: 'demo page', scopes: new Set([STREAM_SCOPE]), enabled: true },
  ],
})

/** The clock does not advance, so that only the test's own requests count towards the rate. */
const clock = new NodeClock()
const newPage = () => new DemoPage({ directory, clock, symbols: () => ['BTCUSD', 'A<B'], streamUrl: () => '' })

type Fields = Readonly<Record<string, string>>

async function ask(listener: Listener, line: string, fields: Fields): Promise<RawAnswer> {
  const head = Object.entries({ Connection: 'close', ...fields }).map(([name, value]) => `${name}: ${value}\r\n`)
  const [answer] = await sendRaw(listener.url, `${line} HTTP/1.1\r\n${head.join('')}\r\n`)
  return answer as RawAnswer
}

function codeOf({ status, body }: RawAnswer): string {
  return `${status} ${JSON.parse(body).code}`
}

let page: DemoPage
let listener: Listener
let port: string
const askToken = (fields: Fields) => ask(listener, 'POST /demo/token', { 'Content-Length': '0', ...fields })
const own = (host = `127.0.0.1:${port}`): Fields => ({ Host: host, Origin: `http://${host}`, 'X-Tidegate-Demo': '1' })

beforeAll(async () => {
  ensureBuilt()
  page = newPage()
  listener = await openPublicListener({ demoPage: page, directory })
  port = new URL(listener.url).port
})
afterAll(() => listener.close())

describe('the page token', () => {
  it('the page token is available once the demo client exists', async () => {
    expect(codeOf(await askToken(own()))).toBe('503 unavailable')
    page.openFor(CLIENT_ID)
    expect((await askToken(own())).status).toBe(200)
  })

  it('the page token is valid for five minutes and grants nothing but the stream', async () => {
    const { headers, body } = await askToken({ ...own(), 'Sec-Fetch-Site': 'same-origin' })
    expect(headers['cache-control']).toBe('no-store')
    const answer = JSON.parse(body)
    expect(answer).toMatchObject({ expires_in: 300, scope: STREAM_SCOPE, token_type: 'bearer' })
    const verdict = await createTokenVerifier({ directory, clock }).verify(answer.access_token)
    expect(verdict).toMatchObject({ ok: true, token: { clientId: CLIENT_ID, scopes: new Set([STREAM_SCOPE]) } })
    const claims = JSON.parse(Buffer.from(answer.access_token.split('.')[1], 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(300)
  })

  it.each(['localhost', '127.8.9.10', '[::1]'])('the page token is granted at %s too', async (name) => {
    expect((await askToken(own(`${name}:${port}`))).status).toBe(200)
  })

  it.each<[string, Fields]>([
    ['without an origin', { Origin: '' }],
    ['of a foreign page', { Origin: 'https://attacker.example' }],
    ['of a page without an origin', { Origin: 'null' }],
    ['of a page at another port', { Origin: 'http://127.0.0.1:1' }],
    ['of a page at another name of this machine', { Origin: 'http://localhost:8080' }],
    ['without the field that needs a preflight', { 'X-Tidegate-Demo': '' }],
    ['of another site, as the browser knows it', { 'Sec-Fetch-Site': 'cross-site' }],
  ])('the page token is refused to a request %s', async (_name, fields) => {
    const sent = Object.entries({ ...own(), ...fields }).filter(([, value]) => value !== '')
    expect(codeOf(await askToken(Object.fromEntries(sent)))).toBe('403 foreign_origin')
  })

  it.each<[string, string]>([
    ['a name that was made to resolve to this machine', 'attacker.example'],
    ['a name that only looks like ours', 'localhost.attacker.example'],
    ['an address of a network', '10.0.0.7'],
    ['every address', '0.0.0.0'],
  ])('the page token does not exist at %s', async (_name, host) => {
    expect(codeOf(await askToken(own(`${host}:${port}`)))).toBe('404 not_found')
  })

  it.each(['X-Forwarded-For', 'Forwarded', 'Via'])(
    'the page token does not exist behind a proxy: %s',
    async (field) => {
      expect(codeOf(await askToken({ ...own(), [field]: '127.0.0.1' }))).toBe('404 not_found')
    },
  )

  it('the page token is limited in rate', async () => {
    const statuses = new Set<number>()
    for (let count = 0; count < 21; count++) statuses.add((await askToken(own())).status)
    expect([...statuses]).toEqual([200, 429])
  })
})

describe('the demo page', () => {
  const HTML = { Accept: 'text/html,*/*;q=0.8' }

  it('the demo page loads one script of its own origin, and nothing else', async () => {
    const { status, headers, body } = await ask(listener, 'GET /', { ...HTML, Host: `localhost:${port}` })
    expect(status).toBe(200)
    const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
    const hash = createHash('sha256').update(style, 'latin1').digest('base64')
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'sha256-${hash}'; img-src data:; ` +
        `connect-src 'self' ws://localhost:${port}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(body).toContain('<option>BTCUSD</option><option>A&lt;B</option>')
    expect(body.match(/<script[^>]*>.*?<\/script>/gs)).toEqual(['<script type="module" src="/demo/page.js"></script>'])
    expect(body).not.toMatch(/https?:\/\/|\son\w+=|\sstyle=/)
    expect(body).not.toContain(CLIENT_ID)
  })

  it('the demo page has a script that is sent to this machine alone', async () => {
    const script = await ask(listener, 'GET /demo/page.js', { Host: `localhost:${port}` })
    expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8'])
    const again = { Host: `localhost:${port}`, 'If-None-Match': script.headers.etag ?? '' }
    expect((await ask(listener, 'GET /demo/page.js', again)).status).toBe(304)
    expect(codeOf(await ask(listener, 'GET /demo/page.js', { Host: 'attacker.example' }))).toBe('404 not_found')
  })

  it('the demo page is replaced by the page with links for other browsers, and is not sent to programs', async () => {
    for (const fields of [{ Host: 'attacker.example' }, { Host: `localhost:${port}`, Via: '1.1 proxy' }]) {
      const { body } = await ask(listener, 'GET /', { ...HTML, ...fields })
      expect(body).toContain('<a href="/oauth2/token">')
      expect(body).not.toContain('<script')
    }
    expect((await ask(listener, 'GET /', { Host: `localhost:${port}` })).status).toBe(426)
  })
})

it('a listener that other machines can reach serves neither page nor tokens, whatever the Host header is', async () => {
  const open = newPage()
  open.openFor(CLIENT_ID)
  const reachable = await openPublicListener({ demoPage: open, directory, host: '0.0.0.0' })
  const at = { ...reachable, url: reachable.url.replace('0.0.0.0', '127.0.0.1') }
  const host = new URL(at.url).host
  expect(codeOf(await ask(at, 'POST /demo/token', { 'Content-Length': '0', ...own(host) }))).toBe('404 not_found')
  expect((await ask(at, 'GET /', { Accept: 'text/html', Host: host })).body).not.toContain('<script')
  await reachable.close()
})

it('a service without the demo serves neither page nor tokens', async () => {
  const served = await openPublicListener({ directory })
  const host = new URL(served.url).host
  expect(codeOf(await ask(served, 'POST /demo/token', { 'Content-Length': '0', ...own(host) }))).toBe('404 not_found')
  expect((await ask(served, 'GET /', { Accept: 'text/html', Host: host })).body).not.toContain('<script')
  await served.close()
})
