/**
 * Bundles packages/console into the static files of dist/console. Scripts, styles and the icon have names with a hash of
 * their content, so browsers may keep them; `index.html` names them. Charts are separate files, loaded when they are shown.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Browsers of the last three years. */
const BROWSERS = ['chrome120', 'firefox121', 'safari17.2']

/** @returns the files that were written, as absolute paths */
export async function buildConsole(esbuild, root) {
  const source = join(root, 'packages/console')
  const output = join(root, 'dist/console')
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { console: 'packages/console/src/main.tsx', icon: 'packages/console/icon.svg' },
    outdir: 'dist/console/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: BROWSERS,
    loader: { '.svg': 'copy' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // The client's own build has one file per source, and may not exist yet.
    alias: { '@tidegate/client': join(root, 'packages/client/src/index.ts') },
    // The client loads it where there is no WebSocket.
    external: ['ws'],
    legalComments: 'linked',
    tsconfigRaw: {},
    metafile: true,
    logLevel: 'warning',
  })
  const files = Object.keys(metafile.outputs).map((path) => join(root, path))
  const nameOf = (pattern) =>
    relative(
      output,
      files.find((file) => pattern.test(file)),
    ).replaceAll('\\', '/')
  const page = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('SCRIPT', nameOf(/console-\w+\.js$/))
    .replace('STYLE', nameOf(/console-\w+\.css$/))
    .replace('ICON', nameOf(/icon-\w+\.svg$/))
  const index = join(output, 'index.html')
  writeFileSync(index, page)
  return [...files, index]
}
