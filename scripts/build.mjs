/** `npm run build`: installs what is missing and bundles src into dist, when something changed. */
import { ensureBuilt } from './setup.mjs'

await ensureBuilt()
