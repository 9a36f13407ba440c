/** What is written, seen from outside: a process of its own, because the log goes to stderr. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'

const LOG = pathToFileURL(join(import.meta.dirname, '../../../src/platform/base/log.ts')).href

/** The events that a program writes, which has `log` and `child` of the level `info`, and `setLogLevel`. */
function eventsOf(program: string): string[] {
  const text = `import { createLog, setLogLevel } from '${LOG}'
    const log = createLog('info')
    const child = log.child({ part: 'cellar' })
    ${program}`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', text]
  const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return stderr.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).event]))
}

it('a logger writes from its level on, and so do its children, also after the level was changed', () => {
  const events = eventsOf(`
    for (const level of ['info', 'warn', 'debug', 'silent', 'error']) {
      setLogLevel(log, level)
      for (const [who, one] of [['log', log], ['child', child]])
        for (const kind of ['debug', 'info', 'warn', 'error']) one[kind]({}, level + ' ' + who + ' ' + kind)
    }`)
  const of = (level: string, ...kinds: string[]) =>
    ['log', 'child'].flatMap((who) => kinds.map((kind) => `${level} ${who} ${kind}`))
  expect(events).toEqual([
    ...of('info', 'info', 'warn', 'error'),
    ...of('warn', 'warn', 'error'),
    ...of('debug', 'debug', 'info', 'warn', 'error'),
    ...of('error', 'error'),
  ])
})
