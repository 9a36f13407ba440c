/**
 * A service with an encrypted store, from its first start to the loss of the key: with its own key file on the embedded
 * store, with a configured key on PostgreSQL.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { runCommand, startCommand } from '../support/command-line.ts'
import {
  type Flags,
  market,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { storeFlags } from '../support/test-store.ts'

const isEmbedded = inject('engine') === 'embedded'
const folder = temporaryFolder()
const keyFile = join(folder.path, 'encryption-key')
let service: ServiceInside | undefined
afterEach(async () => {
  await service?.stop()
  service = undefined
})
afterAll(() => folder.remove())

async function start(flags: Flags): Promise<ServiceInside> {
  service = await startServiceInside(folder.path, [market('BTC', 2, 10)], { ...flags, 'stream.drain_seconds': 0 })
  return service
}

async function stop(): Promise<void> {
  await service?.stop()
  service = undefined
}

it('an encrypted service starts only with its key, and continues with new signing keys when the key is lost', async () => {
  const ofNode = () => randomBytes(32).toString('hex')
  const own: Flags = isEmbedded ? {} : { 'keys.encryption_key': ofNode() }
  const first = await start(own)
  const client = await first.operator.createClient()
  expect(await tokenOf(first, client)).toEqual(expect.any(String))
  // No key is left to encrypt.
  expect(await first.operator.call('POST', '/signing-keys/encrypt', {})).toMatchObject({
    signing_keys: 0,
    receipt_keys: 0,
    pepper: false,
  })
  await stop()
  expect(existsSync(keyFile)).toBe(isEmbedded)
  if (isEmbedded) expect(statSync(keyFile).mode & 0o777).toBe(0o600)

  await expect(start({ 'keys.encryption_key': ofNode() })).rejects.toThrow(
    /^keys\.encryption_key has the id [0-9a-f]{16}, and the signing keys in the store are encrypted with the key /,
  )
  const key = isEmbedded ? readFileSync(keyFile, 'utf8').trim() : own['keys.encryption_key']
  rmSync(keyFile, { force: true })
  await expect(start({})).rejects.toThrow(
    isEmbedded
      ? `${keyFile} is missing and keys.encryption_key is not set, and the signing keys in the store are encrypted with`
      : 'keys.encryption_key is not set, and the signing keys in the store are encrypted with the key',
  )
  expect(existsSync(keyFile)).toBe(false)

  // The same key from another setting is accepted.
  const second = await start({ 'keys.encryption_key': key as string })
  expect(await tokenOf(second, client)).toEqual(expect.any(String))
  await stop()

  const next: Flags = isEmbedded ? {} : { 'keys.encryption_key': ofNode() }
  const flags = { ...(await storeFlags(folder.path)), ...next, data_dir: folder.path }
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { code, stdout, stderr } = await runCommand(['migrate', '--replace-keys', ...words])
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/1 signing keys ended and 1 client secrets deleted. The new keys are encrypted with the key /)
  const third = await start(next)
  await expect(tokenOf(third, client)).rejects.toThrow('401')
  const { client_secret: clientSecret } = await third.operator.call<{ client_secret: string }>(
    'POST',
    `/clients/${client.clientId}/secrets`,
    {},
  )
  expect(await tokenOf(third, { ...client, clientSecret })).toEqual(expect.any(String))
})

it.skipIf(isEmbedded)(
  'a service without an encryption key logs a warning at every start, and encrypts nothing (PostgreSQL only)',
  async () => {
    const other = temporaryFolder()
    const flags = { ...(await storeFlags(other.path)), data_dir: other.path, 'http.port': 0, 'operator.port': 0 }
    const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
    const serve = startCommand(['serve', ...words])
    await serve.line((line) => line.startsWith('{"ready"'))
    serve.child.kill('SIGTERM')
    const { stderr } = await serve.result
    const warnings = stderr.split('\n').filter((line) => line.includes('stored unencrypted'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('set keys.encryption_key on every node, then run tidegate admin key encrypt')
    other.remove()
  },
)
