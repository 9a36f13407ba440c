/**
 * The documentation site, built and opened in a browser: no link leads nowhere, no page requests anything of another
 * origin, and the search finds a page without a server.
 */
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProgram } from '../support/command-line.ts'
import { CHROMIUM, titleWith } from '../support/foreign-programs.ts'

const ROOT = join(import.meta.dirname, '../..')
const SITE = join(ROOT, 'build/docs-site')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
}

beforeAll(async () => {
  const build = startProgram('npm', ['run', '-s', 'docs:site'], { cwd: ROOT, env: process.env })
  const { code, stdout, stderr } = await build.result
  expect(code, `${stdout}${stderr}`).toBe(0)
})

it('every link of every page leads to a file and to a heading', () => {
  const pages = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.html'))
  expect(pages.length).toBeGreaterThan(80)
  const ids = new Map(pages.map((page) => [page, new Set(attributesOf(page, 'id'))]))
  const broken = pages.flatMap((page) =>
    attributesOf(page, 'href')
      .filter((href) => !/^(https?|mailto|data):/.test(href))
      .filter((href) => {
        const { pathname, hash } = new URL(href, `http://site/${page}`)
        const path = pathname === '/' ? 'index.html' : decodeURIComponent(pathname.slice(1))
        const fragment = decodeURIComponent(hash.slice(1))
        if (!existsSync(join(SITE, path))) return true
        return fragment !== '' && !ids.get(path)?.has(fragment)
      })
      .map((href) => `${page}: ${href}`),
  )
  expect(broken).toEqual([])
})

function attributesOf(page: string, name: string): string[] {
  const text = readFileSync(join(SITE, page), 'utf8')
  const values = [...text.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value]) => value as string)
  return values.map((value) => value.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))
}

describe.skipIf(CHROMIUM.isSkipped)(titleWith('in a browser', CHROMIUM, 'Chromium'), () => {
  let browser: Browser
  let server: Server
  let origin: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://site')
      const file = join(SITE, normalize(pathname === '/' ? '/index.html' : decodeURIComponent(pathname)))
      if (!existsSync(file)) return void response.writeHead(404).end()
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
      createReadStream(file).pipe(response)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    server?.close()
    server?.closeAllConnections()
  })

  it.each(['light', 'dark'] as const)(
    "the site's pages in %s request nothing elsewhere and report no error",
    async (scheme) => {
      const page = await browser.newPage({ colorScheme: scheme })
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(String(error)))
      page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())))
      page.on('request', (request) => void (request.url().startsWith(origin) || faults.push(request.url())))
      for (const path of [
        '/',
        '/explanation/how-it-works.html',
        '/reference/command-line.html',
        '/how-to/console.html',
      ]) {
        await page.goto(origin + path, { waitUntil: 'networkidle' })
      }
      expect(faults).toEqual([])
      await page.close()
    },
  )

  it('the search finds a page by its words', async () => {
    const page = await browser.newPage()
    await page.goto(`${origin}/`, { waitUntil: 'networkidle' })
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('conflated')
    await page.getByRole('option').first().click()
    await page.waitForURL((url) => url.pathname !== '/')
    await page.close()
  })
})
