import { expect, it } from 'vitest'
import { showStart } from '../../src/cli/terminal/start-progress.ts'
import { CapturedOutput } from '../support/command-run.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

it('a start on a terminal shows its progress, and clears it at the end', () => {
  const output = new CapturedOutput({ columns: 80, rows: 24 })
  const clock = new VirtualClock()
  const end = showStart('demo', output, clock)
  clock.advance(2_000)
  end()
  clock.advance(2_000)
  const clear = '\r\u001b[2K'
  const lines = [0, 1, 2].map((seconds) => `${clear}tidegate: starting the demo, ${seconds} s\r`)
  expect(output.text).toBe(`${lines.join('')}${clear}`)
})

it('a start without a terminal shows no progress', () => {
  const output = new CapturedOutput(undefined)
  showStart('demo', output, new VirtualClock())()
  expect(output.text).toBe('')
})
