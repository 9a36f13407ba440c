/** Creates dist/store-template: a new embedded store with the schema of this version, atomically. */
import { rename, rm } from 'node:fs/promises'
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
await rename(draft, TEMPLATE_FOLDER)
