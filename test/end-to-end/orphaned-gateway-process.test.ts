/** A gateway process of the built service whose main process is killed. */
import { afterAll, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { awaited, once } from '../support/awaited.ts'
import { ensureBuilt, startServiceProcess, temporaryFolder } from '../support/running-service.ts'

const isSkipped = !canSharePorts()
const folder = temporaryFolder()
afterAll(() => folder.remove())

test.skipIf(isSkipped)(
  'a gateway process whose main process is killed ends without an error, although it has answers to send',
  async () => {
    ensureBuilt()
    const { command, operator, pid } = await startServiceProcess('demo', folder.path, {
      'gateway.processes': 1,
      'stream.port': 0,
    })
    const line = await command.errorLine((text) => text.includes('gateway process ready'))
    const gateway = (JSON.parse(line) as { pid: number }).pid
    // The first call takes longest, and a stopped process is killed after ten seconds.
    await operator.call('GET', '/connections')
    process.kill(gateway, 'SIGSTOP')
    // Left out of the answer, after its question has been sent: it reads it together with the end of the channel.
    await operator.call('GET', '/connections')
    const ended = once(command.child, 'exit')
    process.kill(pid, 'SIGKILL')
    await ended
    process.kill(gateway, 'SIGCONT')
    const { stderr } = await awaited('the end of both processes', command.result)
    expect(stderr).not.toContain('"event":"crashed"')
  },
)
