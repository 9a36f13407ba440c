/**
 * `npm run docs:site`: builds the documentation site into build/docs-site. Its tool has its own package, whose manifest
 * is in docs/.vitepress. It is installed here, into build/docs-site-tools, because nothing else needs its 120 packages.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fail, ROOT, runNode } from './setup.mjs'

const TOOLS = join(ROOT, 'build/docs-site-tools')
const VITEPRESS = join(TOOLS, 'node_modules/vitepress/bin/vitepress.js')

if (!existsSync(VITEPRESS)) {
  mkdirSync(TOOLS, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) {
    copyFileSync(join(ROOT, 'docs/.vitepress', file), join(TOOLS, file))
  }
  // Not `npm ci`, which refuses a lock file without the optional packages for other platforms.
  const { status } = spawnSync('npm', ['install', '--ignore-scripts', '--no-save'], { cwd: TOOLS, stdio: 'inherit' })
  if (status !== 0) fail('installation of vitepress failed; the lines above say why')
}
process.exit(runNode(VITEPRESS, ['build', 'docs']))
