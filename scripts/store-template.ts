/**
 * Creates dist/store-template.bin: a new embedded store with this version's schema, in one file, atomically. It
 * contains no secret, and every user can read it, because the service may run as another user than the build.
 */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { packTemplate, TEMPLATE_FILE, type TemplateEntry } from '../src/platform/store/store-template.ts'

const log = createLog('warn')
const root = mkdtempSync(join(tmpdir(), 'tidegate-template-'))
const folder = join(root, 'store')
// Otherwise the store would be a copy of it.
await rm(TEMPLATE_FILE, { force: true })
const db = await openEmbedded({ folder, log, clock: createSystemClock() })
await migrate(db, log)
await db.close()
const entries: TemplateEntry[] = []
const contents: Buffer[] = []
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  const content = entry.isDirectory() ? undefined : readFileSync(path)
  if (content !== undefined) contents.push(content)
  entries.push([relative(folder, path), content?.length ?? 'folder'])
}
const draft = `${TEMPLATE_FILE}.${process.pid}`
await writeFile(draft, packTemplate(entries, contents))
await chmod(draft, 0o644)
await rename(draft, TEMPLATE_FILE)
await rm(root, { recursive: true })
