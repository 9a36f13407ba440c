/** The program in the client package's README, as a file that runs on the sources. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CLIENT = join(import.meta.dirname, '../../packages/client')

/** The program exactly as in the README. */
export function programOfReadme(): string {
  const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8')
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(readme) ?? []
  return program
}

/**
 * Writes the program to a folder, with its credentials from TIDEGATE_CREDENTIALS. Returns the command that starts it.
 */
export function readmeProgram(folder: string, nodeFlags: readonly string[] = []): string[] {
  const text = programOfReadme()
    .replace(`'data/demo-client.json'`, 'process.env.TIDEGATE_CREDENTIALS')
    .replace(`'@tidegate/client'`, `'${join(CLIENT, 'src/index.ts')}'`)
  const file = join(folder, 'readme-program.mjs')
  writeFileSync(file, text)
  return [process.execPath, ...nodeFlags, '--import', import.meta.resolve('tsx'), file]
}
