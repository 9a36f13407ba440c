/**
 * `npm run docs:site`: builds the documentation site into build/docs-site. What builds it is a package of its own, whose
 * manifest is in docs/.vitepress; it is installed here, into build/docs-site-tools, and not with everything else: 120
 * packages that nothing else needs.
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
  // Not `npm ci`, which refuses a lock file without the optional packages of other platforms.
  const { status } = spawnSync('npm', ['install', '--ignore-scripts', '--no-save'], { cwd: TOOLS, stdio: 'inherit' })
  if (status !== 0) fail('installation of vitepress failed; the lines above say why')
}
process.exit(runNode(VITEPRESS, ['build', 'docs']))
