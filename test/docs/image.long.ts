/**
 * Every stage of the Dockerfile, executed in empty folders: packages are installed by npm, the program is built, and the
 * last stage runs as its user on a read-only file system. Needs the network, or npm's cache.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { startProgram } from '../support/command-line.ts'
import { ROOT, readStages } from './deployment-files.ts'
import { confined, type ExecutedStage, executeStage, inFolder, lastOf } from './image-stages.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-image-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the Dockerfile makes an image that starts as its user, and contains no package of the development', async () => {
  chmodSync(folder, 0o755)
  const stages: Record<string, ExecutedStage> = {}
  for (const [index, instructions] of readStages('Dockerfile').entries()) {
    const name = / AS (\w+)$/.exec(instructions[0]?.words ?? '')?.[1] ?? 'last'
    const stageFolder = join(folder, `${index}-${name}`)
    mkdirSync(stageFolder)
    stages[name] = executeStage(instructions, { context: ROOT, folder: stageFolder, stages })
  }
  const last = stages.last as ExecutedStage
  const packages = join(last.folder, 'opt/tidegate/node_modules')
  expect([existsSync(join(packages, 'pg')), existsSync(join(packages, 'vitest'))]).toEqual([true, false])

  const words = ['ENTRYPOINT', 'CMD'].flatMap((name) => JSON.parse(lastOf(last.instructions, name)) as string[])
  const data = last.environment.TIDEGATE_DATA_DIR as string
  const command = confined(
    words.map((word) => inFolder(last.folder, word)),
    lastOf(last.instructions, 'USER'),
    { writable: [data], bound: [] },
  )
  const [file, ...args] = command as [string, ...string[]]
  const ports = { TIDEGATE_HTTP_PORT: '0', TIDEGATE_OPERATOR_PORT: '0', TIDEGATE_STREAM_DRAIN_SECONDS: '0' }
  const running = startProgram(file, args, { cwd: '/', env: { PATH: process.env.PATH, ...last.environment, ...ports } })
  const { operator } = JSON.parse(await running.line((line) => line.startsWith('{"ready"')))
  expect((await fetch(`${operator}/readyz`)).status).toBe(200)
  running.child.kill('SIGTERM')
  expect((await running.result).code).toBe(0)
})
