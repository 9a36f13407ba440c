/**
 * The program of the release before this one, built from its sources: its commit is part of the history, and its packages
 * are among those that are installed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The newest commit of 0.1.0 before the work on several processes began: it has no leases, no roles and no bus. */
const COMMIT = '9776895'

/** For `describe.skipIf`; a clone without history does not have it. */
export const EARLIER_RELEASE = {
  commit: COMMIT,
  isThere: spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT, stdio: 'ignore' }).status === 0,
}

/** Whether every package of its lockfile is installed here in the same version, or not for this machine. */
function hasItsPackages(target: string): boolean {
  const versions = (file: string) => {
    const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { version?: string }> }
    return new Map(Object.entries(packages).flatMap(([path, { version }]) => (path === '' ? [] : [[path, version]])))
  }
  const ours = versions(join(ROOT, 'package-lock.json'))
  return [...versions(join(target, 'package-lock.json'))].every(([path, version]) => ours.get(path) === version)
}

/** Builds it in a new folder below this one; returns the path of its program. */
export function buildEarlierRelease(folder: string): string {
  const target = join(folder, 'earlier-release')
  mkdirSync(target)
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: 1_000_000_000 })
  execFileSync('tar', ['-x'], { cwd: target, input: archive })
  // Otherwise the build installs its packages into a folder of its own.
  if (hasItsPackages(target)) symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'))
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: target, stdio: ['ignore', 'ignore', 'inherit'] })
  return join(target, 'dist/main.js')
}
