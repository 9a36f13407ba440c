/**
 * Bundles the browser code: packages/console into the static files in dist/console, and the demo's page into one
 * script. The names of the console's scripts, styles and icon contain a hash of their content, so browsers may cache
 * them. `index.html` names them. Charts are separate files, loaded when they are shown.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Browsers of the last three years. */
const BROWSERS = ['chrome120', 'firefox121', 'safari17.2']

/** The options shared by both bundles. */
const optionsIn = (root) => ({
  absWorkingDir: root,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: BROWSERS,
  // The client's own build has one file per source, and may not exist yet.
  alias: {
    '@tidegate/client': join(root, 'packages/client/src/index.ts'),
    '@tidegate/client/element': join(root, 'packages/client/src/element.ts'),
  },
  // The client loads it where there is no WebSocket.
  external: ['ws'],
  legalComments: 'linked',
  tsconfigRaw: {},
  metafile: true,
  logLevel: 'warning',
})

/** @returns the written files, as absolute paths */
export async function buildBrowserPages(esbuild, root) {
  const demo = await esbuild.build({
    ...optionsIn(root),
    entryPoints: ['packages/demo-page/page.ts'],
    outdir: 'dist/demo-page',
  })
  return [...writtenFiles(demo, root), ...(await buildConsole(esbuild, root))]
}

function writtenFiles({ metafile }, root) {
  return Object.keys(metafile.outputs).map((path) => join(root, path))
}

async function buildConsole(esbuild, root) {
  const source = join(root, 'packages/console')
  const output = join(root, 'dist/console')
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const built = await esbuild.build({
    ...optionsIn(root),
    entryPoints: { console: 'packages/console/src/main.tsx', icon: 'packages/console/icon.svg' },
    outdir: 'dist/console/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    loader: { '.svg': 'copy' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
  })
  const files = writtenFiles(built, root)
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
