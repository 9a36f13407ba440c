/** Python programs, for tests that are skipped by name where Python or a package is not installed. */
import { spawnSync } from 'node:child_process'

/** A Python that has these packages. */
export function pythonWith(...packages: readonly string[]): string | undefined {
  const code = `import ${packages.join(', ')}`
  return ['python3', '/usr/bin/python3'].find((file) => spawnSync(file, ['-c', code]).status === 0)
}

/** The program's output, or the error it ends with. */
export function runPython(file: string | undefined, code: string, folder: string): string {
  const { stdout, stderr } = spawnSync(file as string, ['-c', code], { cwd: folder, encoding: 'utf8' })
  return stdout === '' ? stderr : stdout
}
