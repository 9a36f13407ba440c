/** `npm run build`: installs what is missing and compiles src into dist, when something changed. */
import { ensureBuilt } from './setup.mjs'

await ensureBuilt()
