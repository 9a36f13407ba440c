/**
 * The previous release's program, built from its sources with the packages in its own lockfile. It is kept in
 * node_modules/.cache. Its commit is part of the history, and its packages come from the npm registry.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** 0.2.0, as its changelog notes describe it: the last commit before later changes. */
const COMMIT = 'ebbe1e2a'

/** For `describe.skipIf`: a clone without history does not have it. */
export const EARLIER_RELEASE = {
  commit: COMMIT,
  isThere: spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT, stdio: 'ignore' }).status === 0,
}

/** Its program's path, or undefined where its packages cannot be installed. */
export function buildEarlierRelease(): string | undefined {
  const target = join(ROOT, 'node_modules/.cache/releases', COMMIT)
  const program = join(target, 'dist/main.js')
  if (existsSync(program)) return program
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: 1_000_000_000 })
  execFileSync('tar', ['-x'], { cwd: target, input: archive })
  const npm = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: target,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (npm.status !== 0) return undefined
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: target, stdio: ['ignore', 'ignore', 'inherit'] })
  return program
}
