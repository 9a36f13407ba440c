/**
 * A store without resources: a full disk under either engine, and no file descriptors for the embedded one. Calls fail as
 * unavailable and not as internal errors, the embedded store reports the reason, no acknowledged row is lost, and the
 * store recovers without a restart of the process.
 */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { FAST_STORE_STARTS } from '../../support/command-line.ts'
import { hasPostgres } from '../../support/postgres.ts'
import { scriptArguments } from '../../support/test-scripts.ts'

const PROGRAM = join(import.meta.dirname, '../../support/store-without-space.ts')

/** Runs a process with its own mounts, so that it can have a file system of its own. */
const canMount = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt'], { stdio: 'ignore' }).status === 0

interface Report {
  readonly failures: readonly { readonly name: string; readonly sqlState?: string; readonly problem?: string }[]
  readonly acknowledged: number
  readonly kept: number
}

/** Runs the program in test/support that exhausts a resource and releases it. @returns what it reports */
async function outage(command: string, ...prefix: readonly string[]): Promise<Report> {
  const program = [...FAST_STORE_STARTS, ...scriptArguments(PROGRAM)]
  const child = spawn(command, [...prefix, process.execPath, ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
  let report: Report | undefined
  for await (const line of createInterface({ input: child.stdout })) report = JSON.parse(line)
  if (report === undefined) throw new Error('the program reported nothing')
  return report
}

function expectOutage({ failures, acknowledged, kept }: Report): void {
  expect(failures.length).toBeGreaterThan(0)
  expect(failures.filter(({ name }) => name !== 'StoreUnavailable')).toEqual([])
  expect(kept).toBe(acknowledged)
}

function expectReason({ failures }: Report, reason: RegExp): void {
  expect(failures.some(({ problem }) => reason.test(problem ?? ''))).toBe(true)
}

describe('the embedded store without resources', () => {
  it.skipIf(!canMount)(
    'the embedded store is unavailable while the disk is full (needs to mount a file system)',
    async () => {
      const report = await outage('unshare', '-m', 'env', 'TIDEGATE_TEST_OUTAGE=table')
      expectOutage(report)
      expectReason(report, /No space left|bytes left/)
    },
  )

  it.skipIf(!canMount)(
    'the embedded store is unavailable while the disk is full for its log (needs to mount a file system)',
    async () => {
      const report = await outage('unshare', '-m', 'env', 'TIDEGATE_TEST_OUTAGE=log')
      expectOutage(report)
      expectReason(report, /No space left|bytes left/)
    },
  )

  it('the embedded store is unavailable while there are no file descriptors', async () => {
    const limited = ['-c', 'ulimit -n 256; exec "$@"', 'sh']
    const report = await outage('sh', ...limited, 'env', 'TIDEGATE_TEST_OUTAGE=descriptors')
    expectOutage(report)
    expectReason(report, /./)
  })
})

describe('PostgreSQL on a full disk', () => {
  it.skipIf(!canMount || !hasPostgres)(
    'PostgreSQL on a full disk is unavailable, and serves again when there is space (needs to mount a file system)',
    async () => {
      for (const what of ['table', 'log']) {
        expectOutage(
          await outage('unshare', '-m', 'env', 'TIDEGATE_TEST_STORE=postgres', `TIDEGATE_TEST_OUTAGE=${what}`),
        )
      }
    },
  )
})
