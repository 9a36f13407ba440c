/** `npm run build`: installs missing packages and bundles src into dist if something changed. */
import { ensureBuilt } from './setup.mjs'

await ensureBuilt()
