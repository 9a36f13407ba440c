/** Lines to a descriptor that its reader leaves full, empties, or closes; real pipes, no clock. */
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { LineWriter } from '../../../src/platform/base/line-writer.ts'
import { canMakeFifo, makeFifo } from '../../support/fifo.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-line-writer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let pipes = 0

/** Both ends of a pipe, non-blocking. */
function openPipe() {
  const path = join(folder, `pipe-${pipes++}`)
  makeFifo(path)
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  return {
    writer,
    closeReader: () => closeSync(reader),
    /** Everything that is in the pipe now. */
    read() {
      const chunks: Buffer[] = []
      for (;;) {
        const chunk = Buffer.alloc(65_536)
        try {
          const count = readSync(reader, chunk)
          if (count === 0) break
          chunks.push(chunk.subarray(0, count))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
          break
        }
      }
      return Buffer.concat(chunks).toString()
    },
  }
}

const endOfTick = () => new Promise((resolve) => setImmediate(resolve))
const writerOf = (descriptor: number, bytesMax: number) =>
  new LineWriter(descriptor, { bytesMax, droppedLine: (lines) => `dropped ${lines}\n` })
const linesOf = (text: string) => text.split('\n').slice(0, -1)
const numbered = (number: number) => `${String(number).padStart(999, '0')}\n`

describe.skipIf(!canMakeFifo)('LineWriter on pipes (needs mkfifo)', () => {
  it('LineWriter on pipes writes the lines of a tick at its end, in order', async () => {
    const pipe = openPipe()
    const writer = writerOf(pipe.writer, 1_000)
    writer.write('one\n')
    writer.write('two\n')
    expect(pipe.read()).toBe('')
    await endOfTick()
    expect(pipe.read()).toBe('one\ntwo\n')
    expect(writer.dropped).toBe(0)
  })

  it('LineWriter keeps up to a number of bytes that a full pipe does not take, and reports the lines it dropped', async () => {
    const pipe = openPipe()
    const writer = writerOf(pipe.writer, 100_000)
    for (let number = 0; number < 1_000; number++) {
      writer.write(numbered(number))
      await endOfTick()
    }
    const { dropped } = writer
    // A pipe holds 64 KiB, the buffer 100 lines.
    expect(dropped).toBeGreaterThan(800)
    let text = ''
    await expect
      .poll(() => {
        text += pipe.read()
        return linesOf(text).length
      })
      .toBe(1_000 - dropped + 1)
    const isReport = (line: string) => line.startsWith('dropped')
    expect(linesOf(text).filter(isReport)).toEqual([`dropped ${dropped}`])
    const numbers = linesOf(text).filter((line) => !isReport(line))
    expect(numbers.map(Number)).toEqual(Array.from({ length: 1_000 - dropped }, (_, number) => number))
    writer.write('after\n')
    await endOfTick()
    expect(pipe.read()).toBe('after\n')
  })

  it('LineWriter on pipes drops lines while no process has the other end open, and counts each once', async () => {
    const pipe = openPipe()
    const writer = writerOf(pipe.writer, 1_000)
    pipe.closeReader()
    for (let number = 0; number < 5; number++) {
      writer.write('x\n')
      await endOfTick()
      expect(writer.dropped).toBe(number + 1)
    }
  })

  it('LineWriter on pipes waits for a reader in flush, and not for ever', async () => {
    const pipe = openPipe()
    const writer = writerOf(pipe.writer, 100_000)
    for (let number = 0; number < 100; number++) writer.write(numbered(number))
    writer.flush(1)
    const first = pipe.read()
    expect(linesOf(first).length).toBeGreaterThan(50)
    expect(linesOf(first).length).toBeLessThan(100)
    writer.flush(60_000)
    expect(linesOf(first + pipe.read())).toHaveLength(100)
  })
})
