/** The files of the web console: what is served, with which header fields, and that nothing else is. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FastifyInstance, fastify } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { registerConsoleFiles } from '../../../src/service/pages/console-files.ts'

let root: string
let folder: string
let app: FastifyInstance

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-console-'))
  folder = join(root, 'console')
  writeFileSync(join(root, 'secret.txt'), 'not for anyone')
  app = fastify()
  registerConsoleFiles(app, folder)
})
afterEach(() => rmSync(root, { recursive: true }))

function build(text: string, seconds: number): void {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'assets/main-1a2b.js'), `log('${text}')`)
  writeFileSync(join(folder, 'index.html'), `<p>${text}</p>`)
  utimesSync(join(folder, 'index.html'), seconds, seconds)
}

const get = (url: string) => app.inject({ method: 'GET', url })

describe('the files of the console', () => {
  it('the console files are 404 with a hint before they are built, and are served without a restart then', async () => {
    const missing = await get('/console/')
    expect([missing.statusCode, missing.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
    expect(missing.body).toContain('npm run build')
    build('first', 1_000)
    expect((await get('/console/')).body).toBe('<p>first</p>')
    build('second', 2_000)
    expect((await get('/console/')).body).toBe('<p>second</p>')
    expect((await get('/console/assets/main-1a2b.js')).body).toBe("log('second')")
  })

  it('the console files are cached when their name has a hash, and checked again otherwise', async () => {
    build('text', 1_000)
    const page = await get('/console/')
    expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' })
    const script = await get('/console/assets/main-1a2b.js')
    expect(script.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    const again = await app.inject({ url: '/console/', headers: { 'if-none-match': String(page.headers.etag) } })
    expect(again.statusCode).toBe(304)
  })

  it('the console files may load nothing of another origin, and run no script or style of the page itself', async () => {
    build('text', 1_000)
    const policy = String((await get('/console/')).headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(policy).toContain("frame-ancestors 'none'")
  })

  it('the console files have one page for every path without an extension, and 404 for other files', async () => {
    build('text', 1_000)
    for (const path of ['/console/', '/console/markets', '/console/money/deposits']) {
      expect([path, (await get(path)).body]).toEqual([path, '<p>text</p>'])
    }
    const redirect = await get('/console')
    expect([redirect.statusCode, redirect.headers.location]).toEqual([302, '/console/'])
    for (const path of [
      '/console/missing.js',
      '/console/../secret.txt',
      '/console/%2e%2e/secret.txt',
      '/console/..%2fsecret.txt',
      '/console/assets/../../secret.txt',
    ]) {
      const { statusCode, body } = await get(path)
      expect([path, statusCode, body.includes('not for anyone')]).toEqual([path, 404, false])
    }
  })
})
