/** The page at /docs in a real browser: it shows every operation, and loads nothing from another origin. */

import { get, type IncomingMessage } from 'node:http'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modulesWithoutStore } from '../../../scripts/api-documents.ts'
import { CHANNELS } from '../../../src/contract/channels.ts'
import { OPERATIONS } from '../../../src/contract/operations.ts'
import { CLOSE_CODES, STREAM_ERRORS } from '../../../src/contract/stream-codes.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import type { Node } from '../../support/api-document.ts'
import { once } from '../../support/awaited.ts'
import { CHROMIUM, titleWith } from '../../support/foreign-programs.ts'
import { openPublicListener } from '../../support/public-listener.ts'

/** Reached only if the test hangs; shorter than the limit of a test. */
const PATIENCE_MILLISECONDS = 120_000

let listener: Listener

beforeAll(async () => {
  listener = await openPublicListener({ modules: modulesWithoutStore() })
})
afterAll(() => listener.close())

describe('the documentation page over HTTP', () => {
  it('the documentation page over HTTP is at /docs/, to which /docs redirects', async () => {
    const answer = await fetch(`${listener.url}/docs`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([301, '/docs/'])
    const page = await fetch(`${listener.url}/docs/`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  })

  it('the documentation page over HTTP allows only its own scripts, and connections to its own origin', async () => {
    const policy = (await fetch(`${listener.url}/docs/`)).headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'sha256-[\w+/]{43}='; /)
    expect(policy).toContain("; connect-src 'self'; ")
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|https?:/)
  })

  it('the documentation page over HTTP has the AsyncAPI document as a second page, under the same policy', async () => {
    const answer = await fetch(`${listener.url}/docs/stream`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; script-src 'self' ; style-src 'unsafe-inline'; /)
    const page = await answer.text()
    expect(page).not.toMatch(/<script|https?:\/\/(?!127\.)/)
    const stream = (await (await fetch(`${listener.url}/asyncapi.json`)).json()) as Node
    const { messages, schemas } = stream.components
    for (const name of [...Object.keys(stream.operations), ...Object.keys(CHANNELS)]) {
      expect(page).toContain(`<section id="${name}">`)
    }
    for (const { summary } of Object.values<Node>(messages)) expect(page).toContain(summary)
    for (const name of Object.keys(schemas)) expect(page).toContain(`id="schema-${name}"`)
    for (const code of Object.keys(STREAM_ERRORS)) expect(page).toContain(`<td><code>${code}</code></td>`)
    for (const { code, reason } of Object.values(CLOSE_CODES))
      expect(page).toContain(`<td>${code}</td><td>${reason}</td>`)
    const targets = [...page.matchAll(/href="([^"]+)"/g)].map(([, target = '']) => target)
    for (const target of new Set(targets.filter((one) => one.startsWith('#')))) {
      expect(page).toContain(`id="${target.slice(1)}"`)
    }
    expect(targets.slice(0, 2)).toEqual(['/docs/', '/asyncapi.json'])
    const { info } = (await (await fetch(`${listener.url}/openapi.json`)).json()) as Node
    expect(info.description).toContain(`](${listener.url}/docs/stream)`)
  })

  it('the documentation page over HTTP has a cacheable script, and references no other document', async () => {
    const script = await fetch(`${listener.url}/docs/js/scalar.js`)
    expect([script.status, script.headers.get('cache-control')]).toEqual([200, 'public, max-age=3600'])
    expect((await script.arrayBuffer()).byteLength).toBeGreaterThan(1_000_000)
    expect((await fetch(`${listener.url}/docs/openapi.json`)).status).toBe(404)
  })

  it.each(['/docs', '/docs/', '/docs/stream', '/openapi.json', '/asyncapi.json'])(
    'the documentation page over HTTP returns no server error at %s, whatever the Host',
    async (path) => {
      const statuses: (number | undefined)[] = []
      for (const host of ['a b', '%', '[', '1.2.3.256', 'a:99999', 'a/b', 'user@a', 'a\\b', '', 'ä.example']) {
        const request = get(listener.url + path, { headers: { host: Buffer.from(host).toString('latin1') } })
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        response.resume()
        statuses.push(response.statusCode)
      }
      expect(statuses.slice(0, 8)).toEqual(Array(8).fill(400))
      expect(statuses.slice(8)).toEqual(path === '/docs' ? [301, 301] : [200, 200])
    },
  )
})

// A browser that opens every operation is at work for half a minute: in the long run alone.
describe.runIf(process.env.TIDEGATE_LONG === '1' && !CHROMIUM.isSkipped)(
  titleWith('the documentation page in Chromium', CHROMIUM, 'chromium'),
  () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: CHROMIUM.file,
        args: ['--no-sandbox', '--disable-gpu'],
        timeout: PATIENCE_MILLISECONDS,
      })
    })
    afterAll(() => browser?.close())

    it('the documentation page shows every operation and sends no request to another origin', async () => {
      const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } })
      page.setDefaultTimeout(PATIENCE_MILLISECONDS)
      const asked: string[] = []
      const errors: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => {
        if (/Content.Security.Policy/i.test(message.text())) errors.push(message.text())
      })
      await page.goto(`${listener.url}/docs/`)
      await page.getByText('Get an access token').first().waitFor()
      // The groups of the sidebar are collapsed, except the first.
      await page
        .getByText('Open Group', { exact: true })
        .evaluateAll((elements) => elements.map((element) => element.closest('button')?.click()))
      for (const { summary } of Object.values(OPERATIONS)) await page.getByText(summary).first().waitFor()
      expect(errors).toEqual([])
      expect(asked).toContain(`${listener.url}/openapi.json`)
      expect(asked.filter((url) => !url.startsWith(`${listener.url}/`) && !/^(data|blob):/.test(url))).toEqual([])
    })
  },
)
