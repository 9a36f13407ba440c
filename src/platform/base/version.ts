/** The program's version, from its package.json. */
import { readFileSync } from 'node:fs'

export function programVersion(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../../package.json' : '../../package.json'
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
  return (manifest as { version: string }).version
}
