/** The Python examples that receive requests, and lengths that are none. */
import { connect } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { once } from '../support/awaited.ts'
import { endExamples, startExample } from '../support/foreign-programs.ts'
import { pythonWith } from '../support/python.ts'

const PYTHON = pythonWith('http.server')
const ENVIRONMENT = { PORT: '0', PYTHONDONTWRITEBYTECODE: '1', TIDEGATE_WEBHOOK_SECRET: 'whsec_MTIzNDU2Nzg=' }

afterAll(endExamples)

it.skipIf(PYTHON === undefined).each(['webhook/receiver.py', 'screening/hook.py'])(
  'the example %s refuses a request with a negative length, whose body would have no end',
  async (example) => {
    const program = startExample(PYTHON as string, [`examples/${example}`], ENVIRONMENT)
    const { port } = new URL((await program.line((line) => line.startsWith('listening on '))).split(' ')[2] as string)
    const socket = connect(Number(port), '127.0.0.1')
    try {
      socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n')
      const [answer] = await once(socket, 'data', 8_000)
      expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /)
    } finally {
      socket.destroy()
      program.child.kill('SIGKILL')
    }
  },
)
