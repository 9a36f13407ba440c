/**
 * The doctor's checks on files: the data folder, the recordings' folder, the operator token, the encryption key, the
 * TLS certificates. They change nothing.
 */
import { X509Certificate } from 'node:crypto'
import { accessSync, constants, readFileSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { hasCode } from '../../platform/base/error-code.ts'
import { HOUR_MILLISECONDS, listRecordings } from '../../streaming/recordings/recording-folder.ts'
import type { Config, SettingKey } from '../config/settings.ts'
import { encryptionKeyFile } from '../keys/encryption-key.ts'
import { checkTlsFiles, ingestTlsFilesOf, operatorTlsFilesOf, tlsFilesOf } from '../listeners/tls-settings.ts'
import { dataFolderProblem, modeText, OTHERS, storeFolder } from '../process/data-folder.ts'
import { bad, checkFindings, type Finding, ok, reasonOf, warn } from './finding.ts'
import { checkRecordingFolder } from './recording-folder.ts'

/** A new embedded store needs about 40 MB, and its write-ahead log can double this. */
const FREE_BYTES_MIN = 100_000_000
const FREE_BYTES_LOW = 1_000_000_000
/** The most that a market was seen to record in an hour. */
const MARKET_HOUR_BYTES = 100_000_000
const DAY_MILLISECONDS = 86_400_000
/** Renewing by hand takes some days, and automatic renewal happens earlier. */
const CERTIFICATE_DAYS_LOW = 14

export function examineFolder(folder: string): Finding {
  const name = 'data folder'
  const path = resolve(folder)
  let stats: Stats
  try {
    stats = statSync(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) return bad(name, `${path} cannot be read (${reasonOf(error)})`, 'see data_dir')
    const parent = existingParent(path)
    if (isWritable(parent)) return ok(name, `${path} does not exist yet: the first start makes it`)
    return bad(name, `${path} cannot be created: ${parent} is not writable`, `create it, owned by the service's user`)
  }
  if (!stats.isDirectory()) return bad(name, `${path} is not a folder`, 'name another data_dir')
  const problem = dataFolderProblem(path, stats)
  if (problem !== undefined) return bad(name, problem.detail, problem.next)
  if (!isWritable(path)) return bad(name, `${path} is not writable`, `give it to the service's user`)
  const freeBytes = freeBytesOf(path)
  const free = `${Math.floor(freeBytes / 1e6)} MB free`
  if (freeBytes < FREE_BYTES_MIN)
    return bad(name, `${path}, only ${free}`, 'free disk space: writes fail on a full disk')
  const store = statSync(storeFolder(path), { throwIfNoEntry: false })
  if (store !== undefined && (store.mode & OTHERS) !== 0) {
    const detail = `${storeFolder(path)} can be read by other users (mode ${modeText(store)})`
    return warn(
      name,
      detail,
      'the next start of serve sets it to 700. docs/how-to/custody.md lists the keys to replace',
    )
  }
  if (freeBytes < FREE_BYTES_LOW) return warn(name, `${path}, only ${free}`, 'free disk space')
  return ok(name, `${path}, writable, ${free}`)
}

/**
 * Examines the recordings' folder, and whether its disk can keep `recording.keep_hours`. Future recordings' needs are
 * estimated by the largest recent complete hour, or else by the figures in docs/reference/limits.md. No finding without
 * `recording.dir`.
 */
export async function examineRecordingFolder(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  nowMilliseconds: number,
): Promise<Finding[]> {
  const name = 'recordings'
  const folder = config['recording.dir']
  if (folder === '') return []
  const next = "give the folder to the service's user, or name another recording.dir"
  const faults = checkFindings(name, checkRecordingFolder(config, origins), next)
  if (faults.length > 0) return faults
  const path = resolve(folder)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats !== undefined && (stats.mode & OTHERS) !== 0) {
    return [warn(name, `${path} can be read by other users (mode ${modeText(stats)})`, `chmod 700 ${path}`)]
  }
  const keepHours = config['recording.keep_hours']
  const { hours, hourBytesMax } = await sizeRecordings(path, nowMilliseconds)
  const hourBytes = hourBytesMax ?? config.markets.length * MARKET_HOUR_BYTES
  const freeBytes = freeBytesOf(stats === undefined ? existingParent(path) : path)
  const neededBytes = Math.max(FREE_BYTES_MIN, hourBytes * Math.max(1, keepHours - hours))
  const state = stats === undefined ? 'does not exist yet: the service makes it' : 'writable'
  const perHour = megabytes(hourBytes)
  const basis = hourBytesMax === undefined ? `up to ${perHour} an hour` : `the last day’s largest hour: ${perHour}`
  const need = `${hours} of ${keepHours} hours are kept. The others need ${megabytes(neededBytes)} (${basis})`
  const detail = `${path}, ${state}, ${megabytes(freeBytes)} free; ${need}`
  if (freeBytes >= neededBytes) return [ok(name, detail)]
  return [warn(name, detail, 'free disk space, or decrease recording.keep_hours: on a full disk the recording stops')]
}

/** @returns how many hours have a recording, and the size in bytes of the last day's largest complete hour */
async function sizeRecordings(
  path: string,
  nowMilliseconds: number,
): Promise<{ readonly hours: number; readonly hourBytesMax: number | undefined }> {
  const bytesOfHours = new Map<number, number>()
  for (const file of await listRecordings(path)) {
    // A file that expired in the meantime.
    const size = statSync(file.path, { throwIfNoEntry: false })?.size ?? 0
    bytesOfHours.set(file.hourMilliseconds, (bytesOfHours.get(file.hourMilliseconds) ?? 0) + size)
  }
  const sizes = [...bytesOfHours].flatMap(([hour, bytes]) => {
    const isComplete = hour + HOUR_MILLISECONDS <= nowMilliseconds
    return isComplete && hour > nowMilliseconds - DAY_MILLISECONDS ? [bytes] : []
  })
  return { hours: bytesOfHours.size, hourBytesMax: sizes.length === 0 ? undefined : Math.max(...sizes) }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}

export function examineOperatorToken(config: Config): Finding {
  const name = 'operator token'
  if (config['operator.token'] !== '') return ok(name, 'from the configuration')
  const path = join(config.data_dir, 'operator-token')
  let stats: Stats
  let token: string
  try {
    stats = statSync(path)
    token = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ok(name, `${path} does not exist yet: the first start makes it`)
    return bad(name, `${path} cannot be read (${reasonOf(error)})`, `run this as the service's user`)
  }
  if (!/^[!-~]{16,}$/.test(token)) return bad(name, `${path} is damaged`, 'delete it: the next start makes a new one')
  if ((stats.mode & OTHERS) !== 0) {
    const next = `chmod 600 ${path}; if others may have read it, delete it and start again for a new one`
    return bad(name, `${path} is open to others (mode ${modeText(stats)})`, next)
  }
  return ok(name, `${path}, mode ${modeText(stats)}`)
}

/** Checks the file. Whether it is the store's key is checked in the store. */
export function examineEncryptionKeyFile(config: Config): Finding {
  const name = 'encryption key'
  if (config['keys.encryption_key'] !== '') return ok(name, 'from the configuration')
  if (config['store.url'] !== '') {
    const next = 'set keys.encryption_key on every node, then tidegate admin key encrypt'
    return warn(name, 'none: signing keys and the pepper are stored unencrypted', next)
  }
  const path = encryptionKeyFile(config)
  let stats: Stats
  let text: string
  try {
    stats = statSync(path)
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ok(name, `${path} does not exist yet: the first start makes it`)
    return bad(name, `${path} cannot be read (${reasonOf(error)})`, `run this as the service's user`)
  }
  if (EncryptionKey.parse(text) === undefined) return bad(name, `${path} is damaged`, 'restore it from its backup')
  if ((stats.mode & OTHERS) !== 0) {
    const next = `chmod 600 ${path}. If others may have read it and the store, see docs/how-to/custody.md`
    return bad(name, `${path} is open to others (mode ${modeText(stats)})`, next)
  }
  return ok(name, `${path}, mode ${modeText(stats)}`)
}

/** One finding for each listener with TLS. */
export function examineCertificates(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  nowMilliseconds: number,
): Finding[] {
  const name = 'certificate'
  const next = 'correct the files. A running service reads them again on SIGHUP'
  const faults = checkFindings(name, checkTlsFiles(config, origins, nowMilliseconds), next)
  if (faults.length > 0) return faults
  return [tlsFilesOf(config), operatorTlsFilesOf(config), ingestTlsFilesOf(config)].flatMap((files) => {
    if (files === undefined) return []
    const { validTo } = new X509Certificate(readFileSync(files.certFile))
    const daysLeft = Math.floor((Date.parse(validTo) - nowMilliseconds) / DAY_MILLISECONDS)
    if (daysLeft >= CERTIFICATE_DAYS_LOW) return [ok(name, `${files.certFile}, ${daysLeft} days left`)]
    return [warn(name, `${files.certFile} expires in ${daysLeft} days`, 'renew it, then send SIGHUP to the service')]
  })
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return parent === path || isThere(parent) ? parent : existingParent(parent)
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch (error) {
    if (hasCode(error, 'EACCES') || hasCode(error, 'EROFS') || hasCode(error, 'EPERM')) return false
    throw error
  }
}

function freeBytesOf(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
