/** `npm run check`: runs the linter and the type checker on everything. `-- --write` applies the linter's fixes. */
import { ensureApiTypes } from './api-types.mjs'
import { BIOME, ensureInstalled, runNode, TYPESCRIPT } from './setup.mjs'

await ensureInstalled()
await ensureApiTypes()
const codes = [
  runNode(BIOME, ['check', ...process.argv.slice(2)]),
  runNode(TYPESCRIPT, ['--noEmit', '-p', 'tsconfig.json']),
  // With the names shared by all runtimes, and without those of Node.js.
  runNode(TYPESCRIPT, ['--noEmit', '-p', 'packages/client/tsconfig.json']),
  // The adapters are JavaScript with types in comments, because they run without a compiler.
  runNode(TYPESCRIPT, ['--noEmit', '-p', 'packages/fix-adapter/tsconfig.json']),
  runNode(TYPESCRIPT, ['--noEmit', '-p', 'packages/console/tsconfig.json']),
  runNode(TYPESCRIPT, ['--noEmit', '-p', 'packages/demo-page/tsconfig.json']),
]
process.exitCode = codes.some((code) => code !== 0) ? 1 : 0
