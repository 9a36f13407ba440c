/** The package of the client as its users get it: small, without dependencies, and nothing but its own files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { GENERATED, readSourceTree } from '../structure/source-tree.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENT = join(ROOT, 'packages/client')
const STREAM_BYTES_MAX = 12_000

async function bundleOf(program: string): Promise<{ code: string; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: CLIENT, loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    metafile: true,
  })
  return { code: outputFiles[0]?.text ?? '', inputs: Object.keys(metafile.inputs) }
}

describe('the package of the client', () => {
  it(`the client's package costs a page that streams less than ${STREAM_BYTES_MAX} bytes`, async () => {
    const { code } = await bundleOf(`export { StreamClient } from './src/index.ts'`)
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(STREAM_BYTES_MAX)
    // The element is another entry, for pages that show a book.
    expect(code).not.toContain('tidegate-book')
  })

  it('the package of the client has no dependencies, and no code of the service', () => {
    const manifest = JSON.parse(readFileSync(join(CLIENT, 'package.json'), 'utf8'))
    expect(manifest.dependencies).toBeUndefined()
    const tree = readSourceTree('packages/client/src')
    const imports = [...tree.values()].flatMap(({ imports }) => imports)
    const packages = new Set(imports.flatMap(({ packageName }) => packageName ?? []))
    expect([...packages]).toEqual(['ws'])
    const foreign = imports
      .flatMap(({ target }) => target ?? [])
      .filter((file) => !tree.has(file) && !GENERATED.has(file))
    expect(foreign).toEqual([])
  })

  it('the package of the client is inside the package of the service, which gets nothing of @tidegate from a registry', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const { dependencies, devDependencies, files } = manifest
    expect(
      Object.keys({ ...dependencies, ...devDependencies }).filter((name) => name.startsWith('@tidegate/')),
    ).toEqual([])
    const { files: own } = JSON.parse(readFileSync(join(CLIENT, 'package.json'), 'utf8'))
    const needed = ['package.json', ...own].map((name) => `packages/client/${name}`)
    expect(files).toEqual(expect.arrayContaining(needed))
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    expect(packages['node_modules/@tidegate/client']).toEqual({ resolved: 'packages/client', link: true })
  })

  it('the package of the client has the version of the service', () => {
    const [client, service] = [CLIENT, ROOT].map(
      (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version,
    )
    expect(client).toBe(service)
  })
})
