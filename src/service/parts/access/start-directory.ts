/**
 * Starts the loader, which keeps the directory with customers, clients and keys current, and the upkeep for keys and
 * revocations. Both stop with the process.
 */
import type { Directory } from '../../../access/clients/directory.ts'
import { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { Upkeep } from '../../../access/clients/upkeep.ts'
import type { Db } from '../../../platform/store/db.ts'
import { patiently } from '../../../platform/store/sql.ts'
import type { Config } from '../../config/settings.ts'
import { issuerOfNewStore } from '../../config/token-issuer.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { type Waiting, waitFor } from '../../process/store-wait.ts'

interface DirectoryParts extends Waiting {
  readonly config: Config
  readonly directory: Directory
  readonly lifecycle: Lifecycle
}

export function createDirectoryLoader(
  { config, directory, log, clock, lifecycle }: DirectoryParts,
  db: Db,
  encryptionKey: EncryptionKey | undefined,
): DirectoryLoader {
  const publicUrl = issuerOfNewStore(config)
  const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl, encryptionKey })
  lifecycle.started('directory', () => loader.stop())
  return loader
}

/** Resolves when the directory is loaded. The loader itself retries, and logs failures. */
export async function loadDirectory(parts: DirectoryParts, loader: DirectoryLoader): Promise<void> {
  const loaded = new Promise<void>((resolve) => {
    const end = parts.directory.onChange(() => {
      end()
      resolve()
    })
  })
  const refreshed = patiently(() => loader.refresh()).then(() => loaded)
  await waitFor(parts, 'directory', refreshed)
}

/** Rotates signing keys, and deletes expired keys and revocations. */
export function startUpkeep(
  { directory, log, clock, lifecycle }: DirectoryParts,
  db: Db,
  encryptionKey: EncryptionKey | undefined,
): void {
  const upkeep = new Upkeep({ db, directory, clock, log, encryptionKey })
  lifecycle.started('upkeep', () => upkeep.stop())
}
