/**
 * Creates dist/store-template: a new embedded store with the schema of this version, atomically. It contains no secret, and
 * every user can read it, because the service may run as another user than the one that built it.
 */
import { chmodSync, readdirSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createSystemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log.ts'
import { openEmbedded } from '../src/store/embedded.ts'
import { migrate } from '../src/store/migrate.ts'
import { TEMPLATE_FOLDER } from '../src/store/store-template.ts'

const log = createLog('warn')
const draft = `${TEMPLATE_FOLDER}.draft`
await rm(TEMPLATE_FOLDER, { recursive: true, force: true })
await rm(draft, { recursive: true, force: true })
const db = await openEmbedded({ folder: draft, log, clock: createSystemClock() })
await migrate(db, log)
await db.close()
chmodSync(draft, 0o755)
for (const entry of readdirSync(draft, { recursive: true, withFileTypes: true }))
  chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
await rename(draft, TEMPLATE_FOLDER)
