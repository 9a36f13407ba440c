/**
 * The doctor's checks on a store that it opens: the schema, the signing keys, the store's clock. They change nothing
 * and apply no migrations.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { readEncryptionKeyId } from '../../access/clients/key-encryption.ts'
import { listSigningKeys, type SigningKeyDocument } from '../../access/clients/signing-keys.ts'
import { SIGNING_KEY_DAYS } from '../../access/clients/upkeep.ts'
import {
  isOtherStore,
  RESTORED_STORE_PAGE,
  type StoreIdentity,
  unknownParts,
} from '../../money/controls/store-identity.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { CORRUPT_STORE_PAGE } from '../../platform/store/corruption.ts'
import type { Db } from '../../platform/store/db.ts'
import { readSchemaState, SchemaProblem } from '../../platform/store/migrate.ts'
import { CLOCK_DIFFERENCE_MILLISECONDS_MAX, readClockDifference } from '../../platform/store/store-clock.ts'
import { readCommitFloors } from '../../streaming/markets/commit-times.ts'
import { bad, type Finding, ok, warn } from './finding.ts'

/**
 * The stored floor for commit times is ahead of the last known commit, in case of a crash. Twice as far is suspicious.
 */
const FLOOR_MILLISECONDS_MAX = 6_000
const DAY_MILLISECONDS = 86_400_000
/** A key rotation's tolerated delay: all nodes may have been down when it was due. */
const ROTATION_DAYS_LATE_MAX = 7
/** Few keys are valid at the same time. The newest come first. */
const KEYS_READ = 10

/** @param place the store, for people: `embedded, ./data/store` */
export async function examineSchema(db: Db, place: string): Promise<Finding> {
  const name = 'store'
  try {
    const state = await readSchemaState(db)
    if (state === 'current') return ok(name, `${place}, schema current`)
    const detail = `${place}, ${state.missing.length} migrations missing: ${state.missing.join(', ')}`
    if (db.engine === 'embedded') return warn(name, detail, 'the next start of serve applies them')
    return bad(name, detail, 'tidegate migrate: nodes wait for it')
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error
    return bad(name, `${place}: ${error.message}`, 'use the version that wrote it, or a newer one')
  }
}

/** @param corruption what a statement reported */
export function corruptionFindings(corruption: string | undefined): Finding[] {
  return corruption === undefined ? [] : [bad('store', `corrupt: ${corruption}`, CORRUPT_STORE_PAGE)]
}

/** Whether deliveries wait for a person, and whether a restore would be noticed. */
export function identityFindings(identity: StoreIdentity): Finding[] {
  const unknown = unknownParts(identity)
  const untold = `the server does not tell its ${unknown.join(', ')}`
  return [
    ...(isOtherStore(identity) ? [restoredFinding()] : []),
    ...(unknown.length === 0 ? [] : [warn('store identity', untold, `pause after a failover: ${RESTORED_STORE_PAGE}`)]),
  ]
}

export function restoredFinding(): Finding {
  return bad('deliveries', 'paused, because the store was restored or promoted', RESTORED_STORE_PAGE)
}

/** Whether the store is encrypted with this node's key. No finding when the file's check suffices. */
export async function examineEncryption(db: Db, key: EncryptionKey | undefined): Promise<Finding[]> {
  const name = 'encryption key'
  const neededId = await readEncryptionKeyId(db)
  if (neededId === undefined || neededId === key?.id || (neededId === null && key === undefined)) return []
  if (neededId === null) {
    return [warn(name, 'signing keys and the pepper are stored unencrypted', 'tidegate admin key encrypt')]
  }
  const detail = `the store needs the key ${neededId}, and this node has ${key === undefined ? 'none' : `the key ${key.id}`}`
  return [bad(name, detail, 'set keys.encryption_key, or restore the file (docs/how-to/custody.md if it is lost)')]
}

/** Compares this machine's clock with the store's, and with previously published commit times. */
export async function examineStoreClock(db: Db, clock: Clock): Promise<Finding> {
  const name = 'clock'
  const ahead = await readClockDifference(db, clock)
  if (Math.abs(ahead) > CLOCK_DIFFERENCE_MILLISECONDS_MAX) {
    const direction = ahead > 0 ? 'ahead of' : 'behind'
    return warn(name, `${secondsText(ahead)} ${direction} the clock of the store`, 'let both machines follow NTP')
  }
  const floorAhead = Math.max(0, ...(await readCommitFloors(db)).values()) - clock.wallInstant().milliseconds
  if (floorAhead > FLOOR_MILLISECONDS_MAX) {
    const next = 'let this machine follow NTP. Until then, message times run ahead of its clock'
    return warn(name, `${secondsText(floorAhead)} behind the published commit times`, next)
  }
  return ok(name, `within ${CLOCK_DIFFERENCE_MILLISECONDS_MAX / 1000} s of the store's`)
}

export async function readSigningKeyList(db: Db, clock: Clock): Promise<readonly SigningKeyDocument[]> {
  const request = { limit: KEYS_READ, order: 'DESC' } as const
  return (await listSigningKeys(db, clock.wallInstant().milliseconds, request)).items
}

export function examineSigningKeys(
  keys: readonly Pick<SigningKeyDocument, 'id' | 'state' | 'signs_from'>[],
  nowMilliseconds: number,
): Finding {
  const name = 'signing key'
  const signing = keys.find(({ state }) => state === 'signing')
  if (signing === undefined) {
    if (keys.length === 0) return ok(name, 'none yet: the first start makes it')
    return bad(name, 'no active signing key: tokens cannot be issued', 'tidegate admin key rotate')
  }
  const days = Math.floor((nowMilliseconds - Date.parse(signing.signs_from)) / DAY_MILLISECONDS)
  const detail = `${signing.id}, active for ${days} days`
  if (days > SIGNING_KEY_DAYS + ROTATION_DAYS_LATE_MAX) return warn(name, detail, 'tidegate admin key rotate')
  return ok(name, detail)
}

function secondsText(milliseconds: number): string {
  return `${(Math.abs(milliseconds) / 1000).toFixed(1)} s`
}
