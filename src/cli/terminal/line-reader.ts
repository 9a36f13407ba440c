/**
 * Reads a text file of any length line by line. One line is limited, and a pipe or device in place of a file is an
 * error.
 */
import { createReadStream, statSync } from 'node:fs'

/** Longest line: a whole book with 46,000 levels is 1.9 MB. */
const LINE_CHARACTERS_MAX = 64 * 1024 * 1024

/** A file's lines without their ends. Throws with the path when the file cannot be read. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a regular file`)
  let rest = ''
  for await (const part of createReadStream(path, { encoding: 'utf8', highWaterMark: 1024 * 1024 })) {
    const lines = (rest + (part as string)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_CHARACTERS_MAX)
      throw new Error(`${path} has a line with more than ${LINE_CHARACTERS_MAX} characters`)
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  if (rest !== '') yield rest
}
