/**
 * `npm start`: installs and builds what is missing and runs the demo in the same process, so that signals reach the
 * service itself and its exit code is the command's.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt, ROOT } from './setup.mjs'

await ensureBuilt()
const main = join(ROOT, 'dist/main.js')
process.argv = [process.argv[0], main, 'demo', ...process.argv.slice(2)]
await import(pathToFileURL(main).href)
