/** The Python client as it runs from its sources, and its README's program. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const PYTHON_CLIENT = join(import.meta.dirname, '../../packages/client-python')

/** The client must leave nothing in its sources. */
export const PYTHON_ENVIRONMENT = { PYTHONPATH: join(PYTHON_CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '1' }

/** Writes the README's program to a folder, with its credentials from TIDEGATE_CREDENTIALS. Returns its path. */
export function writeReadmeProgram(folder: string): string {
  const readme = readFileSync(join(PYTHON_CLIENT, 'README.md'), 'utf8')
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(readme) ?? []
  const file = join(folder, 'readme_program.py')
  writeFileSync(file, program.replace('"data/demo-client.json"', '__import__("os").environ["TIDEGATE_CREDENTIALS"]'))
  return file
}
