/** Starting, stopping, signals and crashes, on a real process with a clock that the test controls. */
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { killLifecycleChildren, startLifecycleChild, startRunningChild } from '../../support/lifecycle-process.ts'

afterEach(killLifecycleChildren)

describe('a running process', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('a running process stops and exits with 0 on %s', async (name) => {
    const child = await startRunningChild()
    child.signal(name)
    await child.heard('stop called')
    child.tell('stopped true')
    const { code, log } = await child.exit
    expect(code).toBe(0)
    expect(
      log
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event),
    ).toEqual(['stopping', 'stopped'])
  })

  it('a running process exits with 1 when a component failed to stop', async () => {
    const child = await startRunningChild()
    child.signal('SIGTERM')
    await child.heard('stop called')
    child.tell('stopped false')
    expect((await child.exit).code).toBe(1)
  })

  it('a running process ignores a second signal within a second, and exits at once on a later one', async () => {
    const child = await startRunningChild()
    child.signal('SIGINT')
    await child.heard('stop called')
    child.tell('advance 999')
    await child.heard('did advance 999')
    child.signal('SIGINT')
    await child.heard('signal 2')
    child.tell('advance 1')
    await child.heard('did advance 1')
    child.signal('SIGINT')
    const { code, log } = await child.exit
    expect(code).toBe(1)
    expect(log).toContain('second signal')
    expect(child.lines.filter((line) => line === 'stop called')).toHaveLength(1)
  })

  it('a running process ends although stopping hangs', async () => {
    const child = await startRunningChild()
    child.signal('SIGTERM')
    await child.heard('stop called')
    child.tell('advance 30000')
    const { code, log } = await child.exit
    expect(code).toBe(1)
    expect(log).toContain('stopping is stuck')
  })

  it.each(['throw', 'reject'])('a running process crashes with one log line on an uncaught error (%s)', async (how) => {
    const child = await startRunningChild()
    child.tell(how)
    const { code, log } = await child.exit
    expect(code).toBe(1)
    expect(log.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(log)).toMatchObject({ level: 'error', event: 'crashed' })
    expect(log).toContain('on purpose')
  })
})

it('a signal during the start stops the process right after the start', async () => {
  const child = startLifecycleChild()
  await child.heard('starting')
  child.signal('SIGTERM')
  await child.heard('signal 1')
  expect(child.lines).not.toContain('running')
  child.tell('start')
  await child.heard('stop called')
  child.tell('stopped true')
  expect((await child.exit).code).toBe(0)
})

describe('a start interrupted by a signal', () => {
  it('a start interrupted by a signal ends with 0 when the start gives up', async () => {
    const child = startLifecycleChild()
    await child.heard('starting')
    child.signal('SIGTERM')
    await child.heard('signal 1')
    child.tell('give-up')
    const { code, log } = await child.exit
    expect(code).toBe(0)
    expect(log).toContain('"event":"stopped"')
    expect(child.lines).not.toContain('stop called')
  })

  it('a start interrupted by a signal fails when the start fails for another reason', async () => {
    const child = startLifecycleChild()
    await child.heard('starting')
    child.signal('SIGTERM')
    await child.heard('signal 1')
    child.tell('fail')
    const { code, log } = await child.exit
    expect(code).toBe(1)
    expect(log).toContain('failed on purpose')
  })

  it('a start interrupted by a signal is cut off when it does not end', async () => {
    const child = startLifecycleChild()
    await child.heard('starting')
    child.signal('SIGTERM')
    await child.heard('signal 1')
    child.tell('advance 30000')
    const { code, log } = await child.exit
    expect(code).toBe(1)
    expect(log).toContain('stopping is stuck')
  })
})

describe('SIGHUP', () => {
  it('SIGHUP reloads the configuration of a running service each time, and ends nothing', async () => {
    const child = await startRunningChild()
    child.signal('SIGHUP')
    await child.heard('reload called')
    child.signal('SIGHUP')
    // Two signals sent together may be handled in either order.
    await child.heard('reload called', 2)
    child.signal('SIGTERM')
    await child.heard('stop called')
    expect(child.lines.filter((line) => line === 'reload called')).toHaveLength(2)
    child.tell('stopped true')
    expect((await child.exit).code).toBe(0)
  })

  it('a SIGHUP during the start is handled after it', async () => {
    const child = startLifecycleChild()
    await child.heard('starting')
    child.signal('SIGHUP')
    child.tell('advance 1')
    await child.heard('did advance 1')
    expect(child.lines).not.toContain('reload called')
    child.tell('start')
    await child.heard('reload called')
    expect(child.lines.indexOf('reload called')).toBeGreaterThan(child.lines.indexOf('running'))
  })

  it('a SIGHUP during the stop is ignored', async () => {
    const child = await startRunningChild()
    child.signal('SIGTERM')
    await child.heard('stop called')
    child.signal('SIGHUP')
    child.tell('advance 1')
    await child.heard('did advance 1')
    child.tell('stopped true')
    expect((await child.exit).code).toBe(0)
    expect(child.lines).not.toContain('reload called')
  })
})

describe('Lifecycle', () => {
  it('Lifecycle stops components in reverse order, each once, and continues after one that fails', async () => {
    const lifecycle = new Lifecycle(createLog('silent'))
    const order: string[] = []
    lifecycle.started('first', () => void order.push('first'))
    lifecycle.started('second', () => Promise.reject(new Error('cannot')))
    lifecycle.started('third', async () => {
      await Promise.resolve()
      order.push('third')
    })
    expect(await Promise.all([lifecycle.stop(), lifecycle.stop()])).toEqual([false, false])
    expect(order).toEqual(['third', 'first'])
  })

  it('Lifecycle stops workers together and beside the listeners, and what they use after them', async () => {
    const lifecycle = new Lifecycle(createLog('silent'))
    const order: string[] = []
    const answers: (() => void)[] = []
    const answered = (name: string) => async (): Promise<void> => {
      order.push(`${name} waits`)
      await new Promise<void>((resolve) => answers.push(resolve))
      order.push(name)
    }
    lifecycle.started('store', () => void order.push('store'))
    lifecycle.keepForWorkers()
    lifecycle.started('listener', () => void order.push('listener'))
    lifecycle.startedWorker('payments', answered('payments'))
    lifecycle.startedWorker('mails', answered('mails'))
    const stopped = lifecycle.stop()
    await new Promise(setImmediate)
    expect(order).toEqual(['payments waits', 'mails waits', 'listener'])
    for (const answer of answers) answer()
    expect(await stopped).toBe(true)
    expect(order.slice(3)).toEqual(['payments', 'mails', 'store'])
  })

  it('Lifecycle reports whether all components stopped cleanly', async () => {
    const lifecycle = new Lifecycle(createLog('silent'))
    lifecycle.started('only', () => undefined)
    expect(await lifecycle.stop()).toBe(true)
  })
})
