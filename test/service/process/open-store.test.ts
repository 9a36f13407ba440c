/** What other users of the machine can read in a data folder, and which data folders are refused. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { readOrCreatePrivateFile } from '../../../src/service/keys/private-file.ts'
import { prepareDataFolder } from '../../../src/service/process/data-folder.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { migrateStore, openStore } from '../../../src/service/process/open-store.ts'
import { captureLog } from '../../support/captured-log.ts'

const isRoot = process.getuid?.() === 0
/** The user id of `nobody` on most systems; any id other than ours will do. */
const OTHER_USER = 65_534

let root: string
let data: string
const umask = process.umask()
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-open-store-'))
  // Only the data folder itself keeps other users out.
  chmodSync(root, 0o755)
  data = join(root, 'data')
  process.umask(0)
})
afterEach(() => {
  process.umask(umask)
  rmSync(root, { recursive: true, force: true })
})

function optionsFor(flags: Record<string, string> = {}) {
  const result = loadConfig({
    flags: { data_dir: data, ...flags },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!result.ok) throw new Error('the configuration is wrong')
  const { log, lines } = captureLog()
  const lifecycle = new Lifecycle(log)
  const { signal } = new AbortController()
  const options = { config: result.config, log, clock: createSystemClock(), random: Math.random, lifecycle, signal }
  return {
    options,
    lifecycle,
    warnings: () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40),
  }
}

/** The entries of the data folder that its group or others may read, write or enter. */
function openToOthers(): string[] {
  return readdirSync(data).filter((name) => (lstatSync(join(data, name)).mode & 0o077) !== 0)
}

function isReadableByOther(path: string): boolean {
  return spawnSync('cat', [path], { uid: OTHER_USER, gid: OTHER_USER }).status === 0
}

it('an open data folder contains nothing that other users can read, even where they could before', async () => {
  mkdirSync(data, { mode: 0o755 })
  const version = join(data, 'store', 'PG_VERSION')
  const first = optionsFor()
  await openStore(first.options)
  readOrCreatePrivateFile(join(data, 'operator-token'), () => 'token')
  expect(readdirSync(data).sort()).toEqual(['lock', expect.stringMatching(/\.socket$/), 'operator-token', 'store'])
  expect(openToOthers()).toEqual([])
  await first.lifecycle.stop()
  expect(first.warnings()).toEqual([])
  expect(statSync(data).mode & 0o777).toBe(0o755)
  if (isRoot) expect(isReadableByOther(version)).toBe(false)

  // As an earlier version left it.
  chmodSync(join(data, 'store'), 0o755)
  chmodSync(version, 0o666)
  if (isRoot) expect(isReadableByOther(version)).toBe(true)
  const second = optionsFor()
  await migrateStore(second.options)
  await second.lifecycle.stop()
  expect(second.warnings()).toMatchObject([{ path: join(data, 'store'), mode: '755' }])
  expect(openToOthers()).toEqual([])
  if (isRoot) expect(isReadableByOther(version)).toBe(false)
})

describe('a data folder is refused', () => {
  const refusal = async () => {
    const { options, lifecycle } = optionsFor()
    const problem = await openStore(options).catch((error: Error) => error.message)
    await lifecycle.stop()
    return problem
  }

  it('a data folder is refused when every user can write to it, unless they cannot replace files of others', async () => {
    mkdirSync(data)
    chmodSync(data, 0o777)
    expect(await refusal()).toBe(`data_dir ${data} can be written by every user (mode 777): chmod o-w ${data}`)
    expect(readdirSync(data)).toEqual([])
    chmodSync(data, 0o1777)
    expect(() => prepareDataFolder(data)).not.toThrow()
  })

  it('a data folder is refused when it cannot be created', async () => {
    writeFileSync(data, 'no folder')
    const inside = join(data, 'below')
    const user = process.geteuid?.()
    const remedy = 'name a writable folder with --data_dir'
    expect(() => prepareDataFolder(inside)).toThrow(
      `data_dir ${inside} cannot be created by this user (uid ${user}) (ENOTDIR): ${remedy}`,
    )
  })

  it('a data folder is refused when it cannot be written', () => {
    mkdirSync(data, { mode: 0o500 })
    // Root could write to it, so another user has to try.
    if (isRoot) {
      chownSync(data, OTHER_USER, OTHER_USER)
      process.seteuid?.(OTHER_USER)
    }
    try {
      expect(() => prepareDataFolder(data)).toThrow(
        /^data_dir \S+ cannot be written by this user \(uid \d+\) \(EACCES\): .* --data_dir$/,
      )
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it.skipIf(!isRoot)('a data folder is refused when it belongs to another user (needs root)', async () => {
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, OTHER_USER, OTHER_USER)
    expect(await refusal()).toContain(`data_dir ${data} belongs to another user (uid ${OTHER_USER})`)
    expect(readdirSync(data)).toEqual([])
  })

  it.skipIf(!isRoot)(
    'a data folder is refused when another user owns the store folder or a file that holds a secret (needs root)',
    async () => {
      mkdirSync(data)
      chmodSync(data, 0o1777)
      const token = join(data, 'operator-token')
      writeFileSync(token, 'chosen by another user')
      chownSync(token, OTHER_USER, OTHER_USER)
      expect(() => readOrCreatePrivateFile(token, () => 'ours')).toThrow(`${token} belongs to another user`)
      const linked = join(data, 'linked')
      symlinkSync('/etc/hostname', linked)
      spawnSync('chown', ['-h', String(OTHER_USER), linked])
      expect(() => readOrCreatePrivateFile(linked, () => 'ours')).toThrow(`${linked} belongs to another user`)
      mkdirSync(join(data, 'store'))
      chownSync(join(data, 'store'), OTHER_USER, OTHER_USER)
      expect(await refusal()).toBe(`${join(data, 'store')} is not a folder owned by this user`)
    },
  )
})

it('a PostgreSQL on another machine without verified TLS causes one warning at the start, without the password', async () => {
  // The address is reserved for documentation: no machine has it.
  const { options, lifecycle, warnings } = optionsFor({ 'store.url': 'postgres://u:geheim@192.0.2.1/tidegate' })
  await openStore(options)
  await lifecycle.stop()
  const messages = warnings().map(({ msg }) => msg as string)
  expect(messages.filter((message) => message.includes('sslmode'))).toEqual([
    'store.url sets no sslmode: others can read and change what is sent to 192.0.2.1 and back. Use sslmode=verify-full',
  ])
  expect(JSON.stringify(warnings())).not.toContain('geheim')
})
